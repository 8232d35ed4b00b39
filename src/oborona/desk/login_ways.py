"""The ways to sign in beside a password of ours, as far as the settings open them.

login.ways             which there are: what the page for signing in shows
login.provider_begin   → where the browser goes, at the site's OpenID provider
login.provider         comes back from there → a session
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
from oborona.desk.open_call import OpenCall
from oborona.desk.proxy_login import ProxyDoor, ProxyLogin
from oborona.errors import ConfigError
from oborona.people.login_book import LoggedIn, LoginRefused
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
    """

    provider: str = ""


class LoginWays:
    """The other ways of a site.

    Args:
        settings: of the console.
        people: of the site.
        begin: makes the answer of a login.

    Raises:
        ConfigError: one that the settings open can't work.
    """

    def __init__(self, settings: ConsoleSettings, people: OutsideBook, begin: Begin) -> None:
        self._people = people
        self._begin = begin
        self._ways = WaysAnswer(provider=urlsplit(settings.oidc_issuer).netloc)
        calls: dict[str, OpenCall] = {"login.ways": OpenCall(NoWord, lambda *_: self._ways)}
        if settings.oidc_issuer:
            calls |= self._provider_calls(settings)
        if settings.proxy_secret_file:
            door = ProxyDoor(settings.proxy_secret_file, people)
            calls["login.proxy"] = OpenCall(ProxyLogin, self._told(door.log_in))
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
                f"{', '.join(missing)} is missing: pip install 'oborona[login]'"
            )
        from oborona.desk.provider.provider_login import ProviderBack, ProviderBegin, ProviderLogin

        provider = ProviderLogin(settings, self._people)

        return {
            "login.provider_begin": OpenCall(ProviderBegin, provider.begin),
            "login.provider": OpenCall(ProviderBack, self._told(provider.finish)),
        }
