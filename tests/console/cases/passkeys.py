"""Pages of passkeys: one's own, signing in by one, one in place of the password once more."""

import msgspec

from oborona.desk.login_ways import WaysAnswer
from oborona.desk.passkeys.own_passkeys import OwnPasskeyList
from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import PASSWORD, DeskRefusalError, person

WAYS = {"login.ways": msgspec.to_builtins(WaysAnswer(passkey=True))}
ONCE_MORE = DeskRefusalError(403, "give your password once more first", needs="password")
NO_SCRIPT = "A passkey needs a script, and scripts are off in this browser."
NONE = OwnPasskeyList(passkeys=[], trouble="passkeys need TLS")
WRONG = DeskRefusalError(401, "name, password or code is wrong")
KEYED = {"me.show": person(Role.ADMIN, passkeys=True)}


def needs(word: str) -> dict[str, object]:
    return WAYS | {"login.password": DeskRefusalError(401, "wrong", needs=word)}


CASES = [
    PageCase(
        name="passkeys", path="/me/passkeys", texts=("telephone <b>", "never", "Make a passkey")
    ),
    PageCase(
        name="passkeys-none",
        path="/me/passkeys",
        role=Role.READER,
        answers={"me.passkeys": msgspec.to_builtins(NONE)},
        texts=("None yet", "passkeys need TLS"),
    ),
    PageCase(
        name="passkeys-made",
        path="/me/passkeys",
        form={"answer": "{}", "name": "key"},
        answers={"me.passkey_add": {}},
        status=303,
    ),
    PageCase(
        name="passkeys-wrong",
        path="/me/passkeys",
        form={"answer": "", "name": "my <key>"},
        answers={"me.passkey_add": DeskRefusalError(422, "this passkey was not taken: <b>")},
        status=422,
        texts=("this passkey was not taken: <b>",),
    ),
    PageCase(
        name="passkeys-stale",
        path="/me/passkeys",
        form={"answer": "{}", "name": "key"},
        answers={"me.passkey_add": ONCE_MORE},
        status=303,
    ),
    PageCase(
        name="passkeys-removed",
        path="/me/passkeys/remove",
        form={"ident": "p1"},
        answers={"me.passkey_remove": {}},
        status=303,
    ),
    PageCase(
        name="passkeys-gone",
        path="/me/passkeys/remove",
        form={"ident": "p9"},
        answers={"me.passkey_remove": DeskRefusalError(404, "there is none")},
        status=422,
        texts=("there is none",),
    ),
    PageCase(
        name="sign-in-passkey",
        path="/sign-in",
        role=None,
        answers=WAYS,
        texts=("Or by a passkey", NO_SCRIPT),
    ),
    PageCase(
        name="sign-in-passkey-step",
        path="/sign-in",
        role=None,
        form={"name": "anna", "password": PASSWORD},
        answers=needs("passkey"),
        status=403,
        texts=("The password is right. Now show your passkey.",),
    ),
    PageCase(
        name="sign-in-either-step",
        path="/sign-in",
        role=None,
        form={"name": "anna", "password": PASSWORD},
        answers=needs("code or passkey"),
        status=403,
        texts=("Show your passkey, or give the password once more",),
    ),
    PageCase(
        name="sign-in-passkey-wrong",
        path="/sign-in/passkey",
        role=None,
        form={"answer": "{}"},
        answers=WAYS | {"login.passkey": WRONG},
        status=403,
        texts=("The passkey was not taken. Begin again.",),
    ),
    PageCase(
        name="sign-in-passkey-waits",
        path="/sign-in/passkey",
        role=None,
        form={"answer": "{}"},
        answers=WAYS | {"login.passkey": DeskRefusalError(429, "too many", wait_s=60)},
        status=429,
        texts=("Try again in 60 seconds.",),
    ),
    PageCase(
        name="confirm-passkey", path="/me/confirm", answers=KEYED, texts=("Or a passkey", NO_SCRIPT)
    ),
    PageCase(
        name="confirm-passkey-wrong",
        path="/me/confirm/passkey",
        form={"back": "/try/act", "kept": "id=17", "answer": "{}"},
        answers=KEYED | {"me.confirm_passkey": DeskRefusalError(422, "not taken")},
        status=403,
        texts=("The passkey was not taken. Begin again.",),
    ),
    PageCase(
        name="confirm-passkey-done",
        path="/me/confirm/passkey",
        form={"back": "/me/passkeys", "answer": "{}"},
        answers={"me.confirm_passkey": {"fresh": True}},
        status=303,
    ),
]
