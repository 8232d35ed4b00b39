"""A link says how to be taken off a list, and the header does not: mass mail that does not want to
be known for such.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.model import EntityLocation
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "unlisted-way-out"

LOOKED_AT: Final = 300  # characters of an address, from its end and of what is shown
_OUT: Final = re.compile(
    r"unsub|opt-?_?out|remove[-_.]?(?:me|form|list|page|link|\b)|/rem(?:ove)?\b|takemeoff|nomore|desabonn|desinscri|abmeld|austrag|abbestell|otpis",
    re.IGNORECASE,
)
_WORDS: Final = (
    "unsub", "optout", "opt-out", "opt_out", "remove", "/rem", "takemeoff", "nomore", "desabonn", "desinscri", "abmeld", "austrag", "abbestell", "otpis",
)  # fmt: skip
"""One of them is in whatever `_OUT` finds."""


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link, or such an e-mail address.

    Senders of much mail must say so in List-Unsubscribe, or the large mailbox providers do not take
    it.

    Source: RFC 2369, RFC 8058.
    """
    message = context.message
    if message.get("list-unsubscribe") is not None or message.get("list-id") is not None:
        return None
    links = [link for link in message.links if link.place is not EntityLocation.PICTURE]
    shown = [text for link in links for text in (link.url[-LOOKED_AT:], link.shown[:LOOKED_AT])]
    together = "\n".join([*shown, *message.addresses]).lower()
    if together.isascii() and not any(word in together for word in _WORDS):  # as in most letters
        return None
    for link in links:
        if _OUT.search(link.url[-LOOKED_AT:]) or _OUT.search(link.shown[:LOOKED_AT]):
            return Finding(SLUG, quoted(link.url, 120))
    for address in message.addresses:
        if _OUT.search(address):
            return Finding(SLUG, quoted(address, 120))
    return None
