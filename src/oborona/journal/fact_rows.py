"""Facts of a message as columns of its row: pure.

They are stored as their values; the list of their names, the same for almost all messages, is a row
of its own.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import msgspec

from oborona.journal.texts import from_json, to_json

FACTS_BYTES: Final = 65_536  # of JSON; a message has some hundreds of facts, most of them numbers
MAX_NAMES: Final = 1000  # facts by name that share a list; more is stored with the names in place

_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])
_OBJECT: Final = msgspec.json.Decoder(dict[str, Any])
_ARRAY: Final = msgspec.json.Decoder(list[Any])


def pack_facts(facts: dict[str, object]) -> tuple[int | None, tuple[str, ...], str | bytes]:
    """Return the id of the facts' list of names, the list, and the JSON of their values.

    Facts without such a list, as many names as no policy has, are JSON of an object: the id is
    None. What is too large goes without its texts.
    """
    values = to_json(list(facts.values()))
    if len(values) > FACTS_BYTES:
        facts = {name: value for name, value in facts.items() if isinstance(value, int | float)}
        values = to_json(list(facts.values()))
    names = tuple(facts)
    if len(names) > MAX_NAMES or not names:
        return None, (), to_json(facts) if len(names) <= 4 * MAX_NAMES else "{}"
    return _shape(names), names, values


def unpack_facts(facts: str | bytes, names: str | bytes | None) -> dict[str, Any]:
    """Return facts by name.

    Args:
        facts: JSON, as stored.
        names: JSON of their list of names; None where facts are an object.

    Raises:
        ValueError: they are damaged.
    """
    if names is None:
        return from_json(facts, _OBJECT)
    columns = _names(names)
    values: list[Any] = from_json(facts, _ARRAY)
    return dict(zip(columns, values, strict=False))


@lru_cache(maxsize=64)
def _names(stored: str | bytes) -> tuple[str, ...]:
    return from_json(stored, _TEXTS)


@lru_cache(maxsize=64)  # the lists of one policy and the one before it
def _shape(names: tuple[str, ...]) -> int:
    """Return the id of a list of names: 63 bits of its hash, so that all processes find the
    same.
    """
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest()) >> 1
