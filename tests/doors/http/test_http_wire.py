"""The HTTP door against what is cut, slow, huge, or no HTTP at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.doors.http.server import MAX_HEAD, MAX_HEADERS
from oborona.doors.rfc5322 import raw_message_of
from oborona.doors.web import MAX_HEADER
from tests.doors.http.sittings import LONG_S, Sittings, until

MAIL = b"From: ann@a.example\r\nSubject: lunch\r\n\r\nAt noon?\r\n"
HEAD = (
    b"POST /checkv2 HTTP/1.0\r\nIP: 192.0.2.1\r\nRcpt: r@x.example\r\nContent-Length: %d\r\n\r\n"
) % len(MAIL)
ASKED = HEAD + MAIL
CHUNKED = (
    b"POST /checkv2 HTTP/1.1\r\nHost: door\r\nConnection: close\r\nTransfer-Encoding: "
    b"chunked\r\n\r\n"
)
KEPT = b"POST /checkv2 HTTP/1.1\r\nHost: door\r\nContent-Length: %d\r\n\r\n%b" % (len(MAIL), MAIL)


@pytest.fixture
async def door(open_folder: Path) -> AsyncIterator[Sittings]:
    async with Sittings(open_folder).serving() as running:
        yield running


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def test_however_a_request_is_cut_it_is_the_same(door: Sittings) -> None:
    for place in range(1, len(ASKED)):
        assert status(await door.says_to(ASKED[:place], ASKED[place:])) == 200
    assert len(door.asked) == len(ASKED) - 1
    assert {one[1] for one in door.asked} == {raw_message_of(MAIL, 1 << 20)}
    assert {one[0].recipients for one in door.asked} == {("r@x.example",)}


async def test_byte_by_byte(door: Sittings) -> None:
    assert status(await door.says_to(*(ASKED[n : n + 1] for n in range(len(ASKED))))) == 200


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_body_in_chunks(door: Sittings, size: int) -> None:
    pieces = [MAIL[n : n + size] for n in range(0, len(MAIL), size)]
    body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"
    assert status(await door.says_to(CHUNKED + body)) == 200
    assert door.asked[0][1] == raw_message_of(MAIL, 1 << 20)


async def test_requests_without_waiting_for_answers(door: Sittings) -> None:
    answers = await door.says_to(KEPT * 50 + b"GET /ping HTTP/1.0\r\n\r\n")
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 50
    assert answers.endswith(b"pong\r\n")
    assert len(door.asked) == 50


async def test_a_request_that_the_end_of_the_connection_cuts_is_none(door: Sittings) -> None:
    for place in range(0, len(ASKED), 7):
        _, writer = await asyncio.open_unix_connection(door.path)
        writer.write(ASKED[:place])
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    # the last of them may be let in after the one before has gone
    await until(lambda: door.server.sessions == 0 and door.server._room.held == 0)
    assert door.asked == []
    assert door.server._room.held == 0


async def test_who_asks_whether_to_go_on_is_told_so(door: Sittings) -> None:
    reader, writer = await asyncio.open_unix_connection(door.path)
    writer.write(HEAD.replace(b"HTTP/1.0", b"HTTP/1.1\r\nHost: door\r\nExpect: 100-continue"))
    async with asyncio.timeout(LONG_S):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(MAIL)
        assert status(await reader.readuntil(b"\r\n\r\n")) == 200
    writer.close()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\0" * 100, id="zeros"),
        pytest.param(b"\r\n" * 100 + b"\xff" * 50, id="binary"),
        pytest.param(b"CHECK SPAMC/1.5\r\nContent-length: 5\r\n\r\nhello", id="spamc"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(HEAD.replace(b"Rcpt: ", b"Rcpt: \x00"), id="NUL in a header"),
        pytest.param(HEAD.replace(b"Rcpt: ", b"Rcpt : "), id="a space before the colon"),
        pytest.param(CHUNKED + b"zz\r\n", id="broken chunks"),
        pytest.param(CHUNKED + b"fffffffffffffffffff\r\n", id="a chunk beyond numbers"),
        pytest.param(
            CHUNKED.replace(b"Transfer", b"Content-Length: 5\r\nTransfer") + b"0\r\n\r\n",
            id="length and chunks",
        ),
        pytest.param(
            HEAD.replace(b"Content-Length: ", b"Content-Length: -"), id="a negative length"
        ),
        pytest.param(HEAD.replace(b"IP:", b"Content-Length: 7\r\nIP:"), id="two lengths"),
        pytest.param(b"POST /" + b"x" * (MAX_HEADER + 1) + b" HTTP/1.1\r\n\r\n", id="a long path"),
        pytest.param(
            b"POST /checkv2 HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n", id="a long header"
        ),
        pytest.param(
            b"POST /checkv2 HTTP/1.0\r\n" + b"A: b\r\n" * (MAX_HEADERS + 1) + b"\r\n",
            id="many headers",
        ),
        pytest.param(
            b"POST /checkv2 HTTP/1.0\r\n" + b"A: %b\r\n" % (b"x" * 8000) * (MAX_HEAD // 8000 + 9),
            id="a large head",
        ),
    ],
)
async def test_what_is_no_request_is_answered_400_or_cut_and_never_asked(
    door: Sittings, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await door.says_to(data)
    assert answer == b"" or status(answer) == 400
    assert door.asked == []
    assert set(door.notes) <= {"broken"}
    # it is no fault of ours
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []
    assert status(await door.says_to(ASKED)) == 200


async def test_a_thousand_recipients_are_taken(door: Sittings) -> None:
    rcpt = b"".join(b"Rcpt: somebody%d@x.example\r\n" % n for n in range(1000))
    assert status(await door.says_to(ASKED.replace(b"Rcpt: r@x.example\r\n", rcpt))) == 200
    assert len(door.asked[0][0].recipients) == 1000


async def test_who_does_not_go_on_is_shown_out(open_folder: Path) -> None:
    async with Sittings(open_folder, read_s=1, idle_s=1).serving() as door:
        slow = (bytes([one]) for one in ASKED)  # a head that drips for longer than it may
        found = await asyncio.gather(
            door.says_to(b""),
            door.says_to(b"POST /chec"),
            door.says_to(*slow, pause_s=0.03),
            door.says_to(ASKED[:-3]),
        )
        assert list(found[:3]) == [b""] * 3
        assert status(found[3]) == 400
        assert door.asked == []
        assert door.server.sessions == 0
        assert door.server._room.held == 0


async def test_what_is_announced_and_does_not_come_takes_no_room(open_folder: Path) -> None:
    """The room is for the mail of all listeners: who sends nothing must not be able to have it put
    off.
    """
    limits = {
        "worker.max_bodies_bytes": 150_000,
        "worker.max_message_bytes": 65_536,
        "max_body_bytes": 100_000,
    }
    async with Sittings(open_folder, **limits).serving() as door:
        _, writer = await asyncio.open_unix_connection(door.path)
        with contextlib.closing(writer):
            writer.write(
                b"POST /checkv2 HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nFrom: a@b"
            )
            await until(lambda: door.server._room.held > 0)
            assert (await door.post("/checkv2", MAIL + b"x" * 60_000))[0] == 200
        await until(lambda: door.server._room.held == 0)


async def test_who_reads_no_answers_is_cut(open_folder: Path) -> None:
    async with Sittings(open_folder, read_s=1).serving() as door:
        _, writer = await asyncio.open_unix_connection(door.path)
        with contextlib.suppress(ConnectionError):
            writer.write(KEPT * 3000)
        await until(lambda: door.server.sessions == 1)
        await until(lambda: door.server.sessions == 0)
        assert 0 < len(door.asked) < 3000
        writer.close()


async def test_whoever_sends_too_much_hears_why(open_folder: Path) -> None:
    """Closing at once would reset the connection, and the answer with it."""
    async with Sittings(open_folder, max_body_bytes=65_536).serving() as door:
        size = 3_000_000
        head = HEAD.replace(b"Content-Length: %d" % len(MAIL), b"Content-Length: %d" % size)
        reader, writer = await asyncio.open_unix_connection(door.path)
        writer.write(head + b"x" * size)
        await writer.drain()
        async with asyncio.timeout(LONG_S):
            answer = await reader.read()
        writer.close()
        assert status(answer) == 413
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"error": "more than 65536 bytes"}


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    head=st.sampled_from(
        [b"", b"POST /checkv2 HTTP/1.1\r\n", b"POST /v1/scan HTTP/1.0\r\n", ASKED, CHUNKED]
    ),
    data=st.binary(max_size=200),
    place=st.integers(0, 200),
)
def test_any_bytes_leave_the_door_standing(
    open_folder: Path, head: bytes, data: bytes, place: int
) -> None:
    """Invariant: whatever comes, there is no fault of ours, nothing stays held, and the next is
    served.
    """

    async def one() -> None:
        async with Sittings(open_folder).serving() as door:
            _, writer = await asyncio.open_unix_connection(door.path)
            for piece in ((head + data)[:place], (head + data)[place:]):
                writer.write(piece)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
                writer.write_eof()
            writer.close()
            await until(lambda: door.server.sessions == 0)
            assert door.notes["failed"] == 0
            assert door.server._room.held == 0
            assert status(await door.says_to(ASKED)) == 200

    asyncio.run(one())
