"""A link leads to a host with a well-known firm's name in it that is not of that firm."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-in-host"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such host: santander-verify.example,
    paypal.com.login.example.
    """
    called: set[str] = set()
    for link in context.message.links:
        if link.host in called:
            continue
        called.add(link.host)
        brand = context.brands.borrowed(link.host)
        if brand is not None:
            return Finding(SLUG, quoted(f"{brand.name} in {link.host}", 160))
    return None
