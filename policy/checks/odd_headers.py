"""Headers that every mail program writes are missing, doubled, or say what can't be."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "odd-headers"

AHEAD_S: Final = 2 * 86_400  # clocks are wrong by hours and time zones, not by days
ONCE: Final = ("from", "subject", "date", "message-id", "reply-to", "sender", "to", "cc")


def check(context: CheckContext) -> Finding | None:
    """Return a finding that lists what is odd.

    Source: RFC 5322 section 3.6 (Date and From once, the others at most once).
    """
    message = context.message
    names = [header.name for header in message.headers]
    odd = []
    if message.from_ is None or not message.from_.domain:
        odd.append("no From" if "from" not in names else "From without address")
    if "date" not in names:
        odd.append("no Date")
    elif message.date is None:
        odd.append("Date unreadable")
    elif message.date > context.now + AHEAD_S:
        odd.append("Date in the future")
    if "message-id" not in names:
        odd.append("no Message-ID")
    odd.extend(f"{name} {times} times" for name in ONCE if (times := names.count(name)) > 1)
    return Finding(SLUG, ", ".join(odd)) if odd else None
