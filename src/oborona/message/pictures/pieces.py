"""The pieces of pictures that are counted: what their codes hold, how they look, what is written in
them.

How a picture looks is some values of which alike pictures share one or more; what is written in it,
the fingerprint of that text, folded so that what OCR confuses is one. So a picture that was changed
a little, or read a little differently, meets itself.

Limits: `MAX_*` of each kind per message. Small and flat pictures have no values (`alike`), short
texts no fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from itertools import islice
from typing import Final

from oborona.message import distinct_links, links, templates
from oborona.message.fingerprint import Fingerprinter
from oborona.message.hashing import ShingleType
from oborona.message.limits import DEFAULT
from oborona.message.model import EntityKind, EntityLocation, Message, Picture
from oborona.message.normalise import normalise
from oborona.message.pictures.ocr_confusions import correct_text, fold_confusions

MIN_PAYLOAD: Final = 6  # characters of a code that is no link: "1", "test"
MAX_PAYLOADS: Final = 5
MAX_HASHED: Final = 4  # pictures whose values are counted, the largest: 24 values each
MAX_PHONES: Final = 5
MAX_ADDRESSES: Final = 5  # e-mail addresses and hosts, of each
_IN_PICTURES: Final = frozenset({EntityLocation.CODE, EntityLocation.DRAWN})


def pieces(message: Message, fingerprinter: Fingerprinter) -> Iterator[tuple[ShingleType, bytes]]:
    """Yield the pieces of a message's pictures, ready to be hashed.

    None is empty, some may come twice.

    Args:
        message: with what was `seen` in its pictures.
        fingerprinter: of the site.

    """
    codes = dict.fromkeys(code for picture in message.pictures for code in picture.codes)
    for code in islice(codes, MAX_PAYLOADS):
        if payload := _payload(code):
            yield ShingleType.CODE, payload.encode("utf-8", "surrogatepass")
    hashed = [picture for picture in message.pictures if picture.hashes]
    for picture in nlargest(MAX_HASHED, hashed, key=_area):
        for value in picture.hashes:
            yield ShingleType.PICTURE_HASH, value.to_bytes(8, "big")
    text = "\n".join(picture.text for picture in message.pictures if picture.text)
    if text:
        yield from _text(text, fingerprinter)
    phones = dict.fromkeys(
        entity.value
        for entity in message.entities
        if entity.kind is EntityKind.PHONE and entity.place in _IN_PICTURES
    )
    for phone in islice(phones, MAX_PHONES):
        yield ShingleType.PICTURE_PHONE, phone.encode()
    hosts = dict.fromkeys(link.host for link in message.links if link.place is EntityLocation.DRAWN)
    for host in islice(hosts, MAX_ADDRESSES):
        yield ShingleType.PICTURE_ADDRESS, fold_confusions(host).encode("utf-8", "surrogatepass")


def _area(picture: Picture) -> int:
    return picture.width * picture.height


def _payload(code: str) -> str:
    """Return what a code holds in one form, empty when it is too little."""
    link = links.normal(code)
    if link is not None:
        return link[0]
    payload = normalise(code)
    return payload if len(payload) >= MIN_PAYLOAD else ""


def _text(text: str, fingerprinter: Fingerprinter) -> Iterator[tuple[ShingleType, bytes]]:
    """Yield the fingerprint of what is written, of letters where it is short, and the e-mail
    addresses in it.
    """
    likeness = fingerprinter.likeness(templates.words(fold_confusions(text)))
    for slot, value in enumerate(likeness.characters or likeness.words):
        yield ShingleType.PICTURE_TEXT, slot.to_bytes(1, "big") + value.to_bytes(8, "big")
    dotted = [word for word in correct_text(text).split() if "@" in word]
    for address in distinct_links.addresses(dotted, [], [], DEFAULT)[:MAX_ADDRESSES]:
        yield ShingleType.PICTURE_ADDRESS, fold_confusions(address).encode("utf-8", "surrogatepass")
