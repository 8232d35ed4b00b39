"""The name in From is a well-known firm's, and the address is not of that firm."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-in-name"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with name and address; whose the names and domains are stands in the
    `[[brand]]` tables of the policy.
    """
    borrowed = context.borrowed_name()
    if borrowed is None:
        return None
    box, _ = borrowed
    return Finding(SLUG, quoted(f"{box.name} <{box.address}>", 160))
