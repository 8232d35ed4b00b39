"""The door where Dovecot speaks: answered once it is written down, and never hurt by who speaks
there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.daemon.intake.event_sink import EVENTS, IN_PASSING, REFUSED, EventSink
from oborona.daemon.intake.sieve_door import SieveServer
from oborona.errors import StoreFull
from oborona.feedback.events.model import MOST_RAW, EventChannel, EventKind, FeedbackEvent
from oborona.ident import sign
from tests.daemon.intake.takings import KEY, Memory

LONG_S = 60.0  # for what takes milliseconds on a machine with time to spare
HEAD = "VERSION\tscript\t4\t0\nenv_USER=joe\n-\n"
COMPLAINT = f"{HEAD}what=complaint\nuser=joe\nmailbox=Junk\n\nSubject: x\r\n\r\nBuy!\r\n".encode()


def read(number: int) -> bytes:
    return f"{HEAD}what=read\nuser=joe\nid={sign(number, KEY)}\n\n".encode()


class Door:
    """A door on a socket file, and what it wrote down."""

    def __init__(
        self,
        path: Path,
        *,
        deadline_s: float = LONG_S,
        idle_s: float = LONG_S,
        whole_s: float = LONG_S,
        most: int = 100,
    ) -> None:
        self.path = path
        self.memory = Memory()
        self.desk = EventSink(self.memory, deadline_s)
        self.server = SieveServer(
            self.desk,
            key=KEY,
            template="{user}@example.org",
            max_connections=most,
            idle_s=idle_s,
            whole_s=whole_s,
        )

    async def says(self, data: bytes, *, shut: bool = True) -> bytes:
        """Return the answer to some bytes."""
        async with asyncio.timeout(LONG_S):
            stream, writer = await asyncio.open_unix_connection(self.path)
            try:
                with contextlib.suppress(ConnectionError):  # it may have heard enough
                    writer.write(data)
                    await writer.drain()
                    if shut:
                        writer.write_eof()
                with contextlib.suppress(ConnectionError):
                    return await stream.read()
                return b""
            finally:
                writer.close()


@contextlib.asynccontextmanager
async def serving(door: Door) -> AsyncIterator[Door]:
    listener = sockets.listen(UnixAddress(str(door.path)))
    await door.server.start(listener)
    try:
        yield door
    finally:
        door.memory.gate.set()
        await door.server.drain(LONG_S)
        await door.desk.close()
        listener.close()


@pytest.fixture
async def door(open_folder: Path) -> AsyncIterator[Door]:
    async with serving(Door(open_folder / "feedback.sock")) as running:
        yield running


async def test_a_complaint_is_answered_when_it_is_written_down_and_not_before(door: Door) -> None:
    door.memory.gate.clear()
    asking = asyncio.create_task(door.says(COMPLAINT))
    await door.memory.asked.acquire()
    await asyncio.sleep(0.05)
    assert not asking.done()
    door.memory.gate.set()
    assert await asking == b"+\n"
    (event,) = door.memory.events
    assert (event.what, event.person, event.raw) == (
        EventKind.COMPLAINT,
        "joe@example.org",
        b"Subject: x\r\n\r\nBuy!\r\n",
    )


async def test_what_cannot_be_written_down_is_refused_and_heard_again_later(door: Door) -> None:
    door.memory.trouble = StoreFull("no room")
    assert await door.says(COMPLAINT) == b"-\n"
    assert await door.says(f"{HEAD}\n".encode(), shut=False) == b"-\n"  # who asks whether it works
    assert door.desk.trouble == "no room"
    door.memory.trouble = None
    assert await door.says(COMPLAINT) == b"+\n"
    assert await door.says(f"{HEAD}\n".encode(), shut=False) == b"+\n"
    assert EVENTS.values == {("sieve", "complaint", "failed"): 1, ("sieve", "complaint", "new"): 1}


async def test_a_disk_that_hangs_is_waited_for_until_the_deadline(open_folder: Path) -> None:
    async with serving(Door(open_folder / "feedback.sock", deadline_s=0.05)) as door:
        door.memory.gate.clear()
        assert await door.says(COMPLAINT) == b"-\n"
        assert await door.says(read(1)) == b"+\n"  # nobody waits for that one


async def test_reads_are_answered_at_once_and_a_flood_of_them_is_dropped(door: Door) -> None:
    door.memory.gate.clear()
    answers = await asyncio.gather(*(door.says(read(number)) for number in range(50)))
    assert set(answers) == {b"+\n"}
    one = FeedbackEvent(what=EventKind.READ, way=EventChannel.MAILBOX, time=0.0)
    assert [door.desk.pass_on(one) for _ in range(IN_PASSING)].count(False) == 50
    door.memory.gate.set()
    await door.desk.close()
    assert len(door.memory.events) == IN_PASSING
    assert EVENTS.values == {
        ("mailbox", "read", "new"): IN_PASSING,
        ("mailbox", "read", "dropped"): 50,
    }


async def test_of_a_large_message_the_beginning_is_kept(door: Door) -> None:
    assert await door.says(COMPLAINT + b"x" * (5 << 20)) == b"+\n"
    (event,) = door.memory.events
    assert len(event.raw) == MOST_RAW


async def test_no_answer_where_none_is_wanted(door: Door) -> None:
    assert await door.says(COMPLAINT.replace(b"-\n", b"noreply\n", 1)) == b""
    assert len(door.memory.events) == 1


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(COMPLAINT[:20], id="half a head"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n\n\n", id="another protocol"),
        pytest.param(b"\0" * 1_000_000, id="nothing but zeros"),
        pytest.param(b"\n" * 1_000_000, id="nothing but line ends"),
        pytest.param(COMPLAINT.replace(b"complaint", b"trap"), id="what no mailbox says"),
        pytest.param(COMPLAINT.replace(b"user=joe", b"user=joe smith"), id="nobody"),
        pytest.param(
            HEAD.encode() + b"what=read\nuser=joe\nid=forged\n\n", id="a read of no message of ours"
        ),
    ],
)
async def test_what_is_of_no_use_is_refused_and_counted(door: Door, data: bytes) -> None:
    # the answer may be lost where more was being sent
    assert await door.says(data) in {b"-\n", b""}
    assert door.memory.events == []
    assert REFUSED.values == {("sieve", "broken"): 1}
    assert await door.says(COMPLAINT) == b"+\n"


async def test_who_comes_and_goes_is_no_request(door: Door) -> None:
    assert await door.says(b"") == b""
    assert REFUSED.values == {}


@pytest.mark.parametrize("data", [b"", COMPLAINT[:20], COMPLAINT])
async def test_who_stops_in_the_middle_is_shown_out(open_folder: Path, data: bytes) -> None:
    async with serving(Door(open_folder / "feedback.sock", idle_s=0.1)) as door:
        assert await door.says(data, shut=False) == b""
        assert door.memory.events == []


async def test_who_never_ends_is_shown_out(open_folder: Path) -> None:
    async with serving(Door(open_folder / "feedback.sock", whole_s=0.3)) as door:
        stream, writer = await asyncio.open_unix_connection(door.path)
        writer.write(COMPLAINT)
        async with asyncio.timeout(LONG_S):
            with contextlib.suppress(ConnectionError):
                while not stream.at_eof():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0.01)
                    if writer.is_closing():
                        break
        writer.close()
        assert door.memory.events == []


async def test_more_than_may_come_wait_for_their_turn(open_folder: Path) -> None:
    async with serving(Door(open_folder / "feedback.sock", most=2)) as door:
        door.memory.gate.clear()
        asking = [asyncio.create_task(door.says(COMPLAINT)) for _ in range(6)]
        for _ in range(2):
            await door.memory.asked.acquire()
        await asyncio.sleep(0.05)
        assert door.memory.asked.locked()  # nobody else got so far
        door.memory.gate.set()
        assert await asyncio.gather(*asking) == [b"+\n"] * 6


async def test_who_waits_when_we_stop_has_an_answer(open_folder: Path) -> None:
    door = Door(open_folder / "feedback.sock")
    async with serving(door):
        door.memory.gate.clear()
        asking = asyncio.create_task(door.says(COMPLAINT))
        await door.memory.asked.acquire()
    assert await asking == b"+\n"
