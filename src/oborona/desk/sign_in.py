"""Signing in and what is one's own: calls that need no right, but a password, a link or a session.

login.password   name, password, code, device → a session
login.link       token, password → a session; who has a second step signs in after it
login.leave      ends the session
me.show          who one is and may
me.sessions, me.end_session, me.attempts
me.confirm       the password once more, for acts that hurt
me.password, me.language
me.begin_step, me.confirm_step, me.drop_step   the second step

The other ways to sign in are `oborona.desk.login_ways`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from oborona import __version__, state_files
from oborona.desk.call import CallError, NotAllowedError, NotFoundError
from oborona.desk.login_ways import LoginWays
from oborona.desk.open_call import OpenCall, SignInNeededError
from oborona.desk.site import Site
from oborona.errors import PolicyError
from oborona.people.caller import Caller, Scope
from oborona.people.identity_book import IdentityBook
from oborona.people.link_book import LinkBook
from oborona.people.login_book import LoggedIn, LoginBook, LoginFault, LoginRefused
from oborona.people.login_try import AttemptBook, LoginTry
from oborona.people.login_way import LoginWay
from oborona.people.mail_link_book import MailLinkBook
from oborona.people.outside_book import OutsideBook
from oborona.people.person import NoPersonError, checked_language
from oborona.people.rights import Right, Role
from oborona.people.session_book import PersonSession, SessionBook, SessionView
from oborona.people.step_book import StepBook
from oborona.people.store import PeopleStore
from oborona.telemetry.status import PolicyStatus, read_process

_WRONG: Final = "name, password or code is wrong"
_STATUS: Final = {
    LoginFault.WRONG: 401,
    LoginFault.CODE: 401,
    LoginFault.WAIT: 429,
    LoginFault.BUSY: 503,
}


class PasswordLogin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.password` is told."""

    name: str
    password: str
    code: str = ""
    device: str = ""


