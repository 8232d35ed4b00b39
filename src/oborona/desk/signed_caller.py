"""Who is signed in, as answers tell them; and why nobody is."""

from __future__ import annotations

import time
from typing import Final

import msgspec

from oborona import __version__
from oborona.desk.call import CallError
from oborona.desk.site import Site
from oborona.errors import PolicyError
from oborona.people.caller import Scope
from oborona.people.login_book import LoginFault, LoginRefused
from oborona.people.login_way import LoginWay
from oborona.people.rights import Right, Role
from oborona.people.session_book import SessionView
from oborona.telemetry.status import PolicyStatus, read_process

_WRONG: Final = "name, password or code is wrong"
_STATUS: Final = {
    LoginFault.WRONG: 401,
    LoginFault.CODE: 401,
    LoginFault.WAIT: 429,
    LoginFault.BUSY: 503,
}


class SignedCaller(msgspec.Struct, frozen=True, kw_only=True):
    """Who is signed in.

    Args:
        name: of the person.
        roles: theirs.
        rights: what they may.
        reasons: rights that they have only for calls that say why.
        scope: whose mail.
        language: code; empty = they chose none.
        fresh: their password or a passkey was given within ten minutes.
        second_step: they have codes.
        passkeys: they have one at least.
        must_enrol: they have no right before they have a second step.
        node: name of the site.
        policy: version in force there; empty = it can't be used.
        way: by which they signed in.
        version: of the program.
    """

    name: str
    roles: list[Role]
    rights: list[Right]
    reasons: list[Right]
    scope: Scope
    language: str
    fresh: bool
    second_step: bool
    passkeys: bool
    must_enrol: bool
    node: str
    policy: str
    way: LoginWay
    version: str = __version__


class SessionStart(msgspec.Struct, frozen=True, kw_only=True):
    """A session that has begun; an empty token: the link is used, and a second step follows."""

    token: str
    device: str
    caller: SignedCaller | None


class LoginRefusedError(CallError):
    """Nobody is signed in.

    Args:
        refused: why.
    """

    def __init__(self, refused: LoginRefused) -> None:
        super().__init__("too many attempts" if refused.fault is LoginFault.WAIT else _WRONG)
        self.status = _STATUS[refused.fault]
        self.wait_s = refused.wait_s
        steps = [
            step
            for step, there in (("code", refused.codes), ("passkey", refused.passkeys))
            if there
        ]
        self.needs = " or ".join(steps)


def signed_caller(site: Site, view: SessionView) -> SignedCaller:
    """Return who a session is of, as answers tell them."""
    caller = view.caller
    return SignedCaller(
        name=caller.name,
        roles=sorted(caller.roles),
        rights=sorted(caller.rights),
        reasons=sorted(right for right in caller.rights if caller.must_say_why(right)),
        scope=caller.scope,
        language=view.person.language,
        fresh=view.is_fresh,
        second_step=bool(view.person.totp),
        passkeys=view.passkeys,
        must_enrol=view.must_enrol,
        node=site.name,
        policy=_policy_version(site),
        way=view.session.way,
    )


def _policy_version(site: Site) -> str:
    """Return the version that the publisher has put in force; to load a policy for its version
    takes half a second and 20 MB, which is for a site whose daemon does not run.
    """
    publisher = read_process(site.state, PolicyStatus, time.time())
    if publisher is not None:
        return publisher.version
    try:
        return site.policy().version
    except PolicyError:
        return ""
