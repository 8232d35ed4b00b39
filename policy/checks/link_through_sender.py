"""A link shows another site's address and leads to the domain in From."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import Context
from oborona.policy.checks.shown_links import home, shown_elsewhere
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-through-sender"


def check(context: Context) -> Finding | None:
    """Return a finding with the first such link: clicks counted by the sender himself, or his copy
    of what it shows.
    """
    for link in shown_elsewhere(context.message):
        if link.domain in home(context.message):
            return Finding(SLUG, quoted(str(link), 160))
    return None
