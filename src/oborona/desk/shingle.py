"""Shingles as people write them: TYPE:HASH, where TYPE is a name or number and HASH 16 hexadecimal
digits.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.desk.refusals import UnusableValueError
from oborona.message.shingles import ShingleType
from oborona.types import Shingle

_SHINGLE: Final = re.compile(r"([a-z_]+|\d{1,2})[:=/]([0-9a-f]{16})", re.IGNORECASE)


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


_TYPES: Final = {_bare(kind.name): kind for kind in ShingleType}


def shingle_of(text: str) -> Shingle | None:
    """Return the shingle that a text names; None when it is not of that form.

    Raises:
        UnusableValueError: it is, and there is no such type.
    """
    match = _SHINGLE.fullmatch(text)
    return Shingle(type_of(match[1]), int(match[2], 16)) if match is not None else None


def shingle_named(text: str) -> Shingle:
    """Return the shingle that a text names.

    Raises:
        UnusableValueError: it names none.
    """
    shingle = shingle_of(text)
    if shingle is None:
        raise UnusableValueError(f"{text[:60]!r} is no TYPE:HASH")
    return shingle


def type_of(text: str) -> ShingleType:
    """Return the type of a name or number; `client_ip` and `ClientIp`, as rules spell it, are one.

    Raises:
        UnusableValueError: there is none; the text says which there are.
    """
    try:
        return ShingleType(int(text)) if text.isdigit() else _TYPES[_bare(text)]
    except (KeyError, ValueError):
        names = ", ".join(kind.name.lower() for kind in ShingleType)
        raise UnusableValueError(f"no type {text[:60]!r}; there are {names}") from None
