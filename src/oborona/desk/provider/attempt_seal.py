"""The beginning of a sign-in at a provider, kept by the browser that began it.

    ATTEMPT = STATE.UNTIL.MAC, and BLAKE2b of the state under our key are its nonce and its verifier

Nothing of it is kept here until it is used, so that nobody fills anything by beginning.  The key is
made at the start: an attempt from before is told that it is too old.  Who has the attempt (it is a
cookie) can't make nonce or verifier of it; who has the state alone can't make the attempt.
"""

from __future__ import annotations

import base64
import hmac
import secrets
import threading
from hashlib import blake2b
from typing import Final, NamedTuple

ATTEMPT_S: Final = 600.0
MAX_USED: Final = 10_000  # used ones that are remembered; then the oldest go
MAX_TEXT: Final = 200  # letters of an attempt or a state
_STATE_BYTES: Final = 32
_MAC_BYTES: Final = 32


class SignInAttempt(NamedTuple):
    """One that was begun.

    Args:
        text: which the browser keeps.
        state: which comes back from the provider.
        nonce: which stands in the ID token.
        verifier: which the code is given out for (PKCE).
    """

    text: str
    state: str
    nonce: str
    verifier: str


class AttemptSeal:
    """Begins attempts and knows them again, each once; for any number of threads."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_MAC_BYTES)
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def begin(self, now: float) -> SignInAttempt:
        """Return a new attempt."""
        return self._attempt(secrets.token_urlsafe(_STATE_BYTES), int(now + ATTEMPT_S))

    def take(self, text: str, state: str, now: float) -> SignInAttempt | None:
        """Return the attempt that comes back; None = it is none, too old, or was used.

        Args:
            text: as the browser kept it; any text.
            state: as the provider gave it back; any text.
            now: Unix seconds.
        """
        if len(text) > MAX_TEXT or not text.isascii() or not state.isascii():
            return None
        known, _, rest = text.partition(".")
        until = rest.partition(".")[0]
        if not until.isdecimal() or len(until) > 12:
            return None
        attempt = self._attempt(known, int(until))
        if not (
            hmac.compare_digest(attempt.text, text)
            and hmac.compare_digest(attempt.state, state)
            and now < int(until) <= now + ATTEMPT_S
        ):
            return None
        with self._lock:
            if known in self._used:
                return None
            while self._used and (
                len(self._used) >= MAX_USED or next(iter(self._used.values())) < now
            ):
                del self._used[next(iter(self._used))]
            self._used[known] = float(until)
        return attempt

    def _attempt(self, state: str, until: int) -> SignInAttempt:
        seal = self._derived(b"attempt", f"{state}.{until}")
        return SignInAttempt(
            text=f"{state}.{until}.{seal}",
            state=state,
            nonce=self._derived(b"nonce", state),
            verifier=self._derived(b"verifier", state),
        )

    def _derived(self, what: bytes, text: str) -> str:
        octets = blake2b(
            text.encode("ascii"), digest_size=_MAC_BYTES, key=self._key, person=what
        ).digest()
        return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
