"""However the bytes of a client are cut, he hears the same, and the next hop gets the same."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Final

import pytest
import uvloop
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from oborona.doors.rfc5322 import with_crlf
from tests.doors.proxy.scripted import Behind, proxy

PARTS: Final = (
    b"EHLO c\r\n", b"HELO c\r\n", b"NOOP\r\n", b"RSET\r\n", b"MAIL FROM:<a@b>\r\n", b"MAIL FROM:<> BODY=8BITMIME\r\n", b"RCPT TO:<joe@x.test>\r\n",
    b"RCPT TO:<no@x.test>\r\n", b"DATA\r\n", b"Subject: x\r\n\r\nhello\r\n.\r\n", b".\r\n", b"..\r\n", b"\n.\n", b"\r", b"\n", b"\0\xff\r\n", b"VRFY x\r\n", b"STARTTLS\r\n",
    b"XFORWARD ADDR=192.0.2.1\r\n", b"XCLIENT ADDR=192.0.2.1\r\n", b"AUTH PLAIN\r\n", b"BDAT 1\r\n", b"x" * 5000 + b"\r\n",
)  # fmt: skip
sayings = st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join)
orderly = st.lists(st.sampled_from(PARTS[6:18]), max_size=5).map(
    lambda parts: b"".join((b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<joe@x.test>\r\nDATA\r\n", *parts, b"\r\n.\r\n"))
)  # fmt: skip


class _Reset(Exception):  # noqa: N818 - reads as what happened
    pass


Heard = tuple[bytes, list[tuple[bytes, list[bytes], bytes]], list[bytes]]


async def heard(said: bytes, cuts: tuple[int, ...]) -> Heard:
    """Say something in pieces, and then that there is no more.

    Return what was heard, and what the next hop took and heard.
    """
    hop = Behind(rcpt={b"no@x.test": b"550 5.1.1 nobody"})
    async with proxy(hop) as opened:
        client = await opened.connect(None)
        answers = (await client.answer()).encode()
        end = b"\r\n.\r\nRSET\r\nQUIT\r\n"  # whatever it was in the middle of
        places = [0, *sorted({one % (len(said) + 1) for one in cuts}), len(said)]
        for start, stop in pairwise(places):
            client.write(said[start:stop])
            await asyncio.sleep(0.001)
        client.write(end)
        async with asyncio.timeout(10):
            try:
                while more := await client.reader.read(65_536):
                    answers += more
            except ConnectionError:
                raise _Reset from None
        if (
            b"Too many unrecognized commands" in answers
        ):  # what stands behind it is heard or not, and is answered to nobody
            raise _Reset
        return answers, hop.taken, hop.commands


@settings(max_examples=150)
@given(st.one_of(sayings, orderly), st.tuples(*[st.integers(0, 1 << 16)] * 4))
@example(b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<joe@x.test>\r\nDATA\r\nx\r\n.\r\n", (1, 2, 3, 4))
def test_any_cut_is_heard_alike(said: bytes, cuts: tuple[int, ...]) -> None:
    """What a client hears, and what reaches the next hop, depends on the bytes alone.

    A command of the next hop's is one line.
    """

    async def both() -> tuple[Heard, Heard]:
        return await heard(said, ()), await heard(said, cuts)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            whole, pieces = runner.run(both())
        except _Reset:
            reject()
    assert whole == pieces
    assert all(
        command.isascii() and b"\r" not in command for command in whole[2] if command[:4] != b"VRFY"
    )


@pytest.mark.parametrize("start", [0, 40])
async def test_every_octet_alone(start: int) -> None:
    content = b"Subject: x\r\n\r\n.\r\n..x\r\n\0\xff\r" + b"y" * 30 + b"\r\n"
    said = (
        b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<joe@x.test>\r\nDATA\r\n"
        + content.replace(b"\r\n.", b"\r\n..")
        + b".\r\n"
    )
    hop = Behind()
    async with proxy(hop, forbid_stray=False) as opened:
        client = await opened.connect(None)
        await client.answer()
        client.write(said[:start])
        for place in range(start, len(said)):
            client.write(said[place : place + 1])
            await asyncio.sleep(0)
        answers = [await client.answer() for _ in range(5)]
        assert [one[:3] for one in answers] == ["250", "250", "250", "354", "250"]
        assert hop.taken[0][2] == content


lines = st.lists(
    st.sampled_from([b"\r", b"\n", b".", b"\r\n", b"\r\n.", b"\r\n.\r\n", b"a", b"\0\xff", b"x" * 2500, b"From "])
).map(b"".join)  # fmt: skip


@settings(max_examples=150)
@given(lines)
@example(b".\r\n.\r\n..\r\n")
def test_content_arrives_as_it_was_said(content: bytes) -> None:
    """The next hop has the octets that the client meant, of which line feeds stand behind carriage
    returns.
    """

    async def through() -> bytes:
        hop = Behind()
        async with proxy(hop, forbid_stray=False) as opened:
            client = await opened.connect()
            await client.ask("MAIL FROM:<a@b>", "RCPT TO:<joe@x.test>", "DATA")
            client.write((b"\r\n" + said).replace(b"\r\n.", b"\r\n..")[2:] + b".\r\n")
            assert (await client.answer()).startswith("250 2.0.0 taken")
            return hop.taken[0][2]

    said = with_crlf(b"Subject: x\r\n\r\n" + content)
    said = said if said.endswith(b"\r\n") else said + b"\r\n"
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(through()) == said