class LinkLogin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.link` is told."""

    token: str
    password: str


class OwnWord(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What calls about oneself are told, each its own field."""

    ident: str = ""
    password: str = ""
    new: str = ""
    code: str = ""
    language: str = ""


class SignedCaller(msgspec.Struct, frozen=True, kw_only=True):
    """Who is signed in.

    Args:
        name: of the person.
        roles: theirs.
        rights: what they may.
        reasons: rights that they have only for calls that say why.
        scope: whose mail.
        language: code; empty = they chose none.
        fresh: their password was given within ten minutes.
        second_step: they have one.
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
    must_enrol: bool
    node: str
    policy: str
    way: LoginWay
    version: str = __version__


class SessionStart(msgspec.Struct, frozen=True, kw_only=True):
    """A session that has begun; an empty token: the link is used, and a code is to be given."""

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
        self.needs = "code" if refused.fault is LoginFault.CODE else ""


class SignIn:
    """The people of a site, as the desk's server asks about them.

    Args:
        site: whose store of people is opened, or begun.

    Raises:
        StoreError: it can't be.
    """

    def __init__(self, site: Site) -> None:
        required = site.loaded.settings.console.second_step == "required"
        self._site = site
        self._store = PeopleStore(site.state / state_files.PEOPLE)
        self._sessions = SessionBook(self._store, step_required=required)
        self._identities = IdentityBook(self._store, step_required=required)
        self._logins = LoginBook(self._store, self._sessions)
        self._steps = StepBook(self._store)
        ways = LoginWays(
            site,
            OutsideBook(self._store, self._sessions),
            MailLinkBook(self._store),
            self._began,
        )
        self.open_calls: Mapping[str, OpenCall] = {
            "login.password": OpenCall(PasswordLogin, self._log_in),
            "login.link": OpenCall(LinkLogin, self._follow_link),
            "login.leave": OpenCall(OwnWord, self._leave),
            "me.show": self._own(self._show),
            "me.sessions": self._own(self._list_sessions),
            "me.end_session": self._own(self._end_session),
            "me.attempts": self._own(self._list_attempts),
            "me.confirm": OpenCall(OwnWord, self._confirm),
            "me.password": self._own(self._change_password, fresh=True),
            "me.language": self._own(self._choose_language),
            "me.begin_step": self._own(self._begin_step, fresh=True),
            "me.confirm_step": self._own(self._confirm_step, fresh=True),
            "me.drop_step": self._own(self._drop_step, fresh=True),
            **ways.open_calls,
        }

    def caller_of(self, token: str, place: str, agent: str) -> Caller | None:
        """Return whose token it is; None = it is nobody's, or no longer."""
        return self._identities.caller_of(token, place, agent)

    def _own(
        self, function: Callable[[SessionView, OwnWord, float], Any], *, fresh: bool = False
    ) -> OpenCall:
        """Return a call of who is signed in, if `fresh` with a password given just now."""

        def run(asked: OwnWord, token: str, place: str, _agent: str) -> Any:
            now = time.time()
            view = self._view(token, place, now)
            if fresh and not view.is_fresh:
                raise NotAllowedError("give your password once more first", needs="password")
            return function(view, asked, now)

        return OpenCall(OwnWord, run)

    def _view(self, token: str, place: str, now: float) -> SessionView:
        view = self._sessions.look(token, place, now) if token else None
        if view is None:
            raise SignInNeededError("sign in")
        return view

    def _log_in(self, asked: PasswordLogin, _token: str, place: str, agent: str) -> SessionStart:
        now = time.time()
        done = self._logins.log_in(
            asked.name, asked.password, asked.code, place, agent, asked.device, now
        )
        return self._began(done, place, now)

    def _began(self, done: LoggedIn | LoginRefused, place: str, now: float) -> SessionStart:
        if isinstance(done, LoginRefused):
            raise LoginRefusedError(done)
        return self._started(done, place, now)

    def _follow_link(self, asked: LinkLogin, _token: str, place: str, agent: str) -> SessionStart:
        now = time.time()
        used = LinkBook(self._store).use(asked.token, asked.password, now)
        if used is None:
            raise NotFoundError("this link was used, or is too old")
        done = self._logins.log_in(
            used.person.name, asked.password, "", place, agent, used.device, now
        )
        if isinstance(done, LoginRefused):
            return SessionStart(token="", device=used.device, caller=None)
        return self._started(done, place, now)

    def _started(self, done: LoggedIn, place: str, now: float) -> SessionStart:
        view = self._view(done.token, place, now)
        return SessionStart(token=done.token, device=done.device, caller=self._signed(view))

    def _leave(self, _asked: OwnWord, token: str, _place: str, _agent: str) -> dict[str, bool]:
        return {"ended": self._logins.log_out(token)}

    def _show(self, view: SessionView, _asked: OwnWord, _now: float) -> SignedCaller:
        return self._signed(view)

    def _signed(self, view: SessionView) -> SignedCaller:
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
            must_enrol=view.must_enrol,
            node=self._site.name,
            policy=self._policy_version(),
            way=view.session.way,
        )

    def _policy_version(self) -> str:
        """Return the version that the publisher has put in force; to load a policy for its version
        takes half a second and 20 MB, which is for a site whose daemon does not run.
        """
        publisher = read_process(self._site.state, PolicyStatus, time.time())
        if publisher is not None:
            return publisher.version
        try:
            return self._site.policy().version
        except PolicyError:
            return ""

    def _list_sessions(
        self, view: SessionView, _asked: OwnWord, now: float
    ) -> dict[str, list[PersonSession] | str]:
        return {"here": view.session.ident, "sessions": self._sessions.of(view.person, now)}

    def _end_session(self, view: SessionView, asked: OwnWord, _now: float) -> dict[str, str]:
        try:
            self._sessions.end_named(view.person, asked.ident)
        except NoPersonError as error:
            raise NotFoundError(str(error)) from None
        return {"ended": asked.ident}

    def _list_attempts(
        self, view: SessionView, _asked: OwnWord, _now: float
    ) -> dict[str, list[LoginTry]]:
        return {"attempts": AttemptBook(self._store).of(view.person)}

    def _confirm(self, asked: OwnWord, token: str, place: str, _agent: str) -> dict[str, bool]:
        refused = self._logins.confirm(token, asked.password, place, time.time())
        if refused is not None:
            raise LoginRefusedError(refused)
        return {"fresh": True}

    def _change_password(self, view: SessionView, asked: OwnWord, now: float) -> dict[str, bool]:
        self._logins.change_password(view, asked.new, now)
        return {"changed": True}

    def _choose_language(self, view: SessionView, asked: OwnWord, _now: float) -> dict[str, str]:
        language = checked_language(asked.language)
        self._store.change(msgspec.structs.replace(view.person, language=language), ends=False)
        return {"language": language}

    def _begin_step(self, view: SessionView, _asked: OwnWord, _now: float) -> dict[str, str]:
        secret, uri = self._steps.enrol(view, self._site.name)
        return {"secret": secret, "uri": uri}

    def _confirm_step(self, view: SessionView, asked: OwnWord, now: float) -> dict[str, bool]:
        if not self._steps.confirm(view, asked.code, now):
            raise CallError("that is not the code of now")
        return {"confirmed": True}

    def _drop_step(self, view: SessionView, _asked: OwnWord, _now: float) -> dict[str, bool]:
        self._steps.drop(view)
        return {"dropped": True}
