"""A link shows another site's address and leads to the domain in From."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.shown_links import mismatched_links, sender_domains
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-through-sender"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link: clicks counted by the sender himself, or his copy
    of what it shows.
    """
    for link in mismatched_links(context.message):
        if link.domain in sender_domains(context.message):
            return Finding(SLUG, quoted(str(link), 160))
    return None
