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
    documents = tuple(page for page in pictures if page.kind == PAPER) or message.documents
    pictures = tuple(page for page in pictures if page.kind != PAPER)
    if not any(picture.codes or picture.text for picture in (*pictures, *documents)):
        return msgspec.structs.replace(message, pictures=pictures, documents=documents)
    findings = Findings()  # counts what this costs
    readings = [
        *(_of_code(code, regions, findings) for picture in pictures for code in picture.codes),
        *(_of_text(picture.text, regions, findings) for picture in pictures if picture.text),
        *(
            _of_document(document, regions, findings)
            for document in documents
            if document.codes or document.text
        ),
    ]
    known_links = {(link.url, link.place): link for links_, _, _ in readings for link in links_}
    named = {
        (entity.kind, entity.value, entity.place): entity
        for _, _, named_ in readings
        for entity in named_
    }
    addresses = dict.fromkeys(message.addresses)
    addresses.update((address, None) for _, addresses_, _ in readings for address in addresses_)
    return msgspec.structs.replace(
        message,
        pictures=pictures,
        documents=documents,
        links=(
            *(link for link in message.links if link.place not in OF_PICTURES),
            *known_links.values(),
        ),
        addresses=tuple(addresses),
        entities=(
            *(entity for entity in message.entities if entity.place not in OF_PICTURES),
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
    page_links = distinct_links.links([page], written, DEFAULT, findings, EntityLocation.CODE)
    dotted = [] if page_links else [word.rpartition(":")[2] for word in words if "@" in word]
    addresses = distinct_links.addresses(dotted, [], [page], DEFAULT)
    text = " ".join(words) if not page_links else ""
    return (
        page_links,
        addresses,
        _entities(text, [page], page_links, EntityLocation.CODE, regions, findings),
    )


def _of_text(text: str, regions: tuple[str, ...], findings: Findings) -> _Found:
    """Return links, addresses and entities of a text that was drawn."""
    text = correct_text(text)
    normal = normalise(text)
    urls, disguised = defanged_links.read(normal, DEFAULT.links)
    dotted = [word for word in text.split() if "." in word]
    page_links = distinct_links.links(
        [], [*links.in_text(dotted, DEFAULT.links), *urls], DEFAULT, findings, EntityLocation.DRAWN
    )
    addresses = distinct_links.addresses(dotted, disguised, [], DEFAULT)
    return (
        page_links,
        addresses,
        _entities(text, [], page_links, EntityLocation.DRAWN, regions, findings),
    )


def _of_document(document: Picture, regions: tuple[str, ...], findings: Findings) -> _Found:
    """Return links, addresses and entities of a PDF: of its links, and of its text."""
    page = HtmlPage(
        targets=tuple(LinkTarget(url, "", EntityLocation.DOCUMENT) for url in document.codes)
    )
    normal = normalise(document.text)
    urls, disguised = defanged_links.read(normal, DEFAULT.links)
    dotted = [word for word in document.text.split() if "." in word]
    written = [*links.in_text(dotted, DEFAULT.links), *urls]
    page_links = distinct_links.links([page], written, DEFAULT, findings, EntityLocation.DOCUMENT)
    addresses = distinct_links.addresses(dotted, disguised, [page], DEFAULT)
    return (
        page_links,
        addresses,
        _entities(document.text, [page], page_links, EntityLocation.DOCUMENT, regions, findings),
    )


def _entities(
    text: str,
    pages: list[HtmlPage],
    message_links: tuple[MessageLink, ...],
    place: EntityLocation,
    regions: tuple[str, ...],
    findings: Findings,
) -> tuple[NamedEntity, ...]:
    normal = normalise(text)
    named = entities.read(
        text, normal, (), pages, message_links, regions, findings, hinted=entities.hints(normal)
    )
    return tuple(msgspec.structs.replace(entity, place=place) for entity in named)
