"""A link shows an address below the domain in From and leads to another domain, such as a mailer's
that counts clicks.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.shown_links import mismatched_links, sender_domains
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-leaves-sender"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link."""
    for link in mismatched_links(context.message):
        if link.shows in sender_domains(context.message):
            return Finding(SLUG, quoted(str(link), 160))
    return None
