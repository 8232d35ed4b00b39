"""The name in From is a well-known firm's, the address is not, and there are links, none of which
leads to that firm.
"""

from __future__ import annotations

from typing import Final

from oborona.message.model import EntityLocation
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-unlinked"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first link's host; pictures that are fetched from the firm lead
    nowhere, and codes do.

    A firm that writes from a domain that no table knows links to its own site all the same.
    """
    borrowed = context.borrowed_name() if context.message.links else None
    if borrowed is None:
        return None
    box, brand = borrowed
    hosts = [
        link.host for link in context.message.links if link.place is not EntityLocation.PICTURE
    ]
    if not hosts or any(brand.owns(host) for host in hosts):
        return None
    return Finding(SLUG, quoted(f"{brand.name} by {box.domain}, links to {hosts[0]}", 160))
