"""Entities of whole messages: where each was found, what is counted, and what a hostile message
costs.
"""

from __future__ import annotations

import time

import pytest

from oborona.message.model import EntityKind, EntityLocation, NamedEntity
from oborona.message.parse import parse
from oborona.message.shingles import MAX_CONTACTS, Hasher, ShingleType, shingles
from oborona.types import Envelope

HASHER = Hasher(b"k" * 32)
BITCOIN = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
RAW = (
    'From: "Call +1 201 555 0123" <a@b.example>\nSubject: telegram @subject_name\nList-Id: The '
        'List <News.Shop.Example>\n'
    "List-Unsubscribe: <mailto:leave-83aef0c1b2@shop.example>,\n "
        "<https://img7.shop.example.com/u/77/83aef0c1b2?e=ann>\n"
    "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n"
    "<p>Ring +7 (905) 123-45-67 or pay " + BITCOIN + "</p><a href='tel:+49-30-901820'>us</a>"
    f"<a href='bitcoin:{BITCOIN}?amount=1'>pay</a>"
    "<a href='https://l.facebook.com/l.php?u=https%3A%2F%2Fwa.me%2F79051234567'>chat</a>"
    "<a href='tg://resolve?domain=easy_money'>tg</a><img src='http://pics.example.net/7.png'>"
).encode()  # fmt: skip


def test_each_with_its_place() -> None:
    assert {(each.kind, each.value, each.place) for each in parse(RAW).entities} == {
        (EntityKind.PHONE, "+79051234567", EntityLocation.TEXT),
        (EntityKind.WALLET, f"bitcoin:{BITCOIN}", EntityLocation.TEXT),
        (EntityKind.PHONE, "+4930901820", EntityLocation.ANCHOR),
        (EntityKind.WALLET, f"bitcoin:{BITCOIN}", EntityLocation.ANCHOR),
        (EntityKind.HANDLE, "telegram:easy_money", EntityLocation.ANCHOR),
        (EntityKind.HANDLE, "whatsapp:+79051234567", EntityLocation.ANCHOR),
        (EntityKind.PHONE, "+79051234567", EntityLocation.ANCHOR),
        (EntityKind.PHONE, "+12015550123", EntityLocation.HEADER),
        (EntityKind.HANDLE, "telegram:subject_name", EntityLocation.HEADER),
        (EntityKind.LIST, "news.shop.example", EntityLocation.HEADER),
        (EntityKind.UNSUBSCRIBE, "leave-*@shop.example", EntityLocation.HEADER),
        (EntityKind.UNSUBSCRIBE, "img#.shop.example.com/u/#/*?e", EntityLocation.HEADER),
    }


def test_raw_is_as_found() -> None:
    raws = {(each.kind, each.place): each.raw for each in parse(RAW).entities}
    assert raws[EntityKind.PHONE, EntityLocation.TEXT] == "+7 (905) 123-45-67"
    assert raws[EntityKind.LIST, EntityLocation.HEADER] == "The List <News.Shop.Example>"
    long = parse(b"List-Unsubscribe: <http://a.example/\x01" + b"x" * 500 + b">\n\nx").entities[0]
    assert len(long.raw) <= 80
    assert long.raw.isprintable()


def test_they_are_counted() -> None:
    found = shingles(parse(RAW), Envelope(), HASHER).shingles
    for kind, piece in (
        (ShingleType.PHONE, "+79051234567"),
        (ShingleType.PHONE, "+12015550123"),
        (ShingleType.WALLET, f"bitcoin:{BITCOIN}"),
        (ShingleType.HANDLE, "whatsapp:+79051234567"),
        (ShingleType.LIST, "news.shop.example"),
        (ShingleType.LIST, "leave-*@shop.example"),
        (ShingleType.PICTURE_HOST, "pics.example.net"),
        (ShingleType.PATH, "l.facebook.com/l.php?u"),
        (ShingleType.PATH, "wa.me/#"),
        (ShingleType.HOST, "wa.me"),
    ):
        assert HASHER.shingle(kind, piece) in found, kind
    counted = [shingle.type for shingle in found]
    assert counted.count(ShingleType.PHONE) == 3
    assert counted.count(ShingleType.WALLET) == 1


def test_regions_are_an_argument() -> None:
    raw = b"From: a@b.example\n\ncall 8 (905) 123-45-67 today"
    assert parse(raw).entities == ()
    assert parse(raw, regions=("RU", "DE")).entities == (
        NamedEntity(EntityKind.PHONE, "+79051234567", "8 (905) 123-45-67", EntityLocation.TEXT),
    )


def test_a_plain_letter_has_none() -> None:
    assert (
        parse(
            b"From: Ann <ann@a.example>\nSubject: lunch 12:30\nMessage-ID: <1@a>\n\nAt "
            b"noon, room 1234567?"
        ).entities
        == ()
    )


def test_spaced_by_tags_and_comments() -> None:
    raw = (
        b"From: a@b.example\nContent-Type: text/html\n\n+7 <b>905</b> 1<!-- x -->23 "
        b"<i>45</i>-6<span></span>7"
    )
    assert [each.value for each in parse(raw).entities] == ["+79051234567"]


@pytest.mark.parametrize(
    "piece",
    [
        b"0123456789",
        b"+79051234567 ",
        b"telegram @name_%d ",
        b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa ",
        b"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed ",
        b"hxxp://h%d[.]example[.]com ",
        b"ann%d (at) shop (dot) com ",
        b"http://www.google.com/url?q=http://h%d.example.com/ ",
    ],
)
def test_a_megabyte_of_one_trick_costs_no_more_than_a_large_message(piece: bytes) -> None:
    count = 1_000_000 // len(piece)
    raw = b"From: a@b.example\n\n" + b"".join(
        piece.replace(b"%d", b"%d" % number) for number in range(count)
    )
    began = time.process_time()
    pieces = shingles(parse(raw, regions=("RU", "US", "DE")), Envelope(), HASHER)
    assert time.process_time() - began < 1.0
    counted = [shingle.type for shingle in pieces.shingles]
    for kind in (ShingleType.PHONE, ShingleType.WALLET, ShingleType.HANDLE):
        assert counted.count(kind) <= MAX_CONTACTS


def test_a_header_of_tricks_costs_little() -> None:
    raw = (
        b"".join(b"List-Unsubscribe: <http://a%d.example/%d>\n" % (n, n) for n in range(900))
        + b"\nx"
    )
    began = time.process_time()
    shingles(parse(raw), Envelope(), HASHER)
    assert time.process_time() - began < 0.25
