"""The Date lies days before the time at which a server took the message."""

from __future__ import annotations

from email.utils import mktime_tz, parsedate_tz
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "stale-date"

LATE_S: Final = 2 * 86_400  # queues mostly give a message up, or through, within two days
LOOKED_AT: Final = 100  # characters behind the last semicolon of Received


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the days between Date and the newest Received.

    Both stand in the message: one that is judged again years later, from a mailbox, is as stale as
    it was. Where no server before us wrote Received nothing is said.

    Source: RFC 5321 section 4.4 (the time stamp of Received).
    """
    message = context.message
    received = message.get("received")
    if received is None or message.date is None:
        return None
    try:
        stamp = parsedate_tz(received.rpartition(";")[2][:LOOKED_AT].strip())
        late = mktime_tz(stamp) - message.date if stamp else 0.0
    except (
        ValueError,
        OverflowError,
        IndexError,
        TypeError,
    ):  # what the parser of the standard library raises on dates beyond calendars
        return None
    return Finding(SLUG, f"{late / 86_400:.0f} days") if late > LATE_S else None
