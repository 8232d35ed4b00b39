"""Messages are put together byte for byte, one after the other, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import MAX_HEADERS, RawMessageBuilder

NAMES = st.text("abcXYZ-", min_size=1, max_size=8).map(str.encode)
VALUES = st.lists(
    st.binary(max_size=12).map(lambda b: b.replace(b"\r", b"").replace(b"\n", b"")),
    min_size=1,
    max_size=3,
).map(b"\n\t".join)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=6)
CHUNKS = st.lists(st.binary(max_size=40), max_size=4)


def whole(headers: list[tuple[bytes, bytes]], chunks: list[bytes]) -> bytes:
    head = b"".join(
        name + b":" + value.replace(b"\n", b"\r\n") + b"\r\n" for name, value in headers
    )
    return head + b"\r\n" + b"".join(chunks)


@given(headers=HEADERS, chunks=CHUNKS, limit=st.integers(0, 300))
def test_the_head_is_kept_and_all_is_counted(
    headers: list[tuple[bytes, bytes]], chunks: list[bytes], limit: int
) -> None:
    """Invariant: raw is the first `limit` bytes of the message, size all of it, truncated says
    which.
    """
    gather = RawMessageBuilder(limit, MemoryBudget(1 << 40).hold())
    for name, value in headers:
        gather.header(name, value, leading_space=True)
    for chunk in chunks:
        gather.body(chunk)
    message = gather.finish()
    raw = whole(headers, chunks)
    assert message.raw == raw[:limit]
    assert message.size == len(raw)
    assert message.truncated == (len(raw) > limit)
    assert [name for name, _ in message.headers] == [name for name, _ in headers]
    head = 0
    for (name, value), (_, kept) in zip(headers, message.headers, strict=True):
        head += len(name) + len(value.replace(b"\n", b"\r\n")) + 3
        assert kept == (value.replace(b"\n", b"\r\n") if head <= limit else b"")


def test_nothing_is_left_for_the_next_message() -> None:
    gather = RawMessageBuilder(30, MemoryBudget(1 << 40).hold())
    gather.header(b"X-First", b" " + b"x" * 100, leading_space=True)
    gather.body(b"first")
    gather.reset()
    gather.header(b"A", b" b", leading_space=True)
    first = gather.finish()
    second = gather.finish()
    assert (first.raw, first.size, first.truncated) == (b"A: b\r\n\r\n", 8, False)
    assert (second.raw, second.headers, second.size, second.truncated) == (b"\r\n", (), 2, False)


def test_the_space_that_a_mail_server_ate_is_given_back() -> None:
    gather = RawMessageBuilder(1000, MemoryBudget(1 << 40).hold())
    gather.header(b"Subject", b"x", leading_space=False)
    gather.header(b"Folded", b"\n\tx\r\n y", leading_space=True)
    message = gather.finish()
    assert message.raw == b"Subject: x\r\nFolded:\r\n\tx\r\n y\r\n\r\n"
    assert message.headers == ((b"Subject", b" x"), (b"Folded", b"\r\n\tx\r\n y"))


def test_a_forged_header_behind_padding_is_still_listed() -> None:
    gather = RawMessageBuilder(1000, MemoryBudget(1 << 40).hold())
    gather.header(b"X-Padding", b" " + b"x" * 5000, leading_space=True)
    gather.header(b"X-Mras", b" Ok", leading_space=True)
    message = gather.finish()
    assert message.truncated
    assert b"X-Mras" not in message.raw
    assert message.headers[-1] == (b"X-Mras", b"")


def test_headers_without_end_stay_bounded() -> None:
    gather = RawMessageBuilder(1 << 30, MemoryBudget(1 << 40).hold())
    for _ in range(MAX_HEADERS + 5):
        gather.header(b"A", b"", leading_space=True)
    message = gather.finish()
    assert len(message.headers) == MAX_HEADERS
    assert message.truncated
    assert message.size == (MAX_HEADERS + 5) * 4 + 2
