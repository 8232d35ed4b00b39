"""The domain in From, or a link's, is a well-known firm's name in letters that look alike, or with
two letters that changed places.
"""

from __future__ import annotations

from typing import Final

from oborona.domains import MAX_HOST
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-misspelt"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such host: paypa1.example, arnazon.example."""
    message = context.message
    hosts = dict.fromkeys((*message.from_domains, *(link.host for link in message.links)))
    for host in hosts:
        if len(host) > MAX_HOST:
            continue
        brand = context.brands.misspelt(host)
        if brand is not None:
            return Finding(SLUG, quoted(f"{brand.name} in {host}", 160))
    return None
