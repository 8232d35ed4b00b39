"""The subject names a well-known firm; neither From nor any link is of that firm."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-in-subject"
LOOKED_AT: Final = 200  # characters of a subject


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such brand; a message without links has none, and is a letter
    about a firm.
    """
    message = context.message
    if message.from_ is None or not message.links:
        return None
    for brand in context.brands.mentioned(message.subject[:LOOKED_AT]):
        if not brand.owns(message.from_.domain) and not any(
            brand.owns(link.host) for link in message.links
        ):
            return Finding(SLUG, quoted(f"{brand.name} by {message.from_.domain}", 160))
    return None
