"""A value of `smtpd_milters`: entries with commas or spaces between, one with options of its own in
braces.

Entries are kept as they are written, so that what an admin wrote goes back as it came.  Source:
postconf(5) smtpd_milters.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_BETWEEN: Final = " \t\r\n,"
_SCHEME: Final = re.compile(r"(?:unix|local|inet|inet6):", re.IGNORECASE)


class MilterEntry(NamedTuple):
    """One milter that Postfix asks."""

    text: str  # as it is written
    address: str  # of it, "inet:127.0.0.1:8890"; a value without a scheme as it is


def entries(value: str) -> list[MilterEntry]:
    """Return the milters of a value, in their order.

    A brace that nothing closes goes to the end, as Postfix has it.
    """
    milter_entries: list[MilterEntry] = []
    at = 0
    while at < len(value):
        if value[at] in _BETWEEN:
            at += 1
            continue
        end = _closed(value, at) if value[at] == "{" else _word(value, at)
        text = value[at:end]
        inside = (
            re.split(r"[\s,]+", text.strip("{} \t\r\n,"), maxsplit=1)[0] if text[0] == "{" else text
        )
        milter_entries.append(MilterEntry(text, inside))
        at = end
    return milter_entries


def join_entries(milters: list[MilterEntry]) -> str:
    """Return the value that names these."""
    return ", ".join(entry.text for entry in milters)


def is_address(word: str) -> bool:
    """Tell whether a word names a milter itself, rather than a parameter that does (`$other`)."""
    return _SCHEME.match(word) is not None


def _closed(value: str, at: int) -> int:
    depth = 0
    for place in range(at, len(value)):
        depth += (value[place] == "{") - (value[place] == "}")
        if depth == 0:
            return place + 1
    return len(value)


def _word(value: str, at: int) -> int:
    """Return where a word ends; braces within it, as in ${name}, hold it together."""
    depth = 0
    for place in range(at, len(value)):
        depth += (value[place] == "{") - (value[place] == "}")
        if depth <= 0 and value[place] in _BETWEEN:
            return place
    return len(value)
