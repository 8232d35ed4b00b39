"""POST /v1/logins: what Dovecot asks of an authentication policy server, and tells it.

    ?command=allow    before or after it has looked at the password → {"status": 0}, or -1 for who
                      may not log in
    ?command=report   how it ended: it goes into the log of events, and what failed for its password
                      is counted

Whatever goes wrong here lets people log in: Dovecot takes any other answer for a yes.

Source: Dovecot, "Authentication policy support", 2.2.27 to 2.4; src/auth/auth-policy.c of 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.doors.arguments import client_at_connect
from oborona.doors.http.model import decode_body
from oborona.doors.login_attempt import LoginAttempt, LoginObserver
from oborona.errors import PeerError
from oborona.metrics import Counter

LOGINS: Final = "/v1/logins"
MAX_BODY: Final = 16 * 1024  # bytes; Dovecot's are 300
MAX_LOGIN: Final = 320  # characters
ALLOW, REPORT = "allow", "report"
WRONG: Final = "password"  # what was wrong
_WHYS: Final = {
    "credentials": WRONG,
    "": WRONG,  # Dovecot 2.3 gives no reason
    "account": "unknown account",
    "expired": "expired",
    "disabled": "disabled",
    "policy": "policy",
}

FAILED: Final = Counter(
    "oborona_failed_logins", "Logins that failed, as mail servers report them.", ("why",)
)

_Text = Annotated[str, Meta(max_length=1000)]


class LoginRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What Dovecot says of a login; more is passed over."""

    login: Annotated[_Text, Meta(description="As the client gave it.")] = ""
    remote: Annotated[_Text, Meta(description="Address of the client.")] = ""
    protocol: Annotated[_Text, Meta(description="Such as imap, or smtp for Postfix.")] = ""
    success: Annotated[bool, Meta(description="Of a report: it logged in.")] = False
    policy_reject: Annotated[bool, Meta(description="Of a report: we did not let it.")] = False
    fail_type: Annotated[_Text, Meta(description="Of a report: why it failed.")] = ""


class LoginAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether somebody may log in."""

    status: Annotated[Literal[-1, 0], Meta(description="0: yes, or the report has come; -1: no.")]
    msg: Annotated[str, Meta(description="For Dovecot's log.")] = ""


_DECODER: Final = msgspec.json.Decoder(LoginRequest)
_YES: Final = LoginAnswer(status=0)
_NO: Final = LoginAnswer(status=-1, msg="the account is banned")


async def answer_login(
    command: str,
    body: bytes,
    observer: LoginObserver,
    record: Callable[[LoginAttempt], None],
    *,
    refuse: bool,
) -> LoginAnswer:
    """Answer what a Dovecot asks or tells.

    Args:
        command: allow or report.
        body: of the request.
        observer: is told of what failed for its password.
        record: takes down each login whose name may be one, and how it ended.
        refuse: banned accounts may not log in.

    Raises:
        PeerError: it is neither.
    """
    if command not in {ALLOW, REPORT}:
        raise PeerError(f"command is {ALLOW} or {REPORT}")
    told = decode_body(_DECODER, body)
    if command == ALLOW:
        return _NO if refuse and told.login and observer.forbids(told.login) else _YES
    why = "" if told.success else _why(told)
    if why:
        FAILED.inc(why)
    if told.login.isprintable() and 0 < len(told.login) <= MAX_LOGIN:
        attempt = LoginAttempt(
            login=told.login, address=_address(told.remote), protocol=told.protocol[:20], why=why
        )
        record(attempt)
        if why == WRONG:
            await observer.failed(attempt)
    return _YES


def _why(told: LoginRequest) -> str:
    """Return why a login failed, in words of ours."""
    return _WHYS.get("policy" if told.policy_reject else told.fail_type, "other")


def _address(text: str) -> str:
    """Return an address as we write it; empty for what is none."""
    try:
        return client_at_connect("", text, 0).ip
    except PeerError:
        return ""
