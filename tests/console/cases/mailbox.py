"""Signing in by one's mailbox."""

from tests.console.page_case import PageCase
from tests.console.stub_desk import DeskRefusalError

WAYS = {"login.ways": {"provider": "", "mail": True, "mailbox": True}}
PASSWORD = {"address": "bob@shop.example", "password": "theirs alone"}

CASES = [
    PageCase(
        name="sign-in-mailbox",
        path="/sign-in",
        role=None,
        answers=WAYS,
        texts=("Or by your mailbox", "Send me a link", "Password of your mailbox"),
    ),
    PageCase(
        name="mail-sent",
        path="/sign-in/mail",
        role=None,
        form={"address": "bob@shop.example"},
        answers={"login.mail_send": {"sent": True}},
        texts=("If this address has a mailbox here",),
    ),
    PageCase(
        name="mail-limit",
        path="/sign-in/mail",
        role=None,
        form={"address": "bob@shop.example"},
        answers=WAYS | {"login.mail_send": DeskRefusalError(429, "too often", wait_s=3000)},
        status=429,
        texts=("Try again in an hour",),
    ),
    PageCase(
        name="mail-link", path="/sign-in/mail/k3y", role=None, texts=("Sign in by this link",)
    ),
    PageCase(
        name="mail-link-used",
        path="/sign-in/mail/k3y",
        role=None,
        form={},
        answers={"login.mail": DeskRefusalError(404, "used")},
        status=410,
        texts=("This link was used, or is too old.",),
    ),
    PageCase(
        name="mail-link-good",
        path="/sign-in/mail/k3y",
        role=None,
        form={},
        answers={"login.mail": {"token": "t", "device": "d"}},
        status=303,
    ),
    PageCase(
        name="mailbox-wrong",
        path="/sign-in/mailbox",
        role=None,
        form=PASSWORD,
        answers=WAYS | {"login.mailbox": DeskRefusalError(401, "wrong")},
        status=403,
        texts=("Mail address or password is wrong.",),
    ),
    PageCase(
        name="mailbox-away",
        path="/sign-in/mailbox",
        role=None,
        form=PASSWORD,
        answers=WAYS | {"login.mailbox": DeskRefusalError(503, "away")},
        status=503,
        texts=("This mailbox can't be asked now.",),
    ),
    PageCase(
        name="mailbox-good",
        path="/sign-in/mailbox",
        role=None,
        form=PASSWORD,
        answers={"login.mailbox": {"token": "t", "device": "d"}},
        status=303,
    ),
]
