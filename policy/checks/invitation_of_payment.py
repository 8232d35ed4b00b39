"""The message asks to accept an event, names a sum of money, and no place to meet on the net."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.invitation import invites
from oborona.policy.checks.text_of_money import SUM
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "invitation-of-payment"

LOOKED_AT: Final = 8192  # characters of the text

_MEETING: Final = frozenset(
    {
        "bigbluebutton.org",
        "gotomeeting.com",
        "jit.si",
        "live.com",
        "microsoft.com",
        "ringcentral.com",
        "webex.com",
        "whereby.com",
        "zoom.us",
        "zoomgov.com",
    }
)
_MEETING_HOSTS: Final = frozenset({"meet.google.com", "telemost.yandex.ru", "chime.aws"})


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the sum: a bill that a calendar shows."""
    message = context.message
    if not invites(message):
        return None
    if any(link.domain in _MEETING or link.host in _MEETING_HOSTS for link in message.links):
        return None
    named = SUM.search(message.subject) or SUM.search(message.text[:LOOKED_AT])
    return Finding(SLUG, quoted(named[0].rstrip(".,"), 40)) if named is not None else None
