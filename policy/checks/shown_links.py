"""Links that show one site's address and lead to another: which of the two is whose decides what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from oborona.domains import registrable
from oborona.message.model import Message
from oborona.message.redirects import is_service

# The whole shown text is one address: "see example.org" inside a sentence promises nothing about where it leads.
_SHOWN: Final = re.compile(
    r"\s*(?:https?://)?(?:[\w-]{1,63}@)?((?:[\w-]{1,63}\.){1,8}[a-z]{2,24})(?::\d{1,5})?(?:[/?#]\S*)?\s*",
    re.IGNORECASE,
)


class ShownElsewhere(NamedTuple):
    """A link that shows another site than the one it leads to."""

    shown: str  # host
    shows: str  # its registrable domain
    host: str
    domain: str

    def __str__(self) -> str:
        return f"shows {self.shown} leads to {self.host}"


def home(message: Message) -> frozenset[str]:
    """Return the registrable domains of From and Reply-To."""
    return frozenset(registrable(box.domain) for box in (message.from_, *message.reply_to) if box is not None)


def shown_elsewhere(message: Message) -> Iterator[ShownElsewhere]:
    """Yield the links whose shown host and real host lie under different registrable domains.

    Through a well-known redirector the reader comes out at the link inside: that one is compared.
    """
    passed: set[str] | None = None
    for link in message.links:
        if not link.domain or "." not in link.shown:
            continue
        shown = _SHOWN.fullmatch(link.shown[:300])
        if shown is None:
            continue
        host = shown[1].lower()
        domain = registrable(host)
        if not domain or domain == link.domain:
            continue
        if passed is None:
            passed = {one.through for one in message.links if one.through}
        if link.url not in passed or not is_service(link.domain):
            yield ShownElsewhere(host, domain, link.host, link.domain)
