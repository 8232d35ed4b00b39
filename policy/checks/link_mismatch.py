"""A link shows one site's address and leads to another."""

from __future__ import annotations

import re
from typing import Final

from oborona.domains import registrable
from oborona.message.redirects import is_service
from oborona.policy.checks.context import Context
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-mismatch"

# The whole shown text is one address: "see example.org" inside a sentence promises nothing about where it leads.
_SHOWN: Final = re.compile(
    r"\s*(?:https?://)?(?:[\w-]{1,63}@)?((?:[\w-]{1,63}\.){1,8}[a-z]{2,24})(?::\d{1,5})?(?:[/?#]\S*)?\s*",
    re.IGNORECASE,
)


def check(context: Context) -> Finding | None:
    """Return a finding with the first link whose shown host and real host lie under different registrable domains.

    Newsletters that count clicks send all their links through one host of their own or of their mailer: a link that stays under the
    domain of From is no mismatch. Through a well-known redirector the reader comes out at the link inside: that one is compared.
    """
    message = context.message
    home = {registrable(box.domain) for box in (message.from_, *message.reply_to) if box is not None}
    passed = {link.through for link in message.links if link.through}
    for link in message.links:
        if not link.shown or not link.domain or link.domain in home:
            continue
        if link.url in passed and is_service(link.domain):
            continue
        shown = _SHOWN.fullmatch(link.shown[:300])
        if shown is None:
            continue
        domain = registrable(shown[1].lower())
        if domain and domain != link.domain:
            return Finding(SLUG, quoted(f"shows {shown[1].lower()} leads to {link.host}", 160))
    return None
