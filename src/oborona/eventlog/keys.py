"""Keyed hashes of persons, of events and of what is not to be read: signed 64 bits.

They are computed here and never by an engine: engines' own hashes differ from one to the next and
from version to version, and none is keyed. Who has a table and not the site's secret can't find out
a person by trying addresses (BLAKE2b keyed and personalised, RFC 7693 section 2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

_OCTETS: Final = 8
_PERSON: Final = b"log person"
_EVENT: Final = b"log event"
_TEXT: Final = b"log text"


class EventHasher:
    """Hashes under a key of the site.

    Args:
        key: 16 to 64 octets, of this purpose alone.
    """

    def __init__(self, key: bytes) -> None:
        self._persons = hashlib.blake2b(key=key, digest_size=_OCTETS, person=_PERSON)
        self._events = hashlib.blake2b(key=key, digest_size=_OCTETS, person=_EVENT)
        self._texts = hashlib.blake2b(key=key, digest_size=_OCTETS, person=_TEXT)

    def person(self, name: str) -> int | None:
        """Return the hash of a person; None of nobody, the empty text."""
        return _hash(self._persons, (name,)) if name else None

    def text(self, text: str) -> int:
        """Return the hash of a text that a table is not to show."""
        return _hash(self._texts, (text,))

    def event(self, event: str, person: int | None, info: Iterable[object]) -> int:
        """Return the hash of what an event says.

        Args:
            event: its name.
            person: who did it, hashed.
            info: values that tell it from another of the same person: texts, numbers, None.
        """
        return _hash(self._events, (event, person, *info))


def _hash(keyed: hashlib.blake2b, parts: Iterable[object]) -> int:
    """Return a hash of values, each with its type and length: no two lists run together."""
    state = keyed.copy()
    for part in parts:
        octets = _octets(part)
        state.update(b"%d:" % len(octets))
        state.update(octets)
    return int.from_bytes(state.digest(), "little", signed=True)


def _octets(part: object) -> bytes:
    if part is None:
        return b"-"
    if isinstance(part, str):
        return b"t" + part.encode("utf-8", "surrogatepass")
    return b"v" + repr(part).encode()
