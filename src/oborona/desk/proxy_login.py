"""Signing in by the word of a proxy: whom it says is signed in there, beside a secret.

Its people are those of the site, by name: it vouches for who they are, and never for what they may.
"""

from __future__ import annotations

import hmac
import time
from pathlib import Path
from typing import Final

import msgspec

from oborona.desk.outside_refusal import OutsideRefusedError
from oborona.errors import ConfigError
from oborona.people.login_book import LoggedIn, LoginRefused
from oborona.people.login_way import LoginWay
from oborona.people.outside_book import OutsideBook

LEAST_SECRET: Final = 16  # bytes


class ProxyLogin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.proxy` is told: the two headers of a proxy."""

    user: str
    secret: str
    device: str = ""


class ProxyDoor:
    """Signs people in by a proxy's word.

    Args:
        file: that holds its secret.
        people: of the site.

    Raises:
        ConfigError: the secret can't be read, or is too short.
    """

    def __init__(self, file: str, people: OutsideBook) -> None:
        self._secret = read_secret(file, "console.proxy_secret_file", LEAST_SECRET)
        self._people = people

    def log_in(self, asked: ProxyLogin, place: str, agent: str) -> LoggedIn | LoginRefused:
        """Log in whom the proxy names.

        Raises:
            OutsideRefusedError: nobody here has that name, or they are off.
        """
        now = time.time()
        keys = self._people.charge("", place, now)
        if isinstance(keys, LoginRefused):
            return keys
        if not hmac.compare_digest(asked.secret.encode(), self._secret):
            return self._people.wrong(None, LoginWay.PROXY, place, agent, keys, now)
        person = self._people.named(asked.user)
        if person is None:
            self._people.give_back(keys)
            raise OutsideRefusedError("you have no role here; ask your administrator")
        # when they have shown who they are is not known: acts that hurt want the password
        return self._people.begin(
            person, LoginWay.PROXY, place, agent, asked.device, keys, now, fresh=0.0
        )


def read_secret(file: str, setting: str, least: int) -> bytes:
    """Return what a file holds, without blanks around it.

    Raises:
        ConfigError: it can't be read, or has less bytes than a secret has.
    """
    try:
        secret = Path(file).read_bytes().strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{setting}: {error}") from error
    if len(secret) < least:
        raise ConfigError(f"{setting}: {file} holds less than {least} bytes")
    return secret
