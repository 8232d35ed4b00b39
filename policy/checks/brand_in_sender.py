"""The domain in From, or in Reply-To, has a well-known firm's name in it and is not of that
firm.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-in-sender"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the domain: amazon-urgent.example."""
    message = context.message
    for box in (message.from_, *message.reply_to):
        if box is not None and box.domain:
            brand = context.brands.borrowed(box.domain)
            if brand is not None:
                return Finding(SLUG, quoted(f"{brand.name} in {box.domain}", 160))
    return None
