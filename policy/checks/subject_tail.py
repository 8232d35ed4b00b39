"""The subject ends in letters or digits that stand far behind its words, so that no two copies have
the same.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "subject-tail"

LOOKED_AT: Final = 1000  # characters of a subject from its end
_TAIL: Final = re.compile(r"\S[ \t\u00a0]{5,}\S{1,40}[ \t]*\Z")


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the tail; five spaces are more than a slip of the hand, and no word is
    longer than 40 letters.
    """
    subject = context.message.subject[-LOOKED_AT:]
    if "     " not in subject and "\u00a0" not in subject and "\t" not in subject:
        return None
    tail = _TAIL.search(subject)
    return Finding(SLUG, quoted(tail[0], 60)) if tail else None
