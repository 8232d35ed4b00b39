"""Small l stands for capital I in words that are in capitals: VlAGRA."""

from __future__ import annotations

import re
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "capitals-imitated"

LOOKED_AT: Final = 20_000  # characters of the text
_WORD: Final = re.compile(r"(?<![^\W_])(?=[A-Z]*l[A-Z])(?:[A-Z]|l(?!l)){5,20}(?![^\W_])")
_MIN_CAPITALS: Final = 4
_BEFORE_CAPITAL: Final = re.compile(r"l[A-Z]")  # is in all such words, and found ten times sooner


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such word. Plurals of abbreviations (URLs, XMLs) and words
    that end in l have no capital behind it.
    """
    message = context.message
    for text in (message.subject, message.text[:LOOKED_AT]):
        if _BEFORE_CAPITAL.search(text) is None:
            continue
        for word in _WORD.finditer(text):
            if sum(map(str.isupper, word[0])) >= _MIN_CAPITALS and not word[0].endswith("l"):
                return Finding(SLUG, quoted(word[0], 40))
    return None
