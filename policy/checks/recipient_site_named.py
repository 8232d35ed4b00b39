"""The recipient's own domain stands in the subject or in a link's host, and neither the sender nor
the link is of it.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.domains import registrable
from oborona.message.model import MessageLink
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "recipient-site-named"

LOOKED_AT: Final = 500  # characters of a subject
MIN_LABEL: Final = 5  # letters of a firm's name in hosts: shorter ones stand in other words


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the domain and where it stands: "Your mailbox at example.com is full",
    example-com.login.example.  Under another suffix the same name is mostly the same firm's.
    """
    message = context.message
    if len(context.envelope.recipients) != 1 or message.from_ is None:
        return None
    own = registrable(context.envelope.recipients[0].rpartition("@")[2].lower())
    site = context.author_site
    if "." not in own or own == site:
        return None
    subject = message.subject[:LOOKED_AT].lower()
    if own in subject and re.search(rf"(?<![\w.-]){re.escape(own)}(?![\w-])", subject):
        return Finding(SLUG, quoted(f"{own} in the subject", 160))
    label, _, _ = own.partition(".")
    if len(label) < MIN_LABEL:
        return None
    for link in message.links:
        if link.domain in (own, site) or label not in link.host:
            continue
        if link.domain.partition(".")[0] != label and _labelled(label, _without_suffix(link)):
            return Finding(SLUG, quoted(f"{label} in {link.host}", 160))
    return None


def _without_suffix(link: MessageLink) -> str:
    """Return a link's host but for what anybody may have behind his own name."""
    return link.host.removesuffix("." + link.domain.partition(".")[2])


def _labelled(label: str, host: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){re.escape(label)}(?![a-z0-9])", host) is not None
