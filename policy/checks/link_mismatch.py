"""A link shows one site's address and leads to another; neither is of the domain in From."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.shown_links import click_counter, mismatched_links, sender_domains
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-mismatch"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link.

    Newsletters count clicks: all their links lead through one host, of their own
    (`link-through-sender`) or of their mailer, where what they show is often their own site
    (`link-leaves-sender`), and otherwise the site of who pays for a place in them.
    """
    for link in mismatched_links(context.message):
        own = sender_domains(context.message)
        if link.shows in own or link.domain in own:
            continue
        if not click_counter(context.message, link.domain):
            return Finding(SLUG, quoted(str(link), 160))
    return None
