"""The ways to sign in beside a password of ours, as far as the settings open them.

login.ways             which there are: what the page for signing in shows
login.provider_begin   → where the browser goes, at the site's OpenID provider
login.provider         comes back from there → a session
login.mail_send, login.mail   a link that goes to a reader's mailbox → a session
login.mailbox          address and password of a mailbox → a session
login.proxy            what a proxy before the console says → a session
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from oborona.config.console import ConsoleSettings
from oborona.desk.mail_login import MailLinkUse, MailLinkWish, MailLogin
from oborona.desk.open_call import OpenCall
from oborona.desk.proxy_login import ProxyDoor, ProxyLogin
from oborona.desk.site import Site
from oborona.errors import ConfigError
from oborona.extras import how_to_get
from oborona.people.login_book import LoggedIn, LoginRefused
from oborona.people.mail_link_book import MailLinkBook
from oborona.people.outside_book import OutsideBook

NEEDED: Final = ("joserfc",)
Begin = Callable[[LoggedIn | LoginRefused, str, float], Any]
"""What a login comes to, place, now → its answer."""


class NoWord(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a call is told that is told nothing."""


class WaysAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Which ways there are.

    Args:
        provider: host of the OpenID provider; empty = there is none.
        mail: links are sent to mailboxes of readers.
        mailbox: the password of a mailbox opens it.
        passkey: passkeys can be shown.
    """

    provider: str = ""
    mail: bool = False
    mailbox: bool = False
    passkey: bool = False


class LoginWays:
    """The other ways of a site.

    Args:
        site: its settings and its name.
        people: of the site.
        links: of the same store.
        begin: makes the answer of a login.
        passkeys: they can be shown.

    Raises:
        ConfigError: one that the settings open can't work.
    """

    def __init__(
        self,
        site: Site,
        people: OutsideBook,
        links: MailLinkBook,
        begin: Begin,
        *,
        passkeys: bool,
    ) -> None:
        whole = site.loaded.settings
        settings = whole.console
        self._people = people
        self._begin = begin
        self._ways = WaysAnswer(
            provider=urlsplit(settings.oidc_issuer).netloc,
            mail=settings.readers == "mail",
            mailbox=bool(settings.imap),
            passkey=passkeys,
        )
        calls: dict[str, OpenCall] = {"login.ways": OpenCall(NoWord, lambda *_: self._ways)}
        if settings.oidc_issuer:
            calls |= self._provider_calls(settings)
        if settings.proxy_secret_file:
            door = ProxyDoor(settings.proxy_secret_file, people)
            calls["login.proxy"] = OpenCall(ProxyLogin, self._told(door.log_in))
        if settings.readers == "mail":
            by_mail = MailLogin(whole, site.name, people, links)
            calls["login.mail_send"] = OpenCall(MailLinkWish, by_mail.send)
            calls["login.mail"] = OpenCall(MailLinkUse, self._told(by_mail.log_in))
        if settings.imap:
            from oborona.desk.mailbox_login import MailboxLogin, MailboxPassword

            mailboxes = MailboxLogin(whole, people)
            calls["login.mailbox"] = OpenCall(MailboxPassword, self._told(mailboxes.log_in))
        self.open_calls: Mapping[str, OpenCall] = calls

    def _told(
        self, log_in: Callable[[Any, str, str], LoggedIn | LoginRefused]
    ) -> Callable[[Any, str, str, str], Any]:
        """Return a call that answers what a login comes to."""

        def run(asked: Any, _token: str, place: str, agent: str) -> Any:
            return self._begin(log_in(asked, place, agent), place, time.time())

        return run

    def _provider_calls(self, settings: ConsoleSettings) -> dict[str, OpenCall]:
        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            raise ConfigError(
                "console.oidc_issuer needs the extra `login` of the package, of which "
                f"{', '.join(missing)} is missing: {how_to_get('login')}"
            )
        from oborona.desk.provider.provider_login import ProviderBack, ProviderBegin, ProviderLogin

        provider = ProviderLogin(settings, self._people)

        return {
            "login.provider_begin": OpenCall(ProviderBegin, provider.begin),
            "login.provider": OpenCall(ProviderBack, self._told(provider.finish)),
        }
