"""A message in one piece, against what a milter gathers of the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import MAX_HEADERS, RawMessageBuilder
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.doors.rfc5322 import header_fields, raw_message_of, with_crlf, with_edits

LETTER = (
    b"Subject: one\r\nX-Mras: Ok\r\nTo: a@b.example,\r\n\tc@d.example\r\nx-mras: "
    b"Spam\r\n\r\nhello\r\n"
)
OCTETS = st.lists(
    st.sampled_from(
        [
            b"Subject: x",
            b"X-Mras:",
            b" folded",
            b"\t",
            b"\r\n",
            b"\n",
            b"\r",
            b"no field",
            b": ",
            b"\0",
            b"\xff",
        ]
    )
).map(b"".join)


def by_milter(raw: bytes, limit: int = 1 << 20) -> RawMessageBuilder:
    """Have a message gathered piece by piece."""
    gather = RawMessageBuilder(limit, MemoryBudget(1 << 40).hold())
    end = 0
    for field in header_fields(raw):
        gather.header(field.name, field.value, leading_space=True)
        end = field.end
    if raw[end + 2 :]:
        gather.body(raw[end + 2 :])
    return gather


def test_it_is_what_a_milter_gathers() -> None:
    assert raw_message_of(LETTER, 1 << 20) == by_milter(LETTER).finish()
    assert raw_message_of(LETTER.replace(b"\r\n", b"\n"), 1 << 20) == by_milter(LETTER).finish()


@pytest.mark.parametrize("limit", [0, 10, 40, 80, 1000])
def test_beyond_the_limit_the_head_is_kept_and_names_of_headers(limit: int) -> None:
    found = raw_message_of(LETTER, limit)
    assert (found.raw, found.size, found.truncated) == (
        LETTER[:limit],
        len(LETTER),
        limit < len(LETTER),
    )
    assert [name for name, _ in found.headers] == [b"Subject", b"X-Mras", b"To", b"x-mras"]


def test_the_empty_line_that_is_missing_is_put_in() -> None:
    assert raw_message_of(b"Subject: x\nno field\n", 1000).raw == b"Subject: x\r\n\r\nno field\r\n"
    assert raw_message_of(b"Subject: x", 1000).raw == b"Subject: x\r\n\r\n"
    assert raw_message_of(b"", 1000).raw == b"\r\n"


def test_too_many_headers_are_cut() -> None:
    assert (
        len(raw_message_of(b"A: b\r\n" * (MAX_HEADERS + 5) + b"\r\n", 1 << 30).headers)
        == MAX_HEADERS
    )


def test_edits_are_done_by_the_names_and_places_of_the_message_as_it_came() -> None:
    done = with_edits(
        LETTER,
        (
            RemoveHeader("X-Mras", 2),
            RemoveHeader("X-Mras", 7),
            RemoveHeader("x-MRAS", 1),
            AddHeader("X-Mras", "Ok"),
            AddHeader("Authentication-Results", "mx;\n\tspf=pass", top=True),
            AddHeader("X-Top", "1", top=True),
        ),
    )
    assert done == (
        b"X-Top: 1\r\nAuthentication-Results: mx;\r\n\tspf=pass\r\nSubject: one\r\n"
        b"To: a@b.example,\r\n\tc@d.example\r\nX-Mras: Ok\r\n\r\nhello\r\n"
    )


@given(OCTETS)
def test_any_octets_are_a_message_and_nothing_is_lost(raw: bytes) -> None:
    raw = with_crlf(raw)
    whole = raw_message_of(raw, 1 << 20)
    assert b"".join(whole.raw.split()) == b"".join(raw.split())
    again = with_edits(raw, ())
    assert again == whole.raw
    assert raw_message_of(again, 1 << 20) == whole


@given(OCTETS)
def test_what_was_added_can_be_removed(raw: bytes) -> None:
    raw = raw_message_of(raw, 1 << 20).raw
    added = with_edits(
        raw, (AddHeader("Unheard-Of", "yes"), AddHeader("Unheard-Of", "yes", top=True))
    )
    assert [name for name, _ in raw_message_of(added, 1 << 20).headers].count(b"Unheard-Of") == 2
    assert with_edits(added, (RemoveHeader("Unheard-Of", 1), RemoveHeader("Unheard-Of", 2))) == raw
