"""A sign-in at the site's OpenID provider, to a session: the code flow with PKCE.

    login.provider_begin   → the provider's address, and what the browser keeps
    login.provider         what the browser kept, what the provider sent → a session

The desk asks the provider and looks at tokens: the console carries what the browser brings.  All
that is wrong has one answer; the log has what it was.
"""

from __future__ import annotations

import logging
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from oborona.config.console import ConsoleSettings
from oborona.desk.call import CallError
from oborona.desk.outside_refusal import OutsideRefusedError
from oborona.desk.provider.attempt_seal import AttemptSeal
from oborona.desk.provider.claims import vouched_person
from oborona.desk.provider.id_token import SKEW_S, TokenRefusedError, UnknownKeyError, read_id_token
from oborona.desk.provider.provider_client import (
    CodeRefusedError,
    ProviderClient,
    ProviderError,
    check_url,
)
from oborona.desk.proxy_login import read_secret
from oborona.errors import ConfigError
from oborona.people.login_book import LoggedIn, LoginRefused
from oborona.people.login_way import LoginWay
from oborona.people.outside_book import OutsideBook
from oborona.people.person import PeopleError
from oborona.telemetry.log import event

BACK: Final = "/sign-in/provider/back"  # of the console: where the provider sends browsers
SCOPE: Final = "openid profile email"
MAX_CODE: Final = 4096  # letters

log = logging.getLogger("oborona.desk")


class ProviderBegin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.provider_begin` is told.

    Args:
        again: who is signed in there already is to show once more who they are.
    """

    again: bool = False


class ProviderBack(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.provider` is told: what the browser kept, and what the provider sent with it."""

    attempt: str
    state: str = ""
    code: str = ""
    issuer: str = ""
    device: str = ""


class ProviderStart(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in that has begun: where the browser goes, and what it keeps."""

    url: str
    attempt: str


class ProviderAwayError(CallError):
    """The provider can't be asked."""

    status = 503


class ProviderLogin:
    """Signs people in by a provider.

    Args:
        settings: of the console.
        people: of the site.

    Raises:
        ConfigError: the settings can't work.
    """

    def __init__(self, settings: ConsoleSettings, people: OutsideBook) -> None:
        try:
            check_url(settings.oidc_issuer)
        except ProviderError as error:
            raise ConfigError(f"console.oidc_issuer: {error}") from error
        if not settings.pages_url:
            raise ConfigError(
                "console.url is empty: the provider has to know where it sends browsers back to"
            )
        self._settings = settings
        self._people = people
        self._seal = AttemptSeal()
        self._redirect = settings.pages_url + BACK
        file = settings.oidc_secret_file
        secret = read_secret(file, "console.oidc_secret_file", 1).decode() if file else ""
        self._client = ProviderClient(settings.oidc_issuer, settings.oidc_client_id, secret)

    def begin(self, asked: ProviderBegin, *_: str) -> ProviderStart:
        """Return where a browser goes to sign in.

        Raises:
            ProviderAwayError: the provider can't be asked.
        """
        attempt = self._seal.begin(time.time())
        challenge = urlsafe_b64encode(sha256(attempt.verifier.encode()).digest()).rstrip(b"=")
        words = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": self._redirect,
            "scope": SCOPE,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        if asked.again:
            words |= {"prompt": "login", "max_age": "0"}
        where = self._asked(lambda: self._client.facts().authorization_endpoint)
        return ProviderStart(
            url=f"{where}{'&' if '?' in where else '?'}{urlencode(words)}", attempt=attempt.text
        )

    def finish(self, asked: ProviderBack, place: str, agent: str) -> LoggedIn | LoginRefused:
        """Log in who comes back from the provider.

        Raises:
            ProviderAwayError: the provider can't be asked.
            OutsideRefusedError: they have no role here, or their name is somebody else's.
        """
        now = time.time()
        keys = self._people.charge("", place, now)
        if isinstance(keys, LoginRefused):
            return keys
        try:
            claims = self._claims(asked, now)
        except ProviderAwayError:
            self._people.give_back(keys)
            raise
        except (TokenRefusedError, CodeRefusedError) as error:
            event(
                log,
                logging.WARNING,
                "a sign-in at the provider is refused",
                why=error,
                place=place,
            )
            return self._people.wrong(None, LoginWay.PROVIDER, place, agent, keys, now)
        try:
            person = self._people.told(vouched_person(claims, self._settings), now)
        except PeopleError as error:
            self._people.give_back(keys)
            event(log, logging.WARNING, "a sign-in has no role", why=error, name=claims["sub"])
            raise OutsideRefusedError(str(error)) from error
        shown = claims.get("auth_time")
        fresh = float(shown) if type(shown) is int and 0 < shown < now + SKEW_S else 0.0
        return self._people.begin(
            person, LoginWay.PROVIDER, place, agent, asked.device, keys, now, fresh=fresh
        )

    def _claims(self, asked: ProviderBack, now: float) -> dict[str, Any]:
        """Return what the provider says of who comes back.

        Raises:
            TokenRefusedError, CodeRefusedError: it is not believed.
            ProviderAwayError: it can't be asked.
        """
        attempt = self._seal.take(asked.attempt, asked.state, now)
        if attempt is None:
            raise TokenRefusedError("no attempt of this browser, too old, or used before")
        facts = self._asked(self._client.facts)
        # RFC 9207: another provider's answer is not taken to this one
        told = asked.issuer or facts.authorization_response_iss_parameter_supported
        if told and asked.issuer != facts.issuer:
            raise TokenRefusedError(f"another issuer answers: {asked.issuer[:200]!a}")
        if not asked.code or len(asked.code) > MAX_CODE:
            raise CodeRefusedError("the provider sent no code")
        token = self._asked(
            lambda: self._client.token_for(asked.code, attempt.verifier, self._redirect)
        )

        def read(*, again: bool) -> dict[str, Any]:
            return read_id_token(
                token,
                self._asked(lambda: self._client.keys(again=again)),
                issuer=facts.issuer,
                client_id=self._settings.oidc_client_id,
                nonce=attempt.nonce,
                now=now,
            )

        try:
            return read(again=False)
        except UnknownKeyError:
            return read(again=True)

    def _asked(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except CodeRefusedError:
            raise
        except ProviderError as error:
            event(log, logging.WARNING, "the provider can't be asked", error=error)
            raise ProviderAwayError("the provider can't be asked now; try again later") from error
