"""Where the next page of several machines begins: how far each of them was shown.

    NAME:VALUE~NAME:VALUE    VALUE as the machine itself says it, empty where it has no more

The home desk's name is empty.  A machine that is not named was not shown yet, as it was silent or
all that it has is older: it begins with its newest.  What is no such text is one machine's own
word for it, and the home desk's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HOME: Final = ""  # name of the home desk among the machines
ENDED: Final = ""
LONGEST: Final = 4_000  # letters
MOST_MACHINES: Final = 64


def read_cursor(text: str) -> Mapping[str, str]:
    """Return how far each machine was shown; any text."""
    if ":" not in text:
        return {HOME: text} if text else {}
    found = {}
    for piece in text[:LONGEST].split("~")[:MOST_MACHINES]:
        name, colon, value = piece.partition(":")
        if colon:
            found[name] = value
    return found


def write_cursor(shown: Mapping[str, str]) -> str:
    """Return the text of it."""
    return "~".join(f"{name}:{value}" for name, value in shown.items())
