"""The pieces of a message that are counted, as shingles and unique pairs.

Pieces are distinct, never empty, never shorter than a stated minimum. Who sent it is in
`sender_pieces`, what is attached in `attachment_pieces`, what is counted once a day for each two in
`unique_pairs`.

Limits: `MAX_*` of each kind per message, so that one message cannot write thousands of counters.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from oborona.message import (
    attachment_pieces,
    boilerplate,
    path_templates,
    sender_pieces,
    templates,
    unique_pairs,
)
from oborona.message.hashing import TYPES, Hasher, ShingleType, ShingleTypeInfo
from oborona.message.limits import DEFAULT
from oborona.message.model import EntityKind, EntityLocation, Message
from oborona.message.normalise import normalise
from oborona.message.pictures import pieces as picture_pieces
from oborona.types import CountedPieces, Envelope, Location, ProvedIdentity, Shingle

__all__ = ["TYPES", "Hasher", "ShingleType", "ShingleTypeInfo", "envelope_shingles", "shingles"]

MIN_TEXT_WORDS: Final = 8  # below: "Thanks, see you tomorrow" of thousands of people
MIN_TEMPLATE_WORDS: Final = 5
# of opening and closing: a sentence; fewer would be greetings and "best regards"
EDGE_WORDS: Final = 16
MIN_SUBJECT: Final = 6  # characters: above "hi", "hello", "test"
MIN_SUBJECT_TEMPLATE_WORDS: Final = 2

MAX_URLS: Final = 30
MAX_HOSTS: Final = 20
MAX_DOMAINS: Final = 20
MAX_ADDRESSES: Final = 10
MAX_DKIM_DOMAINS: Final = 4
MAX_PICTURE_HOSTS: Final = 10
MAX_CONTACTS: Final = 10  # telephones, wallets and handles, of each
MAX_LISTS: Final = 2  # names of the list, and ways to leave it, of each

NOWHERE: Final = Location()
NOBODY: Final = ProvedIdentity()
_SLOT: Final = struct.Struct(">BQ").pack  # which value of a fingerprint it is, and the value

_ENTITIES: Final = (
    (EntityKind.PHONE, ShingleType.PHONE, MAX_CONTACTS),
    (EntityKind.WALLET, ShingleType.WALLET, MAX_CONTACTS),
    (EntityKind.HANDLE, ShingleType.HANDLE, MAX_CONTACTS),
    (EntityKind.LIST, ShingleType.LIST, MAX_LISTS),
    (EntityKind.UNSUBSCRIBE, ShingleType.LIST, MAX_LISTS),
)


def shingles(
    message: Message,
    envelope: Envelope,
    hasher: Hasher,
    proved: Sequence[str] = (),
    location: Location = NOWHERE,
    who: ProvedIdentity = NOBODY,
) -> CountedPieces:
    """Return everything one message counts under: distinct shingles, and unique pairs.

    Args:
        message: parsed.
        envelope: of the message; what it does not know gives no shingle.
        hasher: holds the site's secret.
        proved: domains whose DKIM signatures passed, lower case.
        location: of the client.
        who: sent it, as far as it was proved.
    """
    collected: dict[Shingle, None] = {}

    def add(kind: ShingleType, piece: str) -> None:
        if piece:
            collected[hasher.shingle(kind, piece)] = None

    stands_for = _text(message, hasher, collected)
    for kind, piece in sender_pieces.of_envelope(envelope, location):
        add(kind, piece)
    for kind, piece in sender_pieces.of_message(message):
        add(kind, piece)
    for kind, piece in sender_pieces.of_proved(who):
        add(kind, piece)
    for domain in proved[:MAX_DKIM_DOMAINS]:
        add(ShingleType.DKIM_DOMAIN, domain)
    _contents(message, hasher, collected, add)
    _entities(message, add)
    pairs = unique_pairs.pairs(message, envelope, hasher, stands_for, location, who)
    reached = unique_pairs.recipient_pairs(message, envelope, hasher, who)
    contacts = unique_pairs.contacts(reached if who.author else pairs, author=bool(who.author))
    vouched = unique_pairs.known_authors_key(envelope.client.ip, hasher)
    return CountedPieces(
        shingles=tuple(collected),
        pairs=pairs + reached,
        contacts=contacts,
        vouched=vouched,
        place=unique_pairs.account_place(envelope, hasher),
    )


def _text(message: Message, hasher: Hasher, collected: dict[Shingle, None]) -> list[list[bytes]]:
    """Hash text, layout and subject.

    Return what stands for the text in unique pairs: its fingerprints, or itself.
    """
    reader: frozenset[str] = frozenset()
    if len(message.recipients) == 1:
        box = message.recipients[0]
        names = [normalise(box.name), normalise(box.address.partition("@")[0])]
        reader = templates.reader_words(message.recipients, names)
    _subject(message, hasher, collected, reader)
    if message.language:
        collected[hasher.shingle(ShingleType.LANGUAGE, f"{message.charset} {message.language}")] = (
            None
        )
    if message.skeleton:
        collected[hasher.shingle(ShingleType.SKELETON, message.skeleton)] = None
    if boilerplate.bare(message):
        return []
    words = templates.words(message.normal_text, reader)
    stands_for: list[list[bytes]] = []
    if message.words >= MIN_TEXT_WORDS:
        collected[hasher.shingle(ShingleType.TEXT, message.normal_text)] = None
    template = " ".join(words)
    if len(words) >= MIN_TEMPLATE_WORDS:
        collected[hasher.shingle(ShingleType.TEMPLATE, template)] = None
    whole = message.own_text == message.text
    own = (
        words
        if whole
        else templates.words(normalise(message.own_text)[: DEFAULT.text_characters], reader)
    )
    if len(own) >= EDGE_WORDS:
        collected[hasher.shingle(ShingleType.OPENING, " ".join(own[:EDGE_WORDS]))] = None
        collected[hasher.shingle(ShingleType.CLOSING, " ".join(own[-EDGE_WORDS:]))] = None
    likeness = hasher.fingerprinter.likeness(own)
    for kind, minima in (
        (ShingleType.CHARACTERS, likeness.characters),
        (ShingleType.WORDS, likeness.words),
    ):
        if minima:
            slots = [_SLOT(slot, value) for slot, value in enumerate(minima)]
            collected.update(dict.fromkeys(hasher.each(kind, slots)))
            stands_for.append(slots)
    if not stands_for and len(words) >= MIN_TEMPLATE_WORDS:
        stands_for.append([template.encode("utf-8", "surrogatepass")])
    return stands_for


def _subject(
    message: Message, hasher: Hasher, collected: dict[Shingle, None], reader: frozenset[str]
) -> None:
    subject = normalise(message.subject)
    if len(subject) >= MIN_SUBJECT:
        collected[hasher.shingle(ShingleType.SUBJECT, subject)] = None
    subject_words = templates.words(templates.strip_reply_prefix(subject), reader)
    if len(subject_words) >= MIN_SUBJECT_TEMPLATE_WORDS:
        collected[hasher.shingle(ShingleType.SUBJECT_TEMPLATE, " ".join(subject_words))] = None


def envelope_shingles(
    envelope: Envelope, hasher: Hasher, location: Location = NOWHERE
) -> CountedPieces:
    """Return what is known before the message comes: client, where it is, HELO, MAIL FROM, and the
    pairs that hang on them.
    """
    collected = {
        hasher.shingle(kind, piece): None
        for kind, piece in sender_pieces.of_envelope(envelope, location)
        if piece
    }
    return CountedPieces(
        shingles=tuple(collected),
        pairs=unique_pairs.envelope_pairs(envelope, hasher, location),
        vouched=unique_pairs.known_authors_key(envelope.client.ip, hasher),
    )


def _contents(
    message: Message,
    hasher: Hasher,
    collected: dict[Shingle, None],
    add: Callable[[ShingleType, str], None],
) -> None:
    """Hash links, addresses and attachments."""
    followed = [link for link in message.links if link.place is not EntityLocation.PICTURE]
    for url in list(dict.fromkeys(link.url for link in followed))[:MAX_URLS]:
        add(ShingleType.URL, url)
    for host in list(dict.fromkeys(link.host for link in followed))[:MAX_HOSTS]:
        add(ShingleType.HOST, host)
    for domain in list(dict.fromkeys(link.domain for link in followed))[:MAX_DOMAINS]:
        add(ShingleType.LINK_DOMAIN, domain)
    for address in message.addresses[:MAX_ADDRESSES]:
        add(ShingleType.ADDRESS, address)
    if "(" in message.mime_tree:
        add(ShingleType.MIME_TREE, message.mime_tree)
    for kind, piece in attachment_pieces.pieces(message.attachments):
        collected[hasher.octets(kind, piece)] = None
    for kind, piece in picture_pieces.pieces(message, hasher.fingerprinter):
        collected[hasher.octets(kind, piece)] = None


def _entities(message: Message, add: Callable[[ShingleType, str], None]) -> None:
    """Hash what links have in common from copy to copy, where pictures come from, and whom the
    message names.
    """
    followed = {
        link.url: link for link in message.links if link.place is not EntityLocation.PICTURE
    }
    for link in islice(followed.values(), MAX_URLS):
        add(ShingleType.PATH, path_templates.template(link.url, link.host, link.domain))
    pictures = dict.fromkeys(
        link.host for link in message.links if link.place is EntityLocation.PICTURE
    )
    for host in islice(pictures, MAX_PICTURE_HOSTS):
        add(ShingleType.PICTURE_HOST, host)
    for kind, type_, limit in _ENTITIES:
        values = dict.fromkeys(entity.value for entity in message.entities if entity.kind is kind)
        for value in islice(values, limit):
            add(type_, value)
