"""Numbers of addresses and forms."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 20  # digits


def read_number(text: str, most: int) -> int:
    """Return a whole number of an address or form; what is none is 0, which nothing has.

    Args:
        text: anything.
        most: larger ones are this.
    """
    plain = text.isascii() and text.isdecimal() and len(text) < LONGEST
    return min(int(text), most) if plain else 0
