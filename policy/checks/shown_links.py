"""Links that show one site's address and lead to another: which of the two is whose decides what it
means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from oborona.domains import registrable
from oborona.message import links
from oborona.message.model import EntityLocation, Message
from oborona.message.redirects import is_service, targets

# The whole shown text is one address: "see example.org" inside a sentence promises nothing about
# where it leads.
_SHOWN: Final = re.compile(
    r"\s*(?:https?://)?(?:[\w-]{1,63}@)?((?:[\w-]{1,63}\.){1,8}[a-z]{2,24})(?::\d{1,5})?(?:[/?#]\S*)?\s*",
    re.IGNORECASE,
)


COUNTED: Final = 5  # links of a mailing that lead to one host: newsletters have twenty
MIN_NAME: Final = 6  # characters that two companies do not share by chance
_TRADES: Final = re.compile(r"com|net|org|[a-z]{2}|(?:com?|net|org)\.[a-z]{2}")


class MismatchedLink(NamedTuple):
    """A link that shows another site than the one it leads to."""

    shown: str  # host
    shows: str  # its registrable domain
    host: str
    domain: str

    def __str__(self) -> str:
        return f"shows {self.shown} leads to {self.host}"


def sender_domains(message: Message) -> frozenset[str]:
    """Return the registrable domains of From and Reply-To."""
    return frozenset(
        registrable(box.domain) for box in (message.from_, *message.reply_to) if box is not None
    )


def _one_owner(shown: str, domain: str) -> bool:
    """Tell whether two registrable domains differ in nothing but where a company trades: shop.co.za
    and shop.com.

    Under the oldest suffixes and those of countries alone: a name that somebody has is free under
    the hundreds of new ones for who wants to look like him. A short name is anybody's. Whose
    domains are known is held to these (`link-shows-brand`).
    """
    name, _, ending = domain.partition(".")
    shown_name, _, shown_ending = shown.partition(".")
    return (
        name == shown_name
        and len(name) >= MIN_NAME
        and all(map(_TRADES.fullmatch, (ending, shown_ending)))
    )


def _inside(shown: str, domain: str) -> frozenset[str]:
    """Return the registrable domains of what a redirector's address that is shown leads to."""
    url = links.normal(shown)
    hosts = (links.normal(target) for target in targets(url[0], domain)) if url is not None else ()
    return frozenset(registrable(host[1]) for host in hosts if host is not None)


def click_counter(message: Message, domain: str) -> bool:
    """Tell whether a mailing leads its readers through one host, whatever its links show: through
    its mailer's, which counts clicks.

    One says how to leave it (List-Unsubscribe) and has most of its many links there, each of its
    own: bait has one or two.
    """
    if not any(header.name == "list-unsubscribe" for header in message.headers):
        return False
    followed = {
        link.url: link.domain
        for link in message.links
        if link.place is EntityLocation.ANCHOR and not link.through
    }
    times = list(followed.values()).count(domain)
    return times >= COUNTED and times * 2 >= len(followed)


def mismatched_links(message: Message, *, namesakes: bool = False) -> Iterator[MismatchedLink]:
    """Yield the links whose shown host and real host lie under different registrable domains.

    Through a well-known redirector the reader comes out at the link inside: that one is compared.

    Args:
        message: the message.
        namesakes: also those where the two differ in nothing but where a company trades.
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
        if (
            not domain
            or domain == link.domain
            or (not namesakes and _one_owner(domain, link.domain))
        ):
            continue
        if is_service(domain) and link.domain in _inside(link.shown.strip(), domain):
            # a gateway's address, undone on the way by a list or a reader's own gateway, but not in
            # what is shown
            continue
        if passed is None:
            passed = {link.through for link in message.links if link.through}
        if link.url not in passed or not is_service(link.domain):
            yield MismatchedLink(host, domain, link.host, link.domain)
