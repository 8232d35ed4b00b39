"""Messages in their dots: whatever goes in comes out, in whatever pieces it comes, and ends where
it ends.
"""

from __future__ import annotations

import re
import smtplib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.doors.smtp.dot_stuffing import DotUnstuffer, stuff_dots

SIZES = (1, 2, 3, 5, 16, 128, 4096)
# made of what a decoder may stumble over
messages = st.lists(
    st.sampled_from([b"\r", b"\n", b".", b"\r\n", b"\r\n.", b"\r\n.\r\n", b"\n.\r\n", b"\r.\r", b"a", b"\0\xff", b"x" * 1500])
).map(b"".join)  # fmt: skip


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[place : place + size] for place in range(0, len(data), size)]


def taken(wire: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the content and what came behind it."""
    undotted, content = DotUnstuffer(), b""
    pieces = cut(wire, size)
    for number, piece in enumerate(pieces):
        content += undotted.feed(piece)
        if undotted.over:
            return content, undotted.rest + b"".join(pieces[number + 1 :])
    raise AssertionError("it never ended")


def lines(message: bytes) -> bytes:
    """Return a message as it should be: lines, each with its end."""
    whole = re.sub(rb"(?<!\r)\n", b"\r\n", message)
    return whole if not whole or whole.endswith(b"\r\n") else whole + b"\r\n"


@given(
    messages,
    st.sampled_from(SIZES),
    st.sampled_from(SIZES),
    st.sampled_from([b"", b"QUIT\r\n", b".\r\n"]),
)
@example(b"", 1, 1, b"QUIT\r\n")
@example(b".\r\n.\r\n..\r\n", 1, 1, b"")
@example(b"x\n.\r\ny", 3, 5, b"")
@example(b"\r", 1, 1, b"")
def test_what_goes_in_comes_out_in_any_pieces(
    message: bytes, there: int, back: int, behind: bytes
) -> None:
    """The content that is taken is the message as lines, and what stands behind its end is left
    alone.
    """
    wire = b"".join(stuff_dots(cut(lines(message), there))) + behind
    assert taken(wire, back) == (lines(message), behind)


@given(messages, st.sampled_from(SIZES))
def test_a_peer_without_care_can_end_nothing_early(message: bytes, size: int) -> None:
    """What is taken, whatever the wire said, holds no line feed alone, and so no second end for a
    next hop that reads lines loosely.
    """
    undotted = DotUnstuffer()
    content = b"".join(
        undotted.feed(piece) for piece in cut(b"a\r\n" + message, size) if not undotted.over
    )
    assert not re.search(rb"(?<!\r)\n", content)
    wire = b"".join(stuff_dots([content]))
    assert re.findall(rb"\n\.\r?\n", b"\n" + wire) == [b"\n.\r\n"]


@given(messages)
def test_the_wire_is_what_smtplib_writes(message: bytes) -> None:
    whole = lines(message)
    # smtplib takes a carriage return alone for the end of a line, too
    if not re.search(rb"\r(?!\n)", whole):
        assert b"".join(stuff_dots([whole])) == smtplib._quote_periods(whole) + b".\r\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES)
def test_the_same_bytes_give_the_same_content_in_any_pieces(size: int) -> None:
    wire = b"..a\r\n.b\n.c\r\r\n" + b"y" * 2000 + b"\r\n\n.\n\r\n.\r\nMAIL FROM:<>\r\n"
    content = b".a\r\nb\r\n.c\r\r\n" + b"y" * 2000 + b"\r\n\r\n.\r\n\r\n"
    assert taken(wire, size) == (content, b"MAIL FROM:<>\r\n")


@given(messages, st.sampled_from(SIZES))
@example(b"x\r.\rQUIT", 1)
@example(b"x\r\n\0.\r\nQUIT", 1)
@example(b"x\r\r\n", 2)
@example(b"\r", 1)
def test_what_another_could_take_for_an_end_is_told(message: bytes, size: int) -> None:
    """Whatever pieces it comes in: a carriage return alone and a NUL, and nothing else."""
    wire = b"".join(stuff_dots([lines(message)]))
    undotted = DotUnstuffer()
    for piece in cut(wire, size):
        undotted.feed(piece)
    assert undotted.stray == bool(re.search(rb"\r(?!\n)|\0", lines(message)))


def test_a_message_that_does_not_end_is_not_over() -> None:
    undotted = DotUnstuffer()
    assert undotted.feed(b"a\r\n.") == b"a"
    assert not undotted.over
    assert undotted.feed(b"\r") == b""
    assert undotted.feed(b"\n") == b"\r\n"
    assert undotted.over
