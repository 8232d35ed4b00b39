"""Canonical forms: the examples of RFC 6376, dkimpy as the oracle, and octets made to hurt."""

from __future__ import annotations

import re

import pytest
from dkim.canonicalization import Relaxed, Simple
from hypothesis import given
from hypothesis import strategies as st

from oborona.authentication.canonical import (
    Canonicalization,
    canonical_body,
    canonical_field,
    without_signature,
)
from oborona.authentication.signed_message import MAX_FIELDS, read_signed_message

PIECES = [
    b" ",
    b"\t",
    b"\r\n",
    b"\r",
    b"a",
    b"A",
    b":",
    b";",
    b"=",
    b"b",
    b"b=",
    b"=b",
    b"\xff",
    b"\x00",
]
octets = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
"""Octets as `read_signed_message` leaves them: each LF has its CR."""


def test_the_example_of_rfc_6376() -> None:
    """Section 3.4.5."""
    letter = read_signed_message(b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\nD \t E\r\n\r\n\r\n")
    assert [letter.canonical(place, Canonicalization.RELAXED) for place in (0, 1)] == [
        b"a:X\r\n",
        b"b:Y Z\r\n",
    ]
    assert [letter.canonical(place, Canonicalization.SIMPLE) for place in (0, 1)] == [
        b"A: X\r\n",
        b"B : Y\t\r\n\tZ  \r\n",
    ]
    assert canonical_body(letter.body, Canonicalization.RELAXED) == b" C\r\nD E\r\n"
    assert canonical_body(letter.body, Canonicalization.SIMPLE) == b" C \r\nD \t E\r\n"


@given(octets)
def test_bodies_are_as_dkimpy_has_them(body: bytes) -> None:
    """Except that white space at the very end goes too when no line end follows it (RFC 6376
    s3.4.4).
    """
    assert canonical_body(body, Canonicalization.SIMPLE) == Simple.canonicalize_body(body)
    ended = re.sub(rb"[ \t]+\Z", b"", body)
    assert canonical_body(body, Canonicalization.RELAXED) == Relaxed.canonicalize_body(ended)


@given(octets)
def test_a_canonical_body_is_its_own_canonical_form(body: bytes) -> None:
    for canon in Canonicalization:
        once = canonical_body(body, canon)
        assert canonical_body(once, canon) == once
        assert once == b"" or once.endswith(b"\r\n")


@given(st.sampled_from([b"Subject", b"X-a_B.c"]), octets)
def test_fields_are_as_dkimpy_has_them(name: bytes, value: bytes) -> None:
    """Except that a CR that ends no line, and is no white space (RFC 6376 s2.8), is not stripped
    from the ends.
    """
    folded = b"\r\n ".join(line.replace(b"\r", b"") for line in value.split(b"\r\n"))
    field = name + b":" + folded + b"\r\n"
    expected = Relaxed.canonicalize_headers([(name, folded + b"\r\n")])[0]
    assert canonical_field(field, Canonicalization.RELAXED) == b"%b:%b" % expected
    assert canonical_field(field, Canonicalization.SIMPLE) == field


@pytest.mark.parametrize(
    ("field", "emptied"),
    [
        (b"D: a=1; b=AB\r\n C; c=2\r\n", b"D: a=1; b=; c=2\r\n"),
        (b"D: b=ABC\r\n", b"D: b="),
        (b"D: a=1; b = A B \r\n\t;\r\n", b"D: a=1; b =;\r\n"),
        (b"D: bh=x=; a=b=1;\r\n b\r\n =x==", b"D: bh=x=; a=b=1;\r\n b\r\n ="),
        (b"D: b=;\r\n", b"D: b=;\r\n"),
        (b"D: B=x; bb=y; b\r\n", b"D: B=x; bb=y; b\r\n"),
        (b"D:\r\n", b"D:\r\n"),
        (b"b=x; c\r\n", b"b=x; c\r\n"),
    ],
)
def test_the_signature_is_taken_out_of_its_field(field: bytes, emptied: bytes) -> None:
    assert without_signature(field) == emptied


@given(octets)
def test_nothing_but_one_value_is_taken_out(value: bytes) -> None:
    field = b"Name:" + value
    emptied = without_signature(field)
    start = next((n for n in range(len(emptied)) if emptied[n] != field[n]), len(emptied))
    assert field[:start] + field[len(field) - (len(emptied) - start) :] == emptied
    assert b";" not in field[start : len(field) - (len(emptied) - start)]


@given(
    st.lists(st.sampled_from([*PIECES, b"\n", b"From ", b"X: y", b"\r\n\r\n"]), max_size=40).map(
        b"".join
    )
)
def test_a_letter_holds_what_came(raw: bytes) -> None:
    """Fields and body together are the message with CRLF, less a mbox line, an empty line, and a
    line end that was added.
    """
    letter = read_signed_message(raw)
    assert len(letter.names) == len(letter.fields)
    assert sorted(place for places in letter.places.values() for place in places) == list(
        range(len(letter.fields))
    )
    for name, field in zip(letter.names, letter.fields, strict=True):
        assert field.lower().startswith(name)
        assert field.endswith(b"\r\n")
        assert not re.search(rb"\n[^ \t]", field)
    lines = re.sub(rb"\r?\n", b"\r\n", raw)
    held = b"".join(letter.fields)
    assert any(
        re.fullmatch(rb"(>?From [^\n]*\n)?" + re.escape(held + gap + letter.body), lines + end)
        for gap in (b"", b"\r\n")
        for end in (b"", b"\r\n")
    )


@pytest.mark.parametrize(
    ("raw", "names", "body"),
    [
        (b"", [], b""),
        (b"\r\n", [], b""),
        (b"\n\nx", [], b"\r\nx"),
        (b"A: 1\nB: 2\n\nbody\n", [b"a", b"b"], b"body\r\n"),
        (b"From x@y Mon\r\nA: 1\r\n\r\nbody", [b"a"], b"body"),
        (b"A: 1\r\nnot a field\r\nB: 2\r\n\r\n", [b"a"], b"not a field\r\nB: 2\r\n\r\n"),
        (b" A: 1\r\n", [], b" A: 1\r\n"),
        (b"A\t: 1\r\n \r\n\r\nx", [b"a"], b"x"),
        (b"A:1\r\n B:2\r\nC:3", [b"a", b"c"], b""),
    ],
)
def test_where_the_body_begins(raw: bytes, names: list[bytes], body: bytes) -> None:
    letter = read_signed_message(raw)
    assert (letter.names, letter.body) == (names, body)


def test_fields_beyond_the_limit_make_a_message_that_is_not_whole() -> None:
    assert read_signed_message(b"A: 1\r\n" * MAX_FIELDS + b"\r\n").whole
    assert not read_signed_message(b"A: 1\r\n" * (MAX_FIELDS + 1) + b"\r\n").whole
