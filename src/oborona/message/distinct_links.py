"""Where a message leads: links and e-mail addresses of its pages and its text, each once, in
order.
"""

from __future__ import annotations

from itertools import islice
from urllib.parse import urljoin

from oborona.message import links as forms
from oborona.message import redirects
from oborona.message.findings import Findings
from oborona.message.hypertext import HtmlPage
from oborona.message.limits import ParserLimits
from oborona.message.model import EntityLocation, MessageLink


def links(
    pages: list[HtmlPage],
    written: list[str],
    limits: ParserLimits,
    findings: Findings,
    place: EntityLocation = EntityLocation.TEXT,
) -> tuple[MessageLink, ...]:
    """Return the distinct links of pages and texts, those to follow first when there are too many.

    Then those inside them.

    Args:
        pages: of HTML.
        written: URLs in the text.
        limits: of the message.
        findings: gets links-too-many.
        place: where what is written stands.

    """
    direct: dict[tuple[str, str, EntityLocation], MessageLink] = {}
    hidden: dict[tuple[str, str, EntityLocation], MessageLink] = {}

    def add(link: MessageLink | None) -> None:
        if link is None:
            return
        direct.setdefault((link.url, link.shown, link.place), link)
        for target in redirects.targets(link.url, link.domain):
            inner = forms.link(target, link.shown, link.place, link.url)
            if inner is not None:
                hidden.setdefault((inner.url, inner.shown, inner.place), inner)

    for page in pages:
        for target in page.targets:
            url = target.url
            if page.base and ":" not in url[:10]:
                url = _join(page.base, url)
            add(forms.link(url, target.shown, target.place))
    # The address that a link shows is no second link, whether it tells the truth or not.
    shown = "\n".join(target.shown for page in pages for target in page.targets)
    for url in written:
        if shown and url.removeprefix("http://") in shown:
            continue
        add(forms.link(url, "", place))
    if len(direct) > limits.links:
        findings.add("links-too-many", str(len(direct)))
    inside = (link for key, link in hidden.items() if key not in direct)
    return (*islice(direct.values(), limits.links), *islice(inside, limits.links))


def _join(base: str, url: str) -> str:
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def addresses(
    linked: list[str], disguised: list[str], pages: list[HtmlPage], limits: ParserLimits
) -> tuple[str, ...]:
    """Return the distinct e-mail addresses of pages and texts, lower case, at most
    `ParserLimits.addresses`.

    Args:
        linked: words of the text that can be an address.
        disguised: addresses that were written for people alone.
        pages: whose mailto: links are read.
        limits: of the message.

    """
    mailboxes = dict.fromkeys(forms.addresses(linked, limits.addresses))
    mailboxes.update(dict.fromkeys(disguised))
    for page in pages:
        for target in page.targets:
            if target.url[:7].lower() == "mailto:" and (address := forms.mail_address(target.url)):
                mailboxes[address] = None
    return tuple(mailboxes)[: limits.addresses]
