"""The name in From is in capitals, and longer than an abbreviation."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "from-name-shouts"

LOOKED_AT: Final = 100  # characters of a name
MIN_LETTERS: Final = 7
MIN_WORDS: Final = 2  # DEUTSCHE BAHN shouts, UNICEF and YOUTUBE are called so


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the name. Letters without case, as those of Chinese, can't shout; a
    name that is an address does not.
    """
    box = context.message.from_
    if box is None or "@" in box.name:
        return None
    name = box.name[:LOOKED_AT]
    if (
        not name.isupper()
        or sum(map(str.isalpha, name)) < MIN_LETTERS
        or len(name.split()) < MIN_WORDS
    ):
        return None
    return Finding(SLUG, quoted(name, LOOKED_AT))
