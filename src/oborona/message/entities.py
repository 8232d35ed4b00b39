"""What a message names that means something outside it: telephones, wallets, handles, and the
mailing list it is of.

Text and subject are searched in what a reader sees, links in where they lead. Links and e-mail
addresses are entities too; they have more to say, and stand in `Message.links` and
`Message.addresses`.
"""

from __future__ import annotations

import re
from enum import IntFlag
from typing import Final

import re2

from oborona.message import defanged_links, handles, links, path_templates, phones, wallets
from oborona.message.core import Hints
from oborona.message.findings import Findings, quoted
from oborona.message.hypertext import HtmlPage
from oborona.message.model import EntityKind, EntityLocation, HeaderField, MessageLink, NamedEntity
from oborona.message.normalise import normalise

MAX_WAYS: Final = 4  # to leave a list that are read
MAX_HEADER: Final = 2000  # characters of a field that are searched
MAX_HEADERS: Final = 8000  # of all subjects and senders together: honest mail has one of each

# Few passes over the text instead of one for each kind: most messages hold none of them. One for
# all would cost three times as much: what counts letters and what counts digits side by side has
# states without end.
_HINTS: Final = tuple(
    re2.compile(hint.encode())
    for hint in (
        f"{phones.WORDS_HINT}|{handles.HINT}|{defanged_links.HINT}",
        phones.HINT,
        wallets.HINT,
    )
)
# The same in one pass, where the native core was built.
_NATIVE: Final = (
    None
    if Hints is None
    else Hints(
        *(
            [word.encode() for word in words]
            for words in (
                phones.SPELLED,
                handles.WORDS,
                defanged_links.MARKS,
                defanged_links.BRACKETED,
            )
        )
    )
)
_DIALS: Final = frozenset({"tel", "sms", "callto"})
_PAYS: Final = frozenset(
    {"bitcoin", "bitcoincash", "litecoin", "dogecoin", "dash", "ethereum", "tron", "monero", "ton"}
)
_LIST_ID: Final = re.compile(r"<([^<>\s]{1,255})>\s*\Z")
_IN_BRACKETS: Final = re.compile(r"<([^<>]{1,2000})>")


class Hint(IntFlag):
    """What a text may hold."""

    # The native core has these numbers once more (core/text_hints.c).
    DISGUISE = 1  # a link or an address written for people alone
    NAME = 2  # a handle
    SPELLED = 4  # words for digits beside each other
    SPELLED_NUMBER = 8  # so many that they are a number
    DIALLED = 16  # a number of a stated country, in digits
    TOKEN = 32  # a wallet


DISGUISE: Final = int(Hint.DISGUISE)  # a plain number: a flag's operators are Python's
_ALL: Final = sum(Hint)
_A_PHONE: Final = int(Hint.SPELLED_NUMBER | Hint.DIALLED)
_A_NAME: Final = int(Hint.NAME)


def hints(normal: str) -> int:
    """Return which `Hint`s a text gives; without the native core all of them, or none.

    Args:
        normal: the text, `normalise`d.
    """
    if _NATIVE is not None:
        return _NATIVE.held(normal)
    octets = normal.encode("utf-8", "surrogatepass")
    return _ALL if any(hint.search(octets) is not None for hint in _HINTS) else 0


