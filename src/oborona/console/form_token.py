"""Tokens of forms: only a page of ours, made for this very session, can send what changes
something.

    TOKEN = base64url(NONCE . BLAKE2b(key, NONCE . session)[:16])

Each has a nonce of its own, so that the length of a compressed page tells nothing of it.  The key
is made at the start and kept nowhere: a form from before is told that it is too old.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

_NONCE: Final = 12  # bytes: no two forms of a session are alike
_MAC: Final = 16  # bytes: nobody guesses 128 bits


class FormTokens:
    """Makes tokens and knows them again."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def make(self, session: str) -> str:
        """Return a token for a form of a session."""
        nonce = secrets.token_bytes(_NONCE)
        return base64.urlsafe_b64encode(nonce + self._mac(nonce, session)).decode()

    def is_good(self, token: str, session: str) -> bool:
        """Return whether a token was made here for this session."""
        try:
            octets = base64.b64decode(token.encode("ascii"), b"-_", validate=True)
        except (binascii.Error, ValueError):
            return False
        nonce, mac = octets[:_NONCE], octets[_NONCE:]
        return hmac.compare_digest(mac, self._mac(nonce, session))

    def _mac(self, nonce: bytes, session: str) -> bytes:
        asked = nonce + session.encode("utf-8", "surrogateescape")
        return hashlib.blake2b(asked, key=self._key, digest_size=_MAC).digest()
