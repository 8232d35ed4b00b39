"""Tokens: random texts that say who somebody is; kept as hashes alone."""

from __future__ import annotations

import secrets
from base64 import b32encode
from hashlib import blake2b
from typing import Final

TOKEN_BYTES: Final = 32
KEY_BYTES: Final = 20  # 160 bits: 32 letters of base32
KEY_PREFIX: Final = "obk_"  # by which programs that look for secrets in code find it
HASH_BYTES: Final = 32
MOST: Final = 200  # letters of a text that is looked at as a token
IDENT_BYTES: Final = 5


def new_token() -> str:
    """Return a new token of 256 bits, as URLs and cookies take it."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_key() -> str:
    """Return a new API key."""
    return KEY_PREFIX + b32encode(secrets.token_bytes(KEY_BYTES)).decode("ascii").lower()


def new_ident() -> str:
    """Return a new name of a session, which is no secret."""
    return secrets.token_hex(IDENT_BYTES)


def token_hash(token: str) -> bytes:
    """Return what is kept of a token; of what can be none, a hash that none has."""
    if len(token) > MOST or not token.isascii():
        return b""
    return blake2b(token.encode("ascii"), digest_size=HASH_BYTES, person=b"people token").digest()
