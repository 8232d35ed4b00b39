"""The name that the reader sees in From is an address of another domain than the one that really
stands there.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.domains import registrable
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "foreign-display-name"

_ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@((?:[\w-]{1,63}\.){1,8}[a-z]{2,24})\b", re.IGNORECASE)


def check(context: CheckContext) -> Finding | None:
    """Return a finding when the display name holds an address under another registrable domain.

    Mailing lists rewrite From for DMARC's sake ("ann@a.example via List" <list@b.example>); a
    List-Id says so and is believed.
    """
    sender = context.message.from_
    if sender is None or "@" not in sender.name or context.message.get("list-id") is not None:
        return None
    shown = _ADDRESS.search(sender.name[:500])
    if shown is None or registrable(shown[1].lower()) == registrable(sender.domain):
        return None
    return Finding(SLUG, quoted(f"{shown[0]} is {sender.address}", 120))