def read(
    text: str,
    normal: str,
    headers: tuple[HeaderField, ...],
    pages: list[HtmlPage],
    found_links: tuple[MessageLink, ...],
    regions: tuple[str, ...],
    findings: Findings,
    *,
    hinted: int,
) -> tuple[NamedEntity, ...]:
    """Return the distinct entities of a message, in the order: text, links, headers.

    Args:
        text: what a reader sees.
        normal: the same, `normalise`d.
        headers: of the message.
        pages: its HTML.
        found_links: its links.
        regions: whose telephone numbers may stand without their country, as ISO 3166 codes.
        findings: keeps count of what the message has cost.
        hinted: the `hints` of the text.
    """
    gathered = _EntityCollector()
    gathered.text(text, normal, EntityLocation.TEXT, regions, findings, hinted=hinted)
    for page in pages:
        for target in page.targets:
            gathered.target(target.url, target.place, findings)
    for link in found_links:
        gathered.link(link, findings)
    lines: list[str] = []
    for header in headers:
        if header.name in {"subject", "from"}:
            lines.append(header.value[:MAX_HEADER])
        elif header.name == "list-id":
            gathered.list_id(header.value[-MAX_HEADER:])
        elif header.name == "list-unsubscribe":
            gathered.unsubscribe(header.value[:MAX_HEADER])
    head = "\n".join(lines)[:MAX_HEADERS]
    normal = normalise(head)
    gathered.text(head, normal, EntityLocation.HEADER, regions, findings, hinted=hints(normal))
    return tuple(gathered.found.values())


class _EntityCollector:
    def __init__(self) -> None:
        self.found: dict[tuple[EntityKind, str, EntityLocation], NamedEntity] = {}

    def add(self, kind: EntityKind, value: str, raw: str, place: EntityLocation) -> None:
        if value:
            self.found.setdefault(
                (kind, value, place), NamedEntity(kind, value, quoted(raw), place)
            )

    def text(
        self,
        text: str,
        normal: str,
        place: EntityLocation,
        regions: tuple[str, ...],
        findings: Findings,
        *,
        hinted: int,
    ) -> None:
        if regions or hinted & _A_PHONE:
            for value, raw in phones.in_text(normal, regions, findings):
                self.add(EntityKind.PHONE, value, raw, place)
        if hinted:
            for value, raw in wallets.in_text(text, findings):
                self.add(EntityKind.WALLET, value, raw, place)
        if hinted & _A_NAME:
            for value, raw in handles.in_text(normal):
                self.handle(value, raw, place, findings)

    def handle(self, value: str, raw: str, place: EntityLocation, findings: Findings) -> None:
        self.add(EntityKind.HANDLE, value, raw, place)
        number = handles.phone(value)
        if number:
            self.add(EntityKind.PHONE, phones.of_link(number, findings), raw, place)

    def target(self, url: str, place: EntityLocation, findings: Findings) -> None:
        """Look at a link that leads nowhere on the web."""
        scheme, colon, rest = url.strip()[:200].partition(":")
        scheme = scheme.lower()
        if not colon or scheme in ("http", "https", "mailto"):
            return
        if scheme in _DIALS:
            self.add(EntityKind.PHONE, phones.of_link(rest, findings), url, place)
        elif scheme in _PAYS:
            for value, _ in wallets.in_text(f"{scheme} wallet {rest}", findings):
                self.add(EntityKind.WALLET, value, url, place)
        else:
            value = handles.of_scheme(url)
            if value:
                self.handle(value, url, place, findings)

    def link(self, link: MessageLink, findings: Findings) -> None:
        value = handles.of_link(link.url, link.host)
        if value:
            self.handle(value, link.url, link.place, findings)

    def list_id(self, value: str) -> None:
        """Take the identifier of a list, without the words before it. Source: RFC 2919 s3."""
        match = _LIST_ID.search(value)
        self.add(EntityKind.LIST, (match[1] if match else "").lower(), value, EntityLocation.HEADER)

    def unsubscribe(self, value: str) -> None:
        """Take where a list is left, without what tells one reader from another.

        Source: RFC 2369 s3.2.
        """
        for url in _IN_BRACKETS.findall(value)[:MAX_WAYS]:
            address = links.mail_address(url)
            if address:
                name, _, domain = address.partition("@")
                self.add(
                    EntityKind.UNSUBSCRIBE,
                    f"{path_templates.generalise(name)}@{domain}",
                    url,
                    EntityLocation.HEADER,
                )
                continue
            link = links.link(url, "", EntityLocation.HEADER)
            if link is not None:
                where = path_templates.template(link.url, link.host, link.domain)
                self.add(EntityKind.UNSUBSCRIBE, where, url, EntityLocation.HEADER)
