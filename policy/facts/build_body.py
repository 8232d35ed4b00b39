"""What the text, the links, the files and the pictures of a message are."""

from __future__ import annotations

from collections import Counter
from typing import Final

from oborona.message.model import EntityKind, EntityLocation, Message, Picture, PictureOrigin
from oborona.message.normalise import normalise
from oborona.policy.facts import CODE_LIMIT, NAME_LIMIT, TEXT_LIMIT, Facts, Words, with_values

FEW_WORDS: Final = 20  # beside a picture that is the message: a greeting, or how to leave the list
# of a picture that can hold a message: 200 by 100; logos under signatures are mostly smaller
MESSAGE_PIXELS: Final = 20_000
MESSAGE_OCTETS: Final = 4096  # the same, of one that nobody has looked at


def with_body(facts: Facts, message: Message, own_domain: str) -> Facts:
    """Return facts with what the content tells.

    Args:
        facts: of the message.
        message: parsed.
        own_domain: registrable, of From; empty where there is none.
    """
    facts = _with_links(_with_text(facts, message), message, own_domain)
    if message.attachments:
        facts = _with_files(facts, message)
    return _with_pictures(facts, message) if message.pictures else facts


def _with_text(facts: Facts, message: Message) -> Facts:
    sizes = {"text/plain": 0, "text/html": 0}
    types = {part.content_type for part in message.parts}
    for part in message.parts:
        if part.content_type in sizes:
            sizes[part.content_type] += part.size
    written = len(message.text)
    octets = sizes["text/plain"] + sizes["text/html"]
    return with_values(
        facts,
        text=message.normal_text[:TEXT_LIMIT],
        text_raw=message.text[:TEXT_LIMIT],
        text_language=message.language or None,
        text_charset=message.charset,
        text_words=message.words,
        text_length=written,
        text_own_share=min(1.0, len(message.own_text) / written) if written else None,
        text_hidden_share=message.hidden_share,
        html="text/html" in types,
        html_only="text/html" in types and "text/plain" not in types,
        html_share=sizes["text/html"] / octets if octets else None,
    )


def _with_links(facts: Facts, message: Message, own_domain: str) -> Facts:
    links = message.links
    places = Counter([link.place for link in links])
    domains = frozenset([link.domain for link in links if link.domain])
    return with_values(
        facts,
        links=len(links),
        links_hosts=frozenset([link.host for link in links]),
        links_domains=domains,
        links_redirected=frozenset([link.domain for link in links if link.through and link.domain]),
        links_anchors=places[EntityLocation.ANCHOR],
        links_forms=places[EntityLocation.FORM],
        links_pictures=places[EntityLocation.PICTURE],
        links_codes=places[EntityLocation.CODE] + places[EntityLocation.DRAWN],
        links_documents=places[EntityLocation.DOCUMENT],
        links_foreign=len(domains - {own_domain}),
        addresses=frozenset(message.addresses),
        phones=_values(message, EntityKind.PHONE),
        wallets=_values(message, EntityKind.WALLET),
        handles=_values(message, EntityKind.HANDLE),
    )


def _values(message: Message, kind: EntityKind) -> Words:
    return frozenset([entity.value for entity in message.entities if entity.kind is kind])


def _with_files(facts: Facts, message: Message) -> Facts:
    """Return facts with what is attached, and in that."""
    files = message.attachments
    members = [member for file in files for member in file.members]
    return with_values(
        facts,
        attachments=len(files),
        attachments_names=frozenset(
            [file.name.lower()[:NAME_LIMIT] for file in files if file.name]
        ),
        attachments_extensions=frozenset([file.extension for file in files if file.extension]),
        attachments_kinds=frozenset([file.kind for file in files if file.kind]),
        attachments_members=frozenset([member.extension for member in members if member.extension]),
        attachments_files=len(members),
        attachments_encrypted=any(file.encrypted for file in files),
        attachments_macros=any(file.macros for file in files),
        attachments_size=sum(file.size for file in files),
        pictures=sum(file.picture for file in files),
    )


def _with_pictures(facts: Facts, message: Message) -> Facts:
    """Return facts with what is in pictures, as far as they were looked at."""
    pictures = message.pictures
    text = " ".join(picture.text for picture in pictures if picture.text)
    return with_values(
        facts,
        pictures=facts.pictures + sum(picture.place is PictureOrigin.DATA for picture in pictures),
        pictures_codes=frozenset(
            [code[:CODE_LIMIT] for picture in pictures for code in picture.codes]
        ),
        pictures_text=normalise(text)[:TEXT_LIMIT],
        pictures_words=len(text.split()),
        pictures_only=message.words <= FEW_WORDS and any(map(_holds_a_message, pictures)),
    )


def _holds_a_message(picture: Picture) -> bool:
    if picture.looked:
        return picture.width * picture.height >= MESSAGE_PIXELS
    return len(picture.octets) >= MESSAGE_OCTETS
