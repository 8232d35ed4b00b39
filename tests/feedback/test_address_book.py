"""Address books: as programs write them, and as nobody should."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback import address_book
from oborona.feedback.address_book import MAX_ADDRESSES, BrokenAddressBook, read_address_book
from oborona.reputation.personal import mail_address

ANN, BOB, KIM = "ann@a.example", "bob@b.example", "kim@k.example"

CARDS: Final = (
    b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann\r\nitem1.EMAIL;type=INTERNET;type=pref:Ann@A.exam\r\n "
    b"ple\r\nNOTE:EMAIL:x@y.example\r\n"
    b"PHOTO;ENCODING=b:AAAA\r\n EMAIL:z@z.example\r\nEND:VCARD\r\n"
    b"BEGIN:VCARD\r\nVERSION:2.1\r\nEMAIL;INTERNET;ENCODING=QUOTED-PRINTABLE:bob=40b.example\r\nEND:VCARD\r\n"
    b"BEGIN:VCARD\r\nVERSION:4.0\r\nEMAIL;PREF=1:mailto:kim@k.example\r\nEMAIL:nobody\r\nEND:VCARD\r\n"
)
GOOGLE: Final = (
    "First Name,Notes,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value\r\n"
    'Ann,"a, b\nc",* Home,ann@a.example ::: bob@b.example,Work,kim@k.example\r\n'
)
OUTLOOK: Final = (
    '"First Name";"E-mail Address";"E-mail Type";"E-mail Display Name";"E-mail 2 Address"\r\n'
    '"Ännchen";"ann@a.example";"SMTP";"Bob '
    '(x@x.example)";"bob@b.example"\r\n"";"kim@k.example";"SMTP";"";""\r\n'
)
THUNDERBIRD: Final = (
    "Vorname,Nachname,Anzeigename,Spitzname,Primäre E-Mail-Adresse,Sekundäre "
    "E-Mail-Adresse,Telefon\n"
    "A,B,AB,,ann@a.example,bob@b.example,1\nK,,,,kim@k.example,,\n"
)


@pytest.mark.parametrize(
    ("octets", "form", "passed_over"),
    [
        (CARDS, "vcard", 1),
        (CARDS.replace(b"\r\n", b"\n"), "vcard", 1),
        (CARDS.decode().encode("utf-16"), "vcard", 1),
        (GOOGLE.encode(), "csv", 0),
        (GOOGLE.encode("utf-8-sig"), "csv", 0),
        (OUTLOOK.encode("cp1252"), "csv", 0),
        (THUNDERBIRD.encode(), "csv", 0),
        (THUNDERBIRD.replace(",", "\t").encode("utf-16"), "csv", 0),
        (b"ann@a.example\nbob@b.example\nkim@k.example\n", "csv", 0),
    ],
)
def test_as_programs_write_them(octets: bytes, form: str, passed_over: int) -> None:
    book = read_address_book(octets)
    assert book.addresses == (ANN, BOB, KIM)
    assert (book.format, book.passed_over) == (form, passed_over)


def test_what_is_no_address_is_told_with_its_line_and_breaks_nothing() -> None:
    book = read_address_book(
        b"Name,E-mail Address\nA,=HYPERLINK(1)\nB,ann@a.example\nC,=a@b.example\nD,+x\nE,\n"
    )
    assert book.addresses == (ANN,)
    assert book.passed_over == 3
    assert book.problems[0] == "line 2: '=HYPERLINK(1)' is no mail address"
    many = read_address_book(b"E-mail\n" + b"no\n" * 500 + b"ann@a.example\n")
    assert (many.passed_over, len(many.problems)) == (500, address_book.MAX_TOLD)


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (b"", "no heading speaks of mail|holds no mail address"),
        (b"a,b,c\n1,2,3\n", "no heading speaks of mail"),
        (b"\x00\x01\x02", "zero octets"),
        (b"\xff\xfeabc", "begins as utf-16"),
        (b"PK\x03\x04" + bytes(range(1, 200)), "no heading speaks of mail"),
        (b"BEGIN:VCARD\nEND:VCARD\n", "holds no mail address"),
        (b"E-mail\n" + b"x" * 30_000, "field larger than field limit"),
        (
            b"E-mail\n"
            + b"".join(b"%d@a.example\n" % number for number in range(MAX_ADDRESSES + 1)),
            "more than 10,000 addresses",
        ),
        (b"E-mail\n" + b"no\n" * 1_000_000, "more than 100,000 values"),
        (b"BEGIN:VCARD\n" + b"EMAIL:no\n" * 1_000_000, "more than 100,000 values"),
        (b" " * ((32 << 20) + 1), "has 32 MiB"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value,
)
def test_what_is_no_address_book_is_refused_as_a_whole(octets: bytes, words: str) -> None:
    with pytest.raises(BrokenAddressBook, match=words):
        read_address_book(octets)


@pytest.mark.parametrize(
    "octets",
    [
        b"BEGIN:VCARD\nEMAIL:ann@a.example\n" + b" x" * 2_000_000,
        b"BEGIN:VCARD\nEMAIL:ann@a.example\n" + b" x\n" * 1_000_000,
        b"BEGIN:VCARD\nEMAIL:ann@a.example\nNOTE:" + b"(" * 2_000_000,
        b"BEGIN:VCARD\nEMAIL:ann@a.example\nEMAIL" + b";A=" * 300_000 + b":x\n",
        b"E-mail,x\nann@a.example," + b"\n" * 1_000_000,
        b"E-mail\nann@a.example\n" + b"::: " * 4_000 + b"@\n",
        b"E-mail\nann@a.example\n" + b" " * 19_000 + b"@\n",
        b"\n" * 60_000 + b"BEGIN:VCARD \t" + b" " * 5_000 + b"x",
    ],
)
def test_a_hostile_file_costs_no_time(octets: bytes) -> None:
    began = time.process_time()
    with suppress(BrokenAddressBook):
        assert len(read_address_book(octets).addresses) <= 1
    assert time.process_time() - began < 5.0


def test_encoded_lines_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_book, "MAX_CODED_LINES", 3)
    line = b"EMAIL;ENCODING=QUOTED-PRINTABLE:bob=40b.example\n"
    assert read_address_book(b"BEGIN:VCARD\n" + line * 3).addresses == (BOB,)
    with pytest.raises(BrokenAddressBook, match="more than 3 encoded"):
        read_address_book(b"BEGIN:VCARD\n" + line * 4)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=200).map(lambda text: b"BEGIN:VCARD\nEMAIL" + text.encode()),
    )
)
def test_any_octets_are_a_book_of_addresses_or_refused(octets: bytes) -> None:
    """Invariant: a book of distinct addresses in their normal form, or BrokenBook.

    No other error.
    """
    try:
        book = read_address_book(octets)
    except BrokenAddressBook:
        return
    assert len(set(book.addresses)) == len(book.addresses)
    assert all(mail_address(one) == one for one in book.addresses)
