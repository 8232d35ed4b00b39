"""The domain in From, or a link's, is a well-known firm's name in letters that look alike, with
two that changed places, or a long one with one letter wrong.
"""

from __future__ import annotations

from typing import Final

from oborona.domains import MAX_HOST
from oborona.message.homograph import looks_like
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-misspelt"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such host: paypa1.example, arnazon.example."""
    message = context.message
    hosts = dict.fromkeys((*message.from_domains, *(link.host for link in message.links)))
    for host in hosts:
        if len(host) > MAX_HOST or looks_like(host):  # a finding of its own: `homograph-host`
            continue
        brand = context.brands.misspelt(host)
        if brand is not None:
            return Finding(SLUG, quoted(f"{brand.name} in {host}", 160))
    return None
