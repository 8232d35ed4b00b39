"""What a message counts under: types, hash, minimum lengths, caps, unique pairs."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.client_network import client_network
from oborona.message.parse import parse
from oborona.message.shingles import MAX_URLS, TYPES, Hasher, ShingleType, shingles
from oborona.message.unique_pairs import MAX_PAIRED_LINKS, MAX_PAIRED_RECIPIENTS
from oborona.types import PAIR_BITS, Client, CountedPieces, Envelope

KEY = b"0123456789abcdef0123456789abcdef"
HASHER = Hasher(KEY)
SENTENCE = (
    "alpha bravo charlie delta echoes foxtrot golfing hotels indian juliet kilogram lima mikes "
    "november oscar papal quebec "
    "romeo sierra tango uniform victor whiskey xrays yankee zulus amber birch"
)
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.77", name="Mail.Example.ORG"),
    helo="MAIL.example.org",
    sender="Bounce@Example.org",
    recipients=("one@b.example", "Two@b.example"),
)
RAW = (
    b"From: =?utf-8?Q?Ann_B?= <ann@mail.example.co.uk>\nReply-To: r@evil.example\nTo: Bob "
        b"<bob@b.example>\nSubject: Re: Offer 77 for Bob\n"
    b"Message-ID: <1@host.example>\nContent-Type: multipart/mixed; "
        b"boundary=x\n\n--x\nContent-Type: text/html\n\n<p>Hello Bob, " + SENTENCE.encode()
    + b" 555 write to a@c.example <a href='http://www.shop.example.com/a?b#c'>x</a><img "
        b"src='http://pixel.example.net/1'>\n"
    b"--x\nContent-Type: image/png; name=Pic.PNG\n\n\x89PNG\r\n\x1a\n" + b"z" * 100 + b"\n--x--\n"
)  # fmt: skip


def pieces(raw: bytes, envelope: Envelope = ENVELOPE) -> CountedPieces:
    return shingles(parse(raw), envelope, HASHER)


def kinds(found: CountedPieces) -> dict[int, int]:
    counted: dict[int, int] = {}
    for shingle in found.shingles:
        counted[shingle.type] = counted.get(shingle.type, 0) + 1
    return counted


def test_numbers_are_for_ever() -> None:
    assert {kind.name: kind.value for kind in ShingleType} == {
        "TEXT": 1, "TEMPLATE": 2, "OPENING": 3, "CLOSING": 4, "WORDS": 5, "CHARACTERS": 6, "SKELETON": 7, "SUBJECT": 8, "SUBJECT_TEMPLATE": 9, "FROM": 14,
        "CLIENT_IP": 15, "CLIENT_NETWORK": 16, "AS_NUMBER": 17, "HELO": 18, "RDNS": 19, "RDNS_DOMAIN": 20, "MAIL_FROM": 21, "MAIL_FROM_DOMAIN": 22, "FROM_DOMAIN": 23,
        "FROM_NAME": 24, "DKIM_DOMAIN": 25, "REPLY_TO": 26, "MESSAGE_ID_DOMAIN": 27, "MAILER": 28, "HEADER_ORDER": 29,
        "SENDER_RECIPIENT": 30, "SENDER_RECIPIENTS": 31, "SENDER_DOMAIN": 32, "SENDER_DOMAINS": 33, "IP_SENDER": 34, "IP_SENDERS": 35,
        "LINK_SENDER": 36, "LINK_SENDERS": 37, "TEXT_IP": 38,
        "TEXT_IPS": 39, "TEXT_RECIPIENT": 40, "TEXT_RECIPIENTS": 41, "ATTACHMENT_NAME": 42, "ATTACHMENT_TYPE": 43, "ATTACHMENT_SIZE": 44,
        "MEMBER_NAME": 45, "MEMBER_CHECKSUM": 46, "MIME_TREE": 47, "TEXT_SENDER": 48, "TEXT_SENDERS": 49,
        "URL": 50, "HOST": 51, "LINK_DOMAIN": 52, "PATH": 53, "PHONE": 55, "ADDRESS": 56, "WALLET": 57, "HANDLE": 58, "CODE": 59, "PICTURE_HOST": 60, "LIST": 61,
        "CHECKSUM": 62, "PICTURE": 63, "PICTURE_HASH": 64, "PICTURE_TEXT": 65, "PICTURE_PHONE": 66, "PICTURE_ADDRESS": 67,
        "ENTITY_RECIPIENT": 10, "ENTITY_RECIPIENTS": 11, "AUTHOR": 12, "AUTHOR_DOMAIN": 13, "PROVED_SENDER": 54, "ACCOUNT": 68,
        "COUNTRY": 70, "SENDER_COUNTRY": 71, "SENDER_COUNTRIES": 72, "LANGUAGE": 73, "ACCOUNT_IP": 74, "ACCOUNT_IPS": 75,
        "FLOW_DESTINATION": 76, "FLOW_DESTINATIONS": 77, "ACCOUNT_COUNTRY": 78, "ACCOUNT_COUNTRIES": 79,
    }  # fmt: skip
    assert TYPES.keys() == set(ShingleType)
    assert len({row.name for row in TYPES.values()}) == len(TYPES)


def test_the_hash_is_keyed_blake2b_over_type_and_piece() -> None:
    wanted = hashlib.blake2b(bytes((50,)) + b"http://a.example/", digest_size=8, key=KEY).digest()
    assert HASHER.shingle(ShingleType.URL, "http://a.example/") == (
        50,
        int.from_bytes(wanted, "big"),
    )
    assert HASHER.shingle(ShingleType.HOST, "x").hash != HASHER.shingle(ShingleType.URL, "x").hash
    assert Hasher(b"another secret of 16").shingle(ShingleType.URL, "x") != HASHER.shingle(
        ShingleType.URL, "x"
    )
    assert type(HASHER.shingle(ShingleType.URL, "x").type) is int
    with pytest.raises(ValueError, match="at least 16"):
        Hasher(b"short")
    assert Hasher(b"k" * 100).shingle(1, "x") != Hasher(b"k" * 101).shingle(1, "x")


def test_pieces_of_a_message() -> None:
    found = pieces(RAW)
    assert kinds(found) == {
        ShingleType.TEXT: 1, ShingleType.TEMPLATE: 1, ShingleType.OPENING: 1, ShingleType.CLOSING: 1, ShingleType.WORDS: 32, ShingleType.SUBJECT: 1, ShingleType.SUBJECT_TEMPLATE: 1,
        ShingleType.CLIENT_IP: 1, ShingleType.CLIENT_NETWORK: 1, ShingleType.RDNS: 1, ShingleType.RDNS_DOMAIN: 1, ShingleType.HELO: 1, ShingleType.MAIL_FROM: 1, ShingleType.MAIL_FROM_DOMAIN: 1, ShingleType.FROM: 1,
        ShingleType.FROM_DOMAIN: 1, ShingleType.FROM_NAME: 1, ShingleType.REPLY_TO: 1, ShingleType.MESSAGE_ID_DOMAIN: 1, ShingleType.HEADER_ORDER: 1, ShingleType.URL: 1, ShingleType.HOST: 1, ShingleType.LINK_DOMAIN: 1,
        ShingleType.LANGUAGE: 1, ShingleType.PATH: 1, ShingleType.PICTURE_HOST: 1, ShingleType.ADDRESS: 1, ShingleType.MIME_TREE: 1, ShingleType.ATTACHMENT_NAME: 1, ShingleType.ATTACHMENT_TYPE: 1, ShingleType.CHECKSUM: 1, ShingleType.PICTURE: 1,
    }  # fmt: skip
    for kind, piece in (
        (ShingleType.FROM, "ann@mail.example.co.uk"),
        (ShingleType.FROM_DOMAIN, "example.co.uk"),
        (ShingleType.FROM_NAME, "ann b"),
        (ShingleType.CLIENT_NETWORK, "192.0.2.0/24"),
        (ShingleType.RDNS, "mail.example.org"),
        (ShingleType.HELO, "mail.example.org"),
        (ShingleType.MAIL_FROM, "bounce@example.org"),
        (ShingleType.MESSAGE_ID_DOMAIN, "host.example"),
        (ShingleType.SUBJECT, "re: offer 77 for bob"),
        (ShingleType.SUBJECT_TEMPLATE, "offer for"),
        (ShingleType.URL, "http://www.shop.example.com/a?b"),
        (ShingleType.HOST, "www.shop.example.com"),
        (ShingleType.LINK_DOMAIN, "example.com"),
        (ShingleType.ADDRESS, "a@c.example"),
        (ShingleType.MIME_TREE, "multipart/mixed(text/html,image/png)"),
        (ShingleType.ATTACHMENT_NAME, "pic.png"),
        (ShingleType.ATTACHMENT_TYPE, "png image/png"),
    ):
        assert HASHER.shingle(kind, piece) in found.shingles, kind


def test_unique_pairs() -> None:
    found = pieces(RAW)
    counted: dict[tuple[int, int], int] = {}
    for pair in found.pairs:
        assert pair.both.hash >> 64 - PAIR_BITS == pair.distinct.hash >> 64 - PAIR_BITS
        counted[pair.both.type, pair.distinct.type] = (
            counted.get((pair.both.type, pair.distinct.type), 0) + 1
        )
    assert counted == {
        (34, 35): 1, (30, 31): 2, (32, 33): 1, (36, 37): 1, (38, 39): 8, (40, 41): 4 * 2, (48, 49): 4, (10, 11): 2 * 2,
    }  # fmt: skip
    assert len({pair.both for pair in found.pairs}) == len(found.pairs)
    assert {pair.distinct for pair in found.pairs if pair.distinct.type == 31} == {
        HASHER.shingle(ShingleType.SENDER_RECIPIENTS, "bounce@example.org")
    }


def test_the_same_text_from_elsewhere_shares_what_is_distinct_and_not_the_pair() -> None:
    here = pieces(RAW)
    there = pieces(
        RAW,
        Envelope(
            client=Client(ip="198.51.100.1"), sender="x@y.example", recipients=("z@b.example",)
        ),
    )
    for kind in (39, 41):
        assert {pair.distinct for pair in here.pairs if pair.distinct.type == kind} == {
            pair.distinct for pair in there.pairs if pair.distinct.type == kind
        }
    shared = {pair.both for pair in here.pairs} & {pair.both for pair in there.pairs}
    # the same From in both
    assert {both.type for both in shared} == {ShingleType.LINK_SENDER, ShingleType.TEXT_SENDER}


def test_a_bounce_counts_recipients_of_its_from() -> None:
    found = pieces(RAW, Envelope(sender="", recipients=("one@b.example",)))
    (pair,) = [pair for pair in found.pairs if pair.distinct.type == 31]
    assert pair.distinct == HASHER.shingle(ShingleType.SENDER_RECIPIENTS, "ann@mail.example.co.uk")


def test_nothing_short_or_empty_is_hashed() -> None:
    found = pieces(b"From: a@b.example\nSubject: Hi\n\nThanks", Envelope())
    assert kinds(found).keys() == {ShingleType.FROM, ShingleType.FROM_DOMAIN}
    assert found.pairs == ()
    assert pieces(b"", Envelope()) == CountedPieces(shingles=(), pairs=())
    greeting = kinds(
        pieces(b"Subject: x\n\nThank you very much indeed, see you tomorrow at noon", Envelope())
    )
    assert ShingleType.OPENING not in greeting
    assert ShingleType.WORDS not in greeting
    assert ShingleType.SKELETON not in greeting
    assert ShingleType.TEXT in greeting


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        (SENTENCE, {ShingleType.WORDS: 32}),
        (" ".join(SENTENCE.split()[:20]), {ShingleType.WORDS: 32, ShingleType.CHARACTERS: 16}),
        ("Cheap pills for everybody who writes back", {ShingleType.CHARACTERS: 16}),
        ("Call me at six", {}),
    ],
    ids=["long", "between", "short", "too short"],
)
def test_texts_count_by_words_by_letters_or_both(text: str, counted: dict[int, int]) -> None:
    found = pieces(f"Subject: x\n\n{text} 12345".encode(), ENVELOPE)
    again = pieces(f"Subject: y\n\n{text} 99".encode(), ENVELOPE)
    assert {kind: number for kind, number in kinds(found).items() if kind in (5, 6)} == counted
    ours = [pair for pair in found.pairs if pair.distinct.type == ShingleType.TEXT_IPS]
    assert len(ours) == 8 * len(counted)
    assert set(ours) <= set(again.pairs)


def test_a_text_below_any_fingerprint_counts_addresses_under_its_template() -> None:
    found = pieces(b"Subject: x\n\nIt is to be 12345 or so", ENVELOPE)
    again = pieces(b"Subject: y\n\nIt is to be 99 or so", ENVELOPE)
    ours = [pair for pair in found.pairs if pair.distinct.type == ShingleType.TEXT_IPS]
    assert len(ours) == 1
    assert ours[0] in again.pairs


def test_pages_of_one_build_share_their_skeleton_and_no_word() -> None:
    def page(words: list[str]) -> set[tuple[int, int]]:
        rows = "".join(
            (
                f"<tr><td class=cell7><a href='http://{word}.example'><img "
                f"src=x.png></a><h2>{word}</h2></td></tr>"
            )
            for word in words
        )
        raw = f"Subject: {words[0]}\nContent-Type: text/html\n\n<table>{rows}</table>".encode()
        return {(one.type, one.hash) for one in pieces(raw, Envelope()).shingles}

    shared = page(["alpha", "bravo", "charlie", "delta"]) & page(
        ["golf", "hotel", "india", "juliet"]
    )
    assert {kind for kind, _ in shared} == {ShingleType.SKELETON}


def test_names_and_numbers_of_the_reader_leave_the_template_alone() -> None:
    one = pieces(
        b"To: Bob Stone <bob7@b.example>\nSubject: Bob, win 100\n\nDear Bob Stone, you "
        b"won $100 today, call us now"
    )
    two = pieces(
        b"To: Eve Brook <eve@b.example>\nSubject: Eve, win 999\n\nDear Eve Brook, you won "
        b"$999 today, call us now"
    )
    for kind in (ShingleType.TEMPLATE, ShingleType.SUBJECT_TEMPLATE):
        assert [shingle for shingle in one.shingles if shingle.type == kind] == [
            shingle for shingle in two.shingles if shingle.type == kind
        ]
    assert [s for s in one.shingles if s.type == ShingleType.TEXT] != [
        s for s in two.shingles if s.type == ShingleType.TEXT
    ]


def test_caps() -> None:
    urls = b" ".join(b"http://h%d.example%d.com/" % (number, number) for number in range(100))
    recipients = tuple(f"r{number}@b.example" for number in range(200))
    found = pieces(b"Subject: x\n\n" + urls, Envelope(sender="a@b.example", recipients=recipients))
    assert kinds(found)[ShingleType.URL] == MAX_URLS
    assert len([pair for pair in found.pairs if pair.distinct.type == 31]) == MAX_PAIRED_RECIPIENTS
    assert len(found.shingles) < 200
    assert len(found.pairs) <= MAX_PAIRED_RECIPIENTS * 5 + MAX_PAIRED_LINKS + 8 + 2


def test_networks() -> None:
    assert client_network("192.0.2.77") == "192.0.2.0/24"
    assert client_network("10.1.2.3") == "10.1.2.0/24"
    assert client_network("127.0.0.1") == "127.0.0.0/24"
    assert client_network("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64"
    assert client_network("::ffff:192.0.2.77") == "192.0.2.0/24"
    assert client_network("") == client_network("unknown") == ""


def test_letters_of_one_list_do_not_look_alike_for_their_footer_or_quotations() -> None:
    footer = (
        "\n"
        + "_" * 47
        + (
            "\nThe Greatest mailing list of them "
            "all\nlist@l.example\nhttp://lists.l.example/mailman/listinfo\n"
        )
    )
    quoted = "\n".join(
        f"> line {word} of the letter that everybody in this thread answers to"
        for word in "abcdefghij"
    )
    first = (
        "I think that nobody should drive faster than the posted limit, whatever the others "
        "around them may do on a holiday."
    )
    second = (
        "Yesterday our kettle exploded, which made every breakfast since then a quiet and "
        "rather sober affair for the family."
    )

    def words(own: str) -> set[int]:
        raw = f"From: a@a.example\nSubject: x\n\nBob wrote:\n{quoted}\n{own}\n{footer}".encode()
        pieces = shingles(parse(raw), Envelope(), Hasher(b"k" * 32))
        return {
            shingle.hash
            for shingle in pieces.shingles
            if shingle.type in (ShingleType.WORDS, ShingleType.CHARACTERS)
        }

    assert len(words(first)) == 16
    assert not words(first) & words(second)


@given(st.binary(max_size=40), st.lists(st.binary(max_size=40), max_size=5))
def test_hashes_of_one_a_with_many_b_are_those_of_their_pairs(
    a: bytes, each_b: list[bytes]
) -> None:
    kinds = ShingleType.FLOW_DESTINATION, ShingleType.FLOW_DESTINATIONS
    hashes, unique = HASHER.pair_hashes(*kinds, a, each_b)
    pairs = HASHER.pairs(*kinds, [a], each_b)
    assert hashes == [pair.both.hash for pair in pairs]
    assert unique == HASHER.octets(kinds[1], a).hash
    assert all(pair.distinct.hash == unique for pair in pairs)
