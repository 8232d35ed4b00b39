"""A link shows an address of a well-known firm and leads elsewhere."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.shown_links import mismatched_links
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-shows-brand"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link; the firm's own letters, and links to another of
    its domains, are none.
    """
    sender = context.message.from_.domain if context.message.from_ else ""
    for link in mismatched_links(context.message, namesakes=True):
        brand = context.brands.owner(link.shows)
        if (
            brand is not None
            and not brand.owns(link.host)
            and not (sender and brand.writes_from(sender))
        ):
            return Finding(SLUG, quoted(str(link), 160))
    return None
