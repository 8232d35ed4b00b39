"""What the text, the links, the files and the pictures of a message are."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from oborona.message.model import Held, Kind, Message, Picture, Place
from oborona.message.normalise import normalise
from oborona.policy.facts import CODE_LIMIT, NAME_LIMIT, TEXT_LIMIT, Words

FEW_WORDS: Final = 20  # beside a picture that is the message: a greeting, or how to leave the list
MESSAGE_PIXELS: Final = (
    20_000  # of a picture that can hold a message: 200 by 100; logos under signatures are mostly smaller
)
MESSAGE_OCTETS: Final = 4096  # the same, of one that nobody has looked at


def body_facts(message: Message, own_domain: str) -> dict[str, Any]:
    """Return the facts that the content tells, by attribute.

    Args:
        message: parsed.
        own_domain: registrable, of From; empty where there is none.
    """
    return {**_text(message), **_links(message, own_domain), **_files(message), **_pictures(message)}


def _text(message: Message) -> dict[str, Any]:
    kinds = Counter({"text/plain": 0, "text/html": 0})
    for part in message.parts:
        if part.content_type in kinds:
            kinds[part.content_type] += part.size
    types = {part.content_type for part in message.parts}
    written = len(message.text)
    octets = kinds["text/plain"] + kinds["text/html"]
    return {
        "text": message.normal_text[:TEXT_LIMIT],
        "text_raw": message.text[:TEXT_LIMIT],
        "text_language": message.language or None,
        "text_charset": message.charset,
        "text_words": message.words,
        "text_length": written,
        "text_own_share": min(1.0, len(message.own_text) / written) if written else None,
        "text_hidden_share": message.hidden_share,
        "html": "text/html" in types,
        "html_only": "text/html" in types and "text/plain" not in types,
        "html_share": kinds["text/html"] / octets if octets else None,
    }


def _links(message: Message, own_domain: str) -> dict[str, Any]:
    links = message.links
    places = Counter([link.place for link in links])
    domains = frozenset([link.domain for link in links if link.domain])
    return {
        "links": len(links),
        "links_hosts": frozenset([link.host for link in links]),
        "links_domains": domains,
        "links_redirected": frozenset([link.domain for link in links if link.through and link.domain]),
        "links_anchors": places[Place.ANCHOR],
        "links_forms": places[Place.FORM],
        "links_pictures": places[Place.PICTURE],
        "links_codes": places[Place.CODE] + places[Place.DRAWN],
        "links_documents": places[Place.DOCUMENT],
        "links_foreign": len(domains - {own_domain}),
        "addresses": frozenset(message.addresses),
        "phones": _values(message, Kind.PHONE),
        "wallets": _values(message, Kind.WALLET),
        "handles": _values(message, Kind.HANDLE),
    }


def _values(message: Message, kind: Kind) -> Words:
    return frozenset([entity.value for entity in message.entities if entity.kind is kind])


def _files(message: Message) -> dict[str, Any]:
    """What is attached, and in that."""
    files = message.attachments
    if not files:
        return {}
    members = [member for file in files for member in file.members]
    return {
        "attachments": len(files),
        "attachments_names": frozenset(file.name.lower()[:NAME_LIMIT] for file in files if file.name),
        "attachments_extensions": frozenset(file.extension for file in files if file.extension),
        "attachments_kinds": frozenset(file.kind for file in files if file.kind),
        "attachments_members": frozenset(member.extension for member in members if member.extension),
        "attachments_files": len(members),
        "attachments_encrypted": any(file.encrypted for file in files),
        "attachments_macros": any(file.macros for file in files),
        "attachments_size": sum(file.size for file in files),
    }


def _pictures(message: Message) -> dict[str, Any]:
    """What is in pictures, as far as they were looked at."""
    pictures = message.pictures
    shown = sum(file.picture for file in message.attachments)
    if not pictures:
        return {"pictures": shown}
    text = " ".join(picture.text for picture in pictures if picture.text)
    return {
        "pictures": shown + sum(picture.place is Held.DATA for picture in pictures),
        "pictures_codes": frozenset(code[:CODE_LIMIT] for picture in pictures for code in picture.codes),
        "pictures_text": normalise(text)[:TEXT_LIMIT],
        "pictures_words": len(text.split()),
        "pictures_only": message.words <= FEW_WORDS and any(map(_holds_a_message, pictures)),
    }


def _holds_a_message(picture: Picture) -> bool:
    if picture.looked:
        return picture.width * picture.height >= MESSAGE_PIXELS
    return len(picture.octets) >= MESSAGE_OCTETS
