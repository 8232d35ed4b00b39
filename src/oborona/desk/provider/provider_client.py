"""What an OpenID provider is asked: what it is, its keys, and a token for a code.

Plain and blocking: it runs on a thread of a call, a few at once, so that a provider that hangs
takes no thread from others.

Source: OpenID Connect Discovery 1.0; RFC 6749 (4.1.3, 2.3.1); RFC 7636.
"""

from __future__ import annotations

import asyncio
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from oborona.errors import OboronaError

DISCOVERY: Final = "/.well-known/openid-configuration"
WITHIN_S: Final = 8.0  # for one question
KEPT_S: Final = 3600.0  # what it is, and its keys
AGAIN_S: Final = 60.0  # its keys are not asked for again earlier, for a key that is not known
MAX_ANSWER: Final = 1 << 20  # bytes: what some tell of hundreds of groups
AT_ONCE: Final = 2  # of the few threads that calls have
PATIENCE_S: Final = 0.5  # for a turn
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class ProviderError(OboronaError):
    """The provider can't be asked, or its answer is none; the text is for the log."""


class CodeRefusedError(ProviderError):
    """It gives no token for a code."""


class ProviderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _Token(msgspec.Struct):
    id_token: str


class ProviderClient:
    """Asks a provider; for any number of threads.

    Args:
        issuer: as it calls itself.
        client_id: ours there.
        secret: ours there; empty = none.
    """

    def __init__(self, issuer: str, client_id: str, secret: str) -> None:
        self._issuer = issuer
        self._client_id = client_id
        self._secret = secret
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._facts: tuple[float, ProviderFacts] | None = None
        self._keys: tuple[float, dict[str, Any]] | None = None

    def facts(self) -> ProviderFacts:
        """Return what it is.

        Raises:
            ProviderError: it can't be told.
        """
        known = self._facts
        if known is not None and time.monotonic() - known[0] < KEPT_S:
            return known[1]
        with self._turn():
            answer = _json(self._ask(self._issuer.rstrip("/") + DISCOVERY))
        try:
            facts = msgspec.convert(answer, ProviderFacts)
        except msgspec.ValidationError as error:
            raise ProviderError(f"the provider says nothing of use of itself: {error}") from error
        if facts.issuer != self._issuer:
            raise ProviderError(
                f"the provider calls itself {facts.issuer[:200]!a}, and is asked as "
                f"{self._issuer}: write that in console.oidc_issuer"
            )
        for url in (facts.authorization_endpoint, facts.token_endpoint, facts.jwks_uri):
            check_url(url)
        self._facts = (time.monotonic(), facts)
        return facts

    def keys(self, *, again: bool = False) -> dict[str, Any]:
        """Return its keys, a JWK set.

        Args:
            again: those that are known lack one.

        Raises:
            ProviderError: they can't be had.
        """
        known = self._keys
        if known is not None:
            age = time.monotonic() - known[0]
            if age < AGAIN_S or (age < KEPT_S and not again):
                return known[1]
        url = self.facts().jwks_uri
        with self._turn():
            found = _json(self._ask(url))
        if not isinstance(found.get("keys"), list):
            raise ProviderError("the provider has no keys")
        self._keys = (time.monotonic(), found)
        return found

    def token_for(self, code: str, verifier: str, redirect: str) -> str:
        """Return the ID token that a code is good for.

        Args:
            code: as it came; any text.
            verifier: of the attempt.
            redirect: where the provider sent the browser.

        Raises:
            CodeRefusedError: it is good for none.
            ProviderError: the provider can't be asked.
        """
        facts = self.facts()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
        }
        headers: dict[str, str] = {}
        if not self._secret:
            form["client_id"] = self._client_id
        elif "client_secret_basic" in facts.token_endpoint_auth_methods_supported:
            words = f"{quote(self._client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(words.encode()).decode()}"
        else:
            form |= {"client_id": self._client_id, "client_secret": self._secret}
        with self._turn():
            answer = self._ask(facts.token_endpoint, form, headers)
        try:
            return msgspec.json.decode(answer, type=_Token).id_token
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CodeRefusedError(f"no ID token came for a code: {error}") from error

    def _ask(
        self,
        url: str,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        try:
            return asyncio.run(_fetch(url, form, headers or {}))
        except TimeoutError:
            raise ProviderError(f"{_place(url)}: no answer within {WITHIN_S:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ProviderError(f"{_place(url)}: {error}") from error

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=PATIENCE_S):
            raise ProviderError("too many ask the provider just now")
        try:
            yield
        finally:
            self._turns.release()


def check_url(url: str) -> None:
    """Refuse an address at which others would hear what is said.

    Raises:
        ProviderError: it is none, or has no TLS and is not this machine's.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ProviderError(f"{url[:200]!a} is no address") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOCAL):
        raise ProviderError(f"{url[:200]!a}: a provider is asked by https alone")


async def _fetch(url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]) -> bytes:
    async with (
        asyncio.timeout(WITHIN_S),
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.request(
            "GET" if form is None else "POST",
            url,
            data=form,
            headers={"Accept": "application/json", **headers},
            allow_redirects=False,
        ) as answer,
    ):
        body = bytearray()
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > MAX_ANSWER:
                raise ProviderError(f"{_place(url)}: the answer has over {MAX_ANSWER} bytes")
        if answer.status == 200:
            return bytes(body)
        told = f"{_place(url)}: status {answer.status} {bytes(body[:200])!a}"
        if form is not None and 400 <= answer.status < 500:
            raise CodeRefusedError(told)
        raise ProviderError(told)


def _json(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderError(f"the provider answers what is no JSON object: {error}") from error


def _place(url: str) -> str:
    return url.partition("?")[0][:200]
