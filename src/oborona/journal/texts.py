"""Encodes strangers' texts, and JSON, for the journal's columns: pure.

A text that is no Unicode (a lone surrogate) becomes a blob of UTF-8 with surrogates passed through,
so that every str comes back as it was. JSON is msgspec's (NaN and infinities become null); what it
refuses, lone surrogates above all, goes through the standard library and is a blob too.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Final, TypeVar

import msgspec

# characters kept of a peer's text: the longest line of RFC 5322 section 2.1.1
TEXT_LENGTH: Final = 998
_T = TypeVar("_T")
_JSON: Final = msgspec.json.Encoder(enc_hook=str)


def pack_text(text: str) -> str | bytes:
    """Return a text as it stands in its column."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def unpack_text(stored: str | bytes | None) -> str:
    """Return the text of a column; NULL is the empty one."""
    if isinstance(stored, bytes):
        return stored.decode("utf-8", "surrogatepass")
    return stored or ""


def to_json(value: object) -> str | bytes:
    """Return JSON as text, so that SQL can look into it; as a blob where it is no Unicode."""
    try:
        return _JSON.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, TypeError, msgspec.MsgspecError):
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
        text = json.dumps(plain, default=str, separators=(",", ":"), ensure_ascii=False)
        return pack_text(text)


def from_json(stored: str | bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Return the value of a column of JSON.

    Raises:
        ValueError: it is damaged.
    """
    try:
        return decoder.decode(stored)
    except (msgspec.MsgspecError, UnicodeError):
        text = stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else stored
        return msgspec.convert(json.loads(text), decoder.type)


def message_key(message_id: str) -> int:
    """Return what a Message-ID is found by: a signed 64-bit number."""
    text = message_id[:TEXT_LENGTH].encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True)
