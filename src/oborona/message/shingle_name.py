"""Names of shingles, TYPE:HASH, as commands take them and answers have them."""

from __future__ import annotations

from oborona.message.shingles import ShingleType
from oborona.types import Shingle


def type_name(number: int) -> str:
    """Return the name of a type; the number alone for one that another version knows."""
    return (
        ShingleType(number).name.lower()
        if number in ShingleType.__members__.values()
        else str(number)
    )


def name_of(shingle: Shingle) -> str:
    """Return a shingle as the command line takes it."""
    return f"{type_name(shingle.type)}:{shingle.hash:016x}"
