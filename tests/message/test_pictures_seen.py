"""What was found in pictures is read as what stands in a text, and counted."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from oborona.message.hashing import Hasher, ShingleType
from oborona.message.model import EntityKind, EntityLocation, Message, Picture, PictureOrigin
from oborona.message.parse import parse
from oborona.message.pictures import pieces
from oborona.message.pictures.enrichment import enrich_message
from oborona.message.pictures.ocr_confusions import correct_text, fold_confusions
from oborona.message.shingles import shingles
from oborona.types import Client, Envelope

HASHER = Hasher(b"a secret of sixteen octets")
MAIL = parse(
    b"From: a@b.example\nSubject: hello\n\nSee http://text.example/ or mail to ann@text.example\n"
)
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.1"), sender="a@b.example", recipients=("x@y.example",)
)


def picture(number: int = 0, **found: object) -> Picture:
    octets = bytes([number]) * 200
    plain = Picture(
        octets=octets,
        sha256=hashlib.sha256(octets).digest(),
        name="",
        kind="png",
        place=PictureOrigin.INLINE,
    )
    return msgspec.structs.replace(plain, looked=True, width=400, height=300, **found)


def of(*pictures: Picture, regions: tuple[str, ...] = ()) -> Message:
    return enrich_message(MAIL, pictures, regions)


def links(message: Message, place: EntityLocation) -> list[str]:
    return [link.url for link in message.links if link.place is place]


def test_a_code_is_a_link() -> None:
    message = of(picture(codes=("HTTPS://Shop.Example/Way?utm_source=x",)))
    assert links(message, EntityLocation.CODE) == ["https://shop.example/Way"]
    assert links(message, EntityLocation.TEXT) == ["http://text.example/"]
    (link,) = [link for link in message.links if link.place is EntityLocation.CODE]
    assert link.domain == "shop.example"


def test_a_link_inside_the_link_of_a_code() -> None:
    message = of(picture(codes=("https://www.google.com/url?q=https%3A%2F%2Fbad.example%2F",)))
    assert "https://bad.example/" in links(message, EntityLocation.CODE)


@pytest.mark.parametrize(
    ("payload", "kind", "value"),
    [
        ("tel:+74951234567", EntityKind.PHONE, "+74951234567"),
        ("SMSTO:+74951234567:hello", EntityKind.PHONE, "+74951234567"),
        (
            "BEGIN:VCARD\nN:Ann\nTEL;TYPE=WORK:+7 495 123-45-67\nEND:VCARD",
            EntityKind.PHONE,
            "+74951234567",
        ),
        (
            "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?amount=1",
            EntityKind.WALLET,
            "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        ),
        ("https://t.me/shop_bot", EntityKind.HANDLE, "telegram:shop_bot"),
        ("tg://resolve?domain=shop_bot", EntityKind.HANDLE, "telegram:shop_bot"),
    ],
)
def test_what_codes_name(payload: str, kind: EntityKind, value: str) -> None:
    named = [
        (each.kind, each.value)
        for each in of(picture(codes=(payload,))).entities
        if each.place is EntityLocation.CODE
    ]
    assert (kind, value) in named


@pytest.mark.parametrize(
    "payload", ["mailto:bob@c.example?subject=x", "MATMSG:TO:bob@c.example;SUB:x;BODY:y;;"]
)
def test_addresses_in_codes(payload: str) -> None:
    assert "bob@c.example" in of(picture(codes=(payload,))).addresses


def test_what_is_drawn() -> None:
    text = "Call now\n+7 (495) 123-45-67\nwww.shop.example.com\nbob@c.example\nTelegram: @shop_bot"
    message = of(picture(read=True, text=text))
    assert links(message, EntityLocation.DRAWN) == ["http://www.shop.example.com/"]
    assert message.addresses == ("ann@text.example", "bob@c.example")
    named = {(each.kind, each.value, each.place) for each in message.entities}
    assert (EntityKind.PHONE, "+74951234567", EntityLocation.DRAWN) in named
    assert (EntityKind.HANDLE, "telegram:shop_bot", EntityLocation.DRAWN) in named


def test_telephones_of_the_sites_countries() -> None:
    message = of(picture(read=True, text="тел. 8 (495) I23-45-\u04317"), regions=("RU",))
    assert [each.value for each in message.entities if each.kind is EntityKind.PHONE] == [
        "+74951234567"
    ]


def test_putting_in_twice_is_as_once() -> None:
    found = (picture(codes=("https://shop.example/",), read=True, text="www.other.example.com"),)
    once = enrich_message(MAIL, found)
    assert enrich_message(once, found) == once
    assert msgspec.structs.replace(enrich_message(once, (picture(),)), links=()) != once


def test_nothing_found_changes_nothing_else() -> None:
    assert of(picture()) == msgspec.structs.replace(MAIL, pictures=(picture(),))


@pytest.mark.parametrize(
    ("read", "drawn"),
    [
        ("+7 (495) l23-45-\u04317", "+7 (495) 123-45-67"),
        ("8 8OO 5S5 35 3S", "8 800 555 35 35"),
        ("htlp:// shop.example", "http://shop.example"),
        ("https:/ /shop.example", "https://shop.example"),
        ("vvww. shop.corn", "www.shop.com"),
        ("in 5 billion years", "in 5 billion years"),
        ("so OO is SOS", "so OO is SOS"),
        ("popcorn. Corn is food", "popcorn. Corn is food"),
    ],
)
def test_mended(read: str, drawn: str) -> None:
    assert correct_text(read) == drawn


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Illicit 0ffer", "lllicit Offer"),
        ("modern", "modem"),
        ("vvin now", "win now"),
        ("pri5e", "prise"),
        ("\u0433\u043e1\u0434", "\u0433\u043el\u0434"),
    ],
)
def test_readings_of_one_picture_fold_to_one(one: str, other: str) -> None:
    assert fold_confusions(one) == fold_confusions(other)


def test_numbers_stay_numbers() -> None:
    assert fold_confusions("10 and 15") != fold_confusions("lo and ls")
    assert fold_confusions("1000") == "1000"


def kinds(message: Message) -> dict[int, int]:
    count: dict[int, int] = {}
    for shingle in shingles(message, ENVELOPE, HASHER).shingles:
        count[shingle.type] = count.get(shingle.type, 0) + 1
    return count


def test_all_pieces() -> None:
    text = (
        "Cheap pharmacy online, order now with free delivery. Call +7 (495) 123-45-67 or "
        "www.shop.example.com, bob@c.example"
    )
    message = of(
        picture(codes=("https://code.example/",), hashes=tuple(range(24)), read=True, text=text)
    )
    before, found = kinds(MAIL), kinds(message)
    new = {
        kind: count - before.get(kind, 0)
        for kind, count in found.items()
        if count != before.get(kind, 0)
    }
    assert new == {
        ShingleType.CODE: 1,
        ShingleType.PICTURE_HASH: 24,
        ShingleType.PICTURE_TEXT: 16,
        ShingleType.PICTURE_PHONE: 1,
        ShingleType.PICTURE_ADDRESS: 2,
        ShingleType.PHONE: 1,
        ShingleType.ADDRESS: 1,
        ShingleType.URL: 2,
        ShingleType.HOST: 2,
        ShingleType.LINK_DOMAIN: 1 + (before[ShingleType.LINK_DOMAIN] == 1),
    }


def codes_hashed(*codes: str) -> set[bytes]:
    return {
        piece
        for kind, piece in pieces.pieces(of(picture(codes=codes)), HASHER.fingerprinter)
        if kind is ShingleType.CODE
    }


def test_codes_are_hashed_in_one_form() -> None:
    assert (
        codes_hashed("HTTPS://A.Example/x")
        == codes_hashed("https://a.example/x?utm_source=q")
        == {b"https://a.example/x"}
    )
    assert codes_hashed("WIFI:S:Cafe") == codes_hashed("wifi:s:cafe")
    assert codes_hashed("12345") == set()


def test_pieces_are_few() -> None:
    many = [
        picture(
            number,
            hashes=tuple(range(24 * number, 24 * number + 24)),
            codes=(f"https://{number}.example/",),
        )
        for number in range(8)
    ]
    found = list(pieces.pieces(of(*many), HASHER.fingerprinter))
    assert (
        len([piece for kind, piece in found if kind is ShingleType.PICTURE_HASH])
        == 24 * pieces.MAX_HASHED
    )
    assert len([piece for kind, piece in found if kind is ShingleType.CODE]) == pieces.MAX_PAYLOADS


def text_values(text: str) -> set[bytes]:
    message = of(picture(read=True, text=text))
    return {
        piece
        for kind, piece in pieces.pieces(message, HASHER.fingerprinter)
        if kind is ShingleType.PICTURE_TEXT
    }


def test_two_readings_share_most_of_the_text() -> None:
    one = "Cheap pharmacy online, order now with free delivery to all countries and modern service"
    other = "Cheap pharmacy 0nline, order n0w with free de1ivery to all countnes and modem service"
    assert len(text_values(one) & text_values(other)) >= 8
    assert not text_values(one) & text_values(
        "Quarterly report of the project group, to be discussed in the meeting on Monday"
    )


def test_few_words_have_no_fingerprint() -> None:
    assert text_values("Best regards") == set()
