"""The text ends in letters drawn by lot, so that no two copies are the same."""

from __future__ import annotations

import re
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "text-tail"

LOOKED_AT: Final = 2000  # characters of the text from its end
_TOKEN: Final = re.compile(r"[A-Za-z0-9]{8,80}")
_TURNS: Final = re.compile(r"[a-z][A-Z0-9]|[0-9][A-Za-z]")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the last line, where it is one word that nobody says: five consonants
    in a row, or three turns between kinds of letters.

    A line of an encoded file, of a signature in ASCII or of a checksum is longer, or stands among
    others like it: the line above it must have words.
    """
    lines = [line.strip() for line in context.message.text[-LOOKED_AT:].splitlines()]
    lines = [line for line in lines if line]
    if len(lines) < 2 or " " not in lines[-2] or _TOKEN.fullmatch(lines[-1]) is None:
        return None
    last = lines[-1]
    if _CONSONANTS.search(last) is None and len(_TURNS.findall(last)) < 3:
        return None
    return Finding(SLUG, quoted(last, 60))
