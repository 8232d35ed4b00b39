"""A link leads to a port of its host where no public web site is."""

from __future__ import annotations

import re
from typing import Final

from oborona.message.model import EntityLocation
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "odd-port"

# 8080 and 8443 are what application servers have in offices; 2083, 2087 and 2096 a hosting panel's
USUAL: Final = frozenset(
    {"80", "443", "8080", "8443", "8000", "8008", "8081", "8888", "3000", "2083", "2087", "2096"}
)
_PORT: Final = re.compile(r"https?://[^/?#]*?:([0-9]{1,5})(?:[/?#]|\Z)")


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link that a reader may follow; hosts without a dot are
    of the house.
    """
    for link in context.message.links:
        if link.place is EntityLocation.PICTURE or "." not in link.host:
            continue
        port = _PORT.match(link.url)
        if port is not None and port[1] not in USUAL:
            return Finding(SLUG, quoted(f"{link.host}:{port[1]}", 120))
    return None
