"""What was found in pictures, put into their message: where their codes lead, and what their text
names; the same of PDFs.

What a code holds is read as a link is, and as a text; what is drawn, as any text, after what OCR
confuses was mended. Each link and entity says where it stood: `EntityLocation.CODE`,
`EntityLocation.DRAWN`. Putting in what was found before changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.message import defanged_links, distinct_links, entities, links
from oborona.message.findings import Findings
from oborona.message.hypertext import HtmlPage, LinkTarget
from oborona.message.limits import DEFAULT
from oborona.message.model import EntityLocation, Message, MessageLink, NamedEntity, Picture
from oborona.message.normalise import normalise
from oborona.message.pictures.ocr_confusions import correct_text

OF_PICTURES = frozenset({EntityLocation.CODE, EntityLocation.DRAWN, EntityLocation.DOCUMENT})
"""Places that are in what is looked at: pictures and documents"""

PAPER: Final = "pdf"
"""Kind of the documents among what was looked at"""


def enrich_message(
    message: Message, pictures: Sequence[Picture], regions: tuple[str, ...] = ()
) -> Message:
    """Return a message with its pictures as they were looked at and read, and with what they lead
    to and name.

    Args:
        message: parsed.
        pictures: of it, in their order, and its documents, or none of these: those not looked at as
            they were.
        regions: whose telephone numbers may stand without their country, as ISO 3166 codes in upper
            case.

    """
    documents = tuple(one for one in pictures if one.kind == PAPER) or message.documents
    pictures = tuple(one for one in pictures if one.kind != PAPER)
    if not any(one.codes or one.text for one in (*pictures, *documents)):
        return msgspec.structs.replace(message, pictures=pictures, documents=documents)
    findings = Findings()  # counts what this costs
    found = [
        *(_of_code(code, regions, findings) for picture in pictures for code in picture.codes),
        *(_of_text(picture.text, regions, findings) for picture in pictures if picture.text),
        *(_of_document(one, regions, findings) for one in documents if one.codes or one.text),
    ]
    said = {(link.url, link.place): link for links_, _, _ in found for link in links_}
    named = {(each.kind, each.value, each.place): each for _, _, named_ in found for each in named_}
    addresses = dict.fromkeys(message.addresses)
    addresses.update((address, None) for _, addresses_, _ in found for address in addresses_)
    return msgspec.structs.replace(
        message,
        pictures=pictures,
        documents=documents,
        links=(*(link for link in message.links if link.place not in OF_PICTURES), *said.values()),
        addresses=tuple(addresses),
        entities=(
            *(each for each in message.entities if each.place not in OF_PICTURES),
            *named.values(),
        ),
    )


_Found = tuple[tuple[MessageLink, ...], Sequence[str], tuple[NamedEntity, ...]]


def _of_code(payload: str, regions: tuple[str, ...], findings: Findings) -> _Found:
    """Return links, addresses and entities of a code: of itself, where it is a link, and of what it
    holds as text (vCard, payment).
    """
    page = HtmlPage(targets=(LinkTarget(payload, "", EntityLocation.CODE),))
    words = payload.replace(";", " ").replace("|", " ").split()
    written = (
        []
        if links.link(payload, "", EntityLocation.CODE) is not None
        else links.in_text(words, DEFAULT.links)
    )
    found = distinct_links.links([page], written, DEFAULT, findings, EntityLocation.CODE)
    dotted = [] if found else [word.rpartition(":")[2] for word in words if "@" in word]
    addresses = distinct_links.addresses(dotted, [], [page], DEFAULT)
    text = " ".join(words) if not found else ""
    return found, addresses, _entities(text, [page], found, EntityLocation.CODE, regions, findings)


def _of_text(text: str, regions: tuple[str, ...], findings: Findings) -> _Found:
    """Return links, addresses and entities of a text that was drawn."""
    text = correct_text(text)
    normal = normalise(text)
    urls, disguised = defanged_links.read(normal, DEFAULT.links)
    dotted = [word for word in text.split() if "." in word]
    found = distinct_links.links(
        [], [*links.in_text(dotted, DEFAULT.links), *urls], DEFAULT, findings, EntityLocation.DRAWN
    )
    addresses = distinct_links.addresses(dotted, disguised, [], DEFAULT)
    return found, addresses, _entities(text, [], found, EntityLocation.DRAWN, regions, findings)


def _of_document(document: Picture, regions: tuple[str, ...], findings: Findings) -> _Found:
    """Return links, addresses and entities of a PDF: of its links, and of its text."""
    page = HtmlPage(
        targets=tuple(LinkTarget(url, "", EntityLocation.DOCUMENT) for url in document.codes)
    )
    normal = normalise(document.text)
    urls, disguised = defanged_links.read(normal, DEFAULT.links)
    dotted = [word for word in document.text.split() if "." in word]
    written = [*links.in_text(dotted, DEFAULT.links), *urls]
    found = distinct_links.links([page], written, DEFAULT, findings, EntityLocation.DOCUMENT)
    addresses = distinct_links.addresses(dotted, disguised, [page], DEFAULT)
    return (
        found,
        addresses,
        _entities(document.text, [page], found, EntityLocation.DOCUMENT, regions, findings),
    )


def _entities(
    text: str,
    pages: list[HtmlPage],
    found: tuple[MessageLink, ...],
    place: EntityLocation,
    regions: tuple[str, ...],
    findings: Findings,
) -> tuple[NamedEntity, ...]:
    normal = normalise(text)
    named = entities.read(
        text, normal, (), pages, found, regions, findings, hinted=entities.may_hold(normal)
    )
    return tuple(msgspec.structs.replace(each, place=place) for each in named)
