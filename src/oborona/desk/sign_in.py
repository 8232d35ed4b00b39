"""Signing in: calls that need no right, but a password, a link or a session.

login.password   name, password, code, device → a session
login.link       token, password → a session; who has a second step signs in after it
login.leave      ends the session

The other ways to sign in are `oborona.desk.login_ways` and `oborona.desk.passkeys`; what is one's
own is `oborona.desk.own_account`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from oborona import state_files
from oborona.desk.call import NotFoundError
from oborona.desk.login_ways import LoginWays
from oborona.desk.open_call import OpenCall
from oborona.desk.own_account import OwnAccount
from oborona.desk.own_call import OwnWord, session_view
from oborona.desk.passkeys.own_passkeys import OwnPasskeys
from oborona.desk.passkeys.passkey_login import PasskeyLogin
from oborona.desk.passkeys.relying_party import relying_party
from oborona.desk.signed_caller import LoginRefusedError, SessionStart, signed_caller
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.identity_book import IdentityBook
from oborona.people.link_book import LinkBook
from oborona.people.login_book import LoggedIn, LoginBook, LoginRefused
from oborona.people.mail_link_book import MailLinkBook
from oborona.people.outside_book import OutsideBook
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore


class PasswordLogin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.password` is told.

    Args:
        browser: what the browser is known by before anybody is signed in: where a passkey is the
            second step, it is shown by the same one. Empty: none will be.
    """

    name: str
    password: str
    code: str = ""
    device: str = ""
    browser: str = ""


class LinkLogin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.link` is told."""

    token: str
    password: str


class SignIn:
    """The people of a site, as the desk's server asks about them.

    Args:
        site: whose store of people is opened, or begun.

    Raises:
        StoreError: it can't be.
    """

    def __init__(self, site: Site) -> None:
        settings = site.loaded.settings.console
        required = settings.second_step == "required"
        self._site = site
        self._store = PeopleStore(site.state / state_files.PEOPLE)
        self._sessions = SessionBook(self._store, step_required=required)
        self._identities = IdentityBook(self._store, step_required=required)
        self._logins = LoginBook(self._store, self._sessions)
        party = relying_party(settings.pages_url, site.name)
        outside = OutsideBook(self._store, self._sessions)
        self._passkeys = PasskeyLogin(party, self._store, outside, self._began)
        ways = LoginWays(
            site,
            outside,
            MailLinkBook(self._store),
            self._began,
            passkeys=not isinstance(party, str),
        )
        self.open_calls: Mapping[str, OpenCall] = {
            "login.password": OpenCall(PasswordLogin, self._log_in),
            "login.link": OpenCall(LinkLogin, self._follow_link),
            "login.leave": OpenCall(OwnWord, self._leave),
            **OwnAccount(site, self._store, self._sessions, self._logins).open_calls,
            **OwnPasskeys(party, self._store, self._sessions).open_calls,
            **self._passkeys.open_calls,
            **ways.open_calls,
        }

    def caller_of(self, token: str, place: str, agent: str) -> Caller | None:
        """Return whose token it is; None = it is nobody's, or no longer."""
        return self._identities.caller_of(token, place, agent)

    def _log_in(self, asked: PasswordLogin, _token: str, place: str, agent: str) -> SessionStart:
        now = time.time()
        done = self._logins.log_in(
            asked.name, asked.password, asked.code, place, agent, asked.device, now
        )
        if isinstance(done, LoginRefused) and done.stepping and done.passkeys and asked.browser:
            self._passkeys.await_step(done.stepping, asked.browser, place, now)
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
        view = session_view(self._sessions, done.token, place, now)
        return SessionStart(
            token=done.token, device=done.device, caller=signed_caller(self._site, view)
        )

    def _leave(self, _asked: OwnWord, token: str, _place: str, _agent: str) -> dict[str, bool]:
        return {"ended": self._logins.log_out(token)}
