"""Pages of the shell itself."""

from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import DeskRefusalError

MOVE = {"id": "17", "to": "\u202eINBOX <b>"}

CASES = [
    PageCase(
        name="act-preview",
        path="/try/act",
        form={"id": "17", "word": "<b>"},
        answers={"recheck.undo": MOVE},
        texts=("What would be done", "U+202EINBOX <b>", "Reason", "Do it"),
    ),
    PageCase(
        name="act-untried",
        path="/try/act",
        form={"id": "17"},
        answers={"recheck.undo": DeskRefusalError(422, "can't be tried", needs="dry")},
        texts=("Reason", "Do it"),
    ),
    PageCase(name="specimen", path="/try/page", texts=("U+202E0<b>", "As a table", "Older")),
    PageCase(
        name="act-wrong",
        path="/try/act",
        form={"id": "17", "step": "do", "reason": " "},
        answers={"recheck.undo": DeskRefusalError(422, "a reason is needed")},
        status=422,
        texts=("a reason is needed", "Do it"),
    ),
    PageCase(
        name="act-done",
        path="/try/act",
        form={"id": "17", "step": "do", "reason": "asked by phone", "key": "k1"},
        answers={"recheck.undo": MOVE | {"undo": 18}},
        texts=("Done", "Undo", "Back"),
    ),
    PageCase(name="sign-in", path="/sign-in", role=None, texts=("Sign in", "Password")),
    PageCase(
        name="sign-in-wrong",
        path="/sign-in",
        role=None,
        form={"name": "anna", "password": "wrong"},
        status=403,
        texts=("Name, password or code is wrong.",),
    ),
    PageCase(
        name="sign-in-later",
        path="/sign-in",
        role=None,
        form={"name": "anna", "password": "wrong"},
        answers={"login.password": DeskRefusalError(429, "later", wait_s=31)},
        status=429,
        texts=("Try again in 31 seconds.",),
    ),
    PageCase(name="link", path="/link/k3y", role=None, texts=("Set your password",)),
    PageCase(
        name="link-differs",
        path="/link/k3y",
        role=None,
        form={"password": "a long password", "again": "another"},
        status=422,
        texts=("The two passwords differ.",),
    ),
    PageCase(
        name="link-used",
        path="/link/k3y",
        role=None,
        form={"password": "a long password", "again": "a long password"},
        answers={"login.link": DeskRefusalError(401, "no such link")},
        status=410,
        texts=("This link was used, or is too old.",),
    ),
    PageCase(name="first", path="/", status=303),
    PageCase(name="me", path="/me", texts=("My sessions", "192.0.2.7", "U+202E", "this one")),
    PageCase(
        name="me-zone",
        path="/me/zone",
        form={"zone": "Europe/../passwd"},
        status=422,
        texts=("There is no such time zone.",),
    ),
    PageCase(name="me-reader", path="/me", role=Role.READER, texts=("Roles: reader",)),
    PageCase(name="find", path="/find", texts=("Write an ID",)),
    PageCase(
        name="find-nothing", path="/find?q=x%22%3E%3Cb%3E", role=Role.READER, texts=("None found",)
    ),
    PageCase(name="not-found", path="/nowhere", status=404, texts=("None found",)),
    PageCase(
        name="not-yours",
        path="/overview",
        role=Role.READER,
        status=404,
        texts=("There is nothing under this address",),
    ),
    PageCase(
        name="purged",
        path="/me",
        answers={"me.sessions": DeskRefusalError(410, "purged")},
        status=410,
        texts=("It was here and is no longer kept.",),
    ),
    PageCase(
        name="away",
        path="/me",
        answers={"me.sessions": DeskRefusalError(503, "the store is away")},
        status=503,
        texts=("Not available now", "Try again"),
    ),
    PageCase(
        name="slow",
        path="/me",
        answers={"me.sessions": DeskRefusalError(504, "slow")},
        status=504,
        texts=("This takes longer than usual", "Go on"),
    ),
    PageCase(
        name="broken",
        path="/me",
        answers={"me.sessions": {"sessions": [{"ident": "a", "last": "never"}]}},
        status=502,
        texts=("A fault of ours",),
    ),
    PageCase(
        name="language",
        path="/language",
        role=None,
        form={"language": "ru", "back": "/"},
        status=303,
    ),
]
