"""A link shows an address below the domain in From and leads to another domain, such as a mailer's
that counts clicks.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import Context
from oborona.policy.checks.shown_links import home, shown_elsewhere
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-leaves-sender"


def check(context: Context) -> Finding | None:
    """Return a finding with the first such link."""
    for link in shown_elsewhere(context.message):
        if link.shows in home(context.message):
            return Finding(SLUG, quoted(str(link), 160))
    return None
