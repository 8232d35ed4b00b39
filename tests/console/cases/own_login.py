"""Pages of one's own security: tries, password, second step, the password once more."""

from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import PASSWORD, SECRET, STEP_URI, DeskRefusalError, person

STALE = {"me.show": person(Role.ADMIN, fresh=False)}
STEPPED = {"me.show": person(Role.ADMIN, second_step=True)}
ENROLS = {"me.show": person(Role.ADMIN, rights=[], must_enrol=True)}
ONCE_MORE = DeskRefusalError(403, "give your password once more first", needs="password")
NEW = {"password": "a long password", "again": "a long password"}

CASES = [
    PageCase(name="me-tries", path="/me/tries", texts=("right password, no code", "2001:db8::66")),
    PageCase(
        name="me-tries-none",
        path="/me/tries",
        role=Role.READER,
        answers={"me.attempts": {"attempts": []}},
        texts=("None yet",),
    ),
    PageCase(name="me-password", path="/me/password", texts=("Change your password",)),
    PageCase(name="me-password-stale", path="/me/password", answers=STALE, status=303),
    PageCase(name="me-password-done", path="/me/password", form=NEW, status=303),
    PageCase(
        name="me-password-weak",
        path="/me/password",
        form=NEW,
        answers={"me.password": DeskRefusalError(422, "it is a common password")},
        status=422,
        texts=("it is a common password",),
    ),
    PageCase(name="me-step", path="/me/step", texts=("Begin", "Who learns your password alone")),
    PageCase(name="me-step-there", path="/me/step", answers=STEPPED, texts=("Remove it",)),
    PageCase(name="me-step-must", path="/me/step", answers=ENROLS, texts=("This site wants one",)),
    PageCase(name="me-step-first", path="/overview", answers=ENROLS, status=303),
    PageCase(name="me-step-begun", path="/me/step", form={}, texts=(SECRET, "otpauth://totp/")),
    PageCase(
        name="me-step-stale",
        path="/me/step",
        form={},
        answers={"me.begin_step": ONCE_MORE},
        status=303,
    ),
    PageCase(
        name="me-step-wrong",
        path="/me/step/confirm",
        form={"secret": SECRET, "uri": STEP_URI, "code": "1"},
        answers={"me.confirm_step": DeskRefusalError(422, "that is not the code of now")},
        status=422,
        texts=("That is not the code of now.", SECRET),
    ),
    PageCase(
        name="me-step-forged",
        path="/me/step/confirm",
        form={"secret": SECRET, "uri": "javascript:alert(1)", "code": "1"},
        answers={"me.confirm_step": DeskRefusalError(422, "that is not the code of now")},
        status=422,
        texts=("that is not the code of now", "Begin"),
    ),
    PageCase(name="me-step-dropped", path="/me/step/drop", form={}, status=303),
    PageCase(
        name="confirm", path="/me/confirm?back=/me/password", texts=("Your password once more",)
    ),
    PageCase(
        name="confirm-wrong",
        path="/me/confirm",
        form={"back": "/try/act", "kept": "id=17", "password": "wrong"},
        status=403,
        texts=("The password is wrong.",),
    ),
    PageCase(
        name="confirm-guessed",
        path="/me/confirm",
        form={"back": "/try/act", "password": "wrong"},
        answers={"me.confirm": DeskRefusalError(429, "too many attempts")},
        status=303,
    ),
    PageCase(
        name="confirm-back",
        path="/me/confirm",
        form={"back": "//evil.example", "kept": "", "password": PASSWORD},
        status=303,
    ),
    PageCase(
        name="act-once-more",
        path="/try/act",
        form={"id": "17", "step": "do", "reason": "asked by phone", "key": "k1"},
        answers={"recheck.undo": ONCE_MORE},
        status=403,
        texts=("Your password once more",),
    ),
    PageCase(
        name="act-confirmed",
        path="/me/confirm",
        form={
            "back": "/try/act",
            "kept": "id=17&reason=asked+by+phone&key=k1&step=do",
            "password": PASSWORD,
        },
        answers={"recheck.undo": {"id": "17"}},
        texts=("What would be done", "Do it"),
    ),
    PageCase(
        name="sign-in-code",
        path="/sign-in",
        role=None,
        form={"name": "anna", "password": PASSWORD},
        answers={"login.password": DeskRefusalError(401, "wrong", needs="code")},
        status=403,
        texts=("with the six digits of your app",),
    ),
]
