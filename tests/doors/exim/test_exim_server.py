"""Exim's door on a socket: half-closed connections, answers in order, trouble, slow clients, busy,
and how it stops.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sockets
from oborona.doors.exim.codec import MAX_LINE
from oborona.doors.exim.server import EximServer
from oborona.doors.guard import NO_ANSWER, HandlerGuard
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import BUSY, CONTINUE, ReplyAction, SessionReply, refusal_reply
from oborona.types import Envelope, Stage
from tests.peers.ports import free_port
from tests.peers.readsocket import connected, extract, readsocket, request

NAP_S = 0.3
PROMPT_S = 8.0  # against hangs alone
LIMIT = 1_000_000

P = ParamSpec("P")
T = TypeVar("T")


class Moody:
    """Does what the sender asks for, and remembers what it was asked."""

    def __init__(self, journal: list[tuple[str, object]]) -> None:
        self._journal = journal

    async def glance(
        self,
        stage: Stage,
        envelope: Envelope,
        port: str,
        *,
        after: Stage | None = None,
        reached: Stage | None = None,
    ) -> SessionReply:
        self._journal.append(("glance", (stage, after, port)))
        return await self._reply(envelope)

    async def whole(self, envelope: Envelope, message: RawMessage, port: str) -> SessionReply:
        self._journal.append(("whole", (message.size, port)))
        return await self._reply(envelope)

    def unjudged(self, message: RawMessage) -> SessionReply:
        return NO_ANSWER

    def put_off(self, *, busy: bool) -> SessionReply:
        return BUSY if busy else NO_ANSWER

    def close(self) -> None:
        self._journal.append(("close", None))

    async def _reply(self, envelope: Envelope) -> SessionReply:
        match envelope.sender:
            case "refuse":
                return refusal_reply(550, "5.7.1", "no entry")
            case "busy":
                return BUSY
            case "fail":
                raise RuntimeError("the door fails, as it was asked to")
            case "hang":
                await asyncio.sleep(3600)
            case "nap":
                await asyncio.sleep(NAP_S)
        return CONTINUE


class House:
    """A door and the way to it."""

    def __init__(self, folder: Path, kind: str) -> None:
        where: UnixAddress | InetAddress
        if kind == "unix":
            self.address = f"unix:{folder}/exim.sock"
            where = UnixAddress(f"{folder}/exim.sock")
        else:
            port = free_port()
            self.address = f"inet:{port}@127.0.0.1"
            where = InetAddress("127.0.0.1", port)
        self.listener = sockets.listen(where)
        self.journal: list[tuple[str, object]] = []
        self.notes: Counter[str] = Counter()

    async def open(
        self,
        *,
        idle_s: float = 60.0,
        half_s: float = 5.0,
        guard_s: float = 5.0,
        most: int = 100,
        per_client: int = 0,
        room: int = 1 << 30,
    ) -> EximServer:
        self.server = EximServer(
            lambda: Moody(self.journal),
            guard=HandlerGuard(ReplyAction.CONTINUE, guard_s),
            limit_bytes=LIMIT,
            idle_s=idle_s,
            half_s=half_s,
            max_connections=most,
            max_per_client=per_client,
            note=self.note,
            room=MemoryBudget(room),
        )
        await self.server.start(self.listener)
        return self.server

    def note(self, outcome: str) -> None:
        self.notes[outcome] += 1

    async def verdict(self, asked: bytes, *, shutdown: bool = True) -> tuple[str, str]:
        """Return verdict and text of what is the one answer."""
        line = await there(readsocket, self.address, asked, shutdown=shutdown)
        assert line.count("\n") == 1, line
        return extract("verdict", line), extract("text", line)


@pytest.fixture(params=["unix", "inet"])
async def each_house(open_folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    house = House(open_folder, request.param)
    yield house
    await house.server.drain(0)
    sockets.close_and_unlink(house.listener)


@pytest.fixture
async def house(open_folder: Path) -> AsyncIterator[House]:
    house = House(open_folder, "unix")
    yield house
    await house.server.drain(0)
    sockets.close_and_unlink(house.listener)


async def there(call: Callable[P, T], *args: P.args, **said: P.kwargs) -> T:
    """Do what blocks in a thread: the door is on this loop."""
    return await asyncio.wait_for(asyncio.to_thread(call, *args, **said), PROMPT_S)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PROMPT_S):
        while not true():  # noqa: ASYNC110 - it looks at what has no event
            await asyncio.sleep(0.01)


def mail(sender: bytes, **said: str) -> bytes:
    return request("mail", ip="192.0.2.9", **said, **{"from": sender})


async def test_who_closes_his_side_is_answered_and_who_does_not_too(each_house: House) -> None:
    await each_house.open()
    for shutdown in (True, False):
        assert await each_house.verdict(mail(b"good"), shutdown=shutdown) == ("accept", "")
        assert await each_house.verdict(mail(b"nap"), shutdown=shutdown) == ("accept", "")
        assert await each_house.verdict(mail(b"refuse"), shutdown=shutdown) == (
            "reject",
            "5.7.1 no entry",
        )
        assert await each_house.verdict(b"oborona/1 ping\n", shutdown=shutdown) == ("accept", "")
    await until(lambda: each_house.server.sessions == 0)
    assert [what for what, _ in each_house.journal] == ["glance", "close"] * 6
    assert each_house.notes == {"answered": 6}


async def test_a_message_of_the_size_that_is_kept_is_judged_whole(each_house: House) -> None:
    await each_house.open()
    body = b"x" * 60 + b"\n"
    asked = request("data", ours=25, headers=b"Subject: x\n", body=body * (LIMIT // 62 - 1))
    assert await each_house.verdict(asked) == ("accept", "")
    assert each_house.journal[0] == (
        "whole",
        (len(b"Subject: x\r\n\r\n") + 62 * (LIMIT // 62 - 1), "25"),
    )


async def test_several_requests_are_answered_in_their_order(house: House) -> None:
    await house.open()
    asked = [
        mail(b"nap"),
        mail(b"refuse", after="connect", ours="25"),
        b"oborona/1 ping\r\n",
        mail(b"busy"),
    ]
    lines = (await there(readsocket, house.address, b"".join(asked))).splitlines()
    assert [extract("verdict", line) for line in lines] == ["accept", "reject", "accept", "defer"]
    assert extract("text", lines[3]) == "4.3.2 Too busy, try again later"
    assert house.journal[2] == ("glance", (Stage.SENDER, Stage.CONNECT, "25"))
    assert house.notes == {"answered": 2, "busy": 1}


async def test_the_answer_ends_the_connection_unless_more_is_announced(each_house: House) -> None:
    await each_house.open()
    with connected(each_house.address) as sock:
        for _ in range(2):
            sock.sendall(mail(b"good", more="yes"))
            assert (await there(sock.recv, 4096)).startswith(b"verdict=accept")
        sock.sendall(mail(b"good", more="no"))
        assert (await there(sock.recv, 4096)).startswith(b"verdict=accept")
        assert await there(sock.recv, 4096) == b""


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "speak oborona/1"),
        (b"oborona/2 ping\n", "speak oborona/1"),
        (b"\n", "speak oborona/1"),
        (b"oborona/1 rcpt\n", "rcpt without rcpt"),
        (b"oborona/1 connect ip=nowhere\n", "not a client address: 'nowhere'"),
        (b"x" * 2 * MAX_LINE + b"\n", "request is too long"),
        (b"oborona/1 rcpt rcpt64=YW", "half a request"),
        (b"oborona/1 ping", "half a request"),
    ],
)
async def test_what_is_no_request_is_an_error_and_the_last_word(
    house: House, broken: bytes, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open()
    heard = await there(
        readsocket,
        house.address,
        mail(b"good") + broken + (mail(b"good") if broken[-1:] == b"\n" else b""),
    )
    first, last = heard.splitlines()
    assert extract("verdict", first) == "accept"
    assert (extract("verdict", last), extract("text", last), extract("code", last)) == (
        "error",
        text,
        "0",
    )
    assert house.notes == {"answered": 1, "broken": 1}
    (record,) = caplog.records
    assert (record.name, record.levelno, record.exc_info) == ("oborona.exim", logging.WARNING, None)
    await until(lambda: house.server.sessions == 0)


async def test_who_asks_nothing_and_leaves_is_no_trouble(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open()
    assert await there(readsocket, house.address, b"") == ""
    await until(lambda: house.server.sessions == 0)
    assert (house.journal, house.notes, caplog.records) == ([], {}, [])


@pytest.mark.parametrize("mood", [b"fail", b"hang"])
async def test_a_failure_of_ours_is_an_error_that_the_acl_decides_on(
    house: House, mood: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(guard_s=0.2)
    assert await house.verdict(mail(mood)) == ("error", "internal failure")
    assert await house.verdict(mail(b"good")) == ("accept", "")
    assert house.notes == {"failed": 1, "answered": 1}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert [what for what, _ in house.journal] == ["glance", "close"] * 2


async def test_who_breaks_the_connection_off_ends_what_is_being_asked(open_folder: Path) -> None:
    house = House(open_folder, "inet")
    server = await house.open(guard_s=60.0)
    with connected(house.address) as sock:
        sock.sendall(mail(b"hang"))
        await until(lambda: len(house.journal) == 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await until(lambda: house.journal[-1] == ("close", None))
    await until(lambda: server.sessions == 0)
    await server.drain(0)
    house.listener.close()


async def test_who_closes_his_side_and_goes_away_is_forgotten_with_his_question(
    house: House,
) -> None:
    await house.open(guard_s=0.2)
    with connected(house.address) as sock:
        sock.sendall(mail(b"hang"))  # that he has gone can't be told from that he asks no more
    await until(lambda: house.journal == [("glance", (Stage.SENDER, None, "")), ("close", None)])
    await until(lambda: house.server.sessions == 0)


async def test_a_request_must_be_whole_in_time_and_the_first_one_must_come(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(half_s=0.4)
    whole = mail(b"good", more="yes")
    with (
        connected(house.address) as mute,
        connected(house.address) as drip,
        connected(house.address) as fine,
    ):
        fine.sendall(whole[:20])
        await asyncio.sleep(0.05)
        fine.sendall(whole[20:])
        assert (await there(fine.recv, 4096)).startswith(b"verdict=accept")

        async def drop() -> None:
            for byte in whole:  # each byte is a sign of life, and the request is late all the same
                drip.sendall(bytes([byte]))
                await asyncio.sleep(0.05)

        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            await drop()
        assert await there(mute.recv, 4096) == b""
        fine.sendall(whole)  # between two requests there is more time
        assert (await there(fine.recv, 4096)).startswith(b"verdict=accept")
    assert house.notes == {"answered": 2, "timeout": 2}
    assert len(caplog.records) == 2


async def test_who_reads_no_answers_is_cut_off(house: House) -> None:
    await house.open(half_s=0.3)
    flood = mail(b"refuse", more="yes") * 1000

    def pour() -> None:
        with connected(house.address) as rude:
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            while True:
                rude.sendall(flood)

    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        await there(pour)
    await until(lambda: house.server.sessions == 0)
    assert house.notes["answered"] > 100


async def test_a_silent_connection_is_closed_and_a_thinking_one_is_not(house: House) -> None:
    await house.open(idle_s=0.2)
    with connected(house.address) as idle:
        idle.sendall(mail(b"good", more="yes"))
        assert (await there(idle.recv, 4096)).startswith(b"verdict=accept")
        assert await house.verdict(mail(b"nap")) == ("accept", "")
        assert await there(idle.recv, 4096) == b""


@pytest.mark.parametrize("limits", [{"most": 1}, {"per_client": 1}])
async def test_who_finds_no_room_is_told_to_come_again(
    house: House, limits: dict[str, int]
) -> None:
    await house.open(guard_s=1.0, **limits)
    with connected(house.address) as first:
        first.sendall(mail(b"hang"))
        await until(lambda: len(house.journal) == 1)
        for shutdown in (True, False):
            assert await house.verdict(mail(b"good"), shutdown=shutdown) == (
                "defer",
                "4.3.2 Too busy, try again later",
            )
    await until(lambda: house.server.sessions == 0)
    assert await house.verdict(mail(b"good")) == ("accept", "")
    assert house.notes["busy"] + house.notes["crowded"] == 2


async def test_who_came_in_before_the_door_closes_is_answered(house: House) -> None:
    server = await house.open(half_s=PROMPT_S)
    with (
        connected(house.address) as idle,
        connected(house.address) as fresh,
        connected(house.address) as asking,
    ):
        idle.sendall(mail(b"good", more="yes"))
        assert (await there(idle.recv, 4096)).startswith(b"verdict=accept")
        asking.sendall(mail(b"nap"))
        await until(lambda: server.sessions == 3)
        drained = asyncio.create_task(server.drain(60.0))
        assert await there(idle.recv, 4096) == b""
        assert (await there(asking.recv, 4096)).startswith(b"verdict=accept")
        assert await there(asking.recv, 4096) == b""
        assert not drained.done()
        fresh.sendall(mail(b"refuse"))  # Exim was about to ask, and would not ask again
        assert (await there(fresh.recv, 4096)).startswith(b"verdict=reject")
        assert await there(fresh.recv, 4096) == b""
        await asyncio.wait_for(drained, PROMPT_S)


async def test_who_never_asks_holds_nobody_up_for_long(house: House) -> None:
    server = await house.open(half_s=0.3)
    with connected(house.address) as mute:
        await until(lambda: server.sessions == 1)
        await asyncio.wait_for(server.drain(60.0), PROMPT_S)
        assert await there(mute.recv, 4096) == b""


async def test_without_room_a_request_is_put_off_and_the_room_comes_back(house: House) -> None:
    await house.open(room=400_000)
    large = request("data", ours=25, headers=b"Subject: x\n", body=b"x" * 600_000)
    assert (await house.verdict(large))[0] == "defer"
    assert house.notes["busy"] == 1
    small = request("data", ours=25, headers=b"Subject: x\n", body=b"x" * 200_000)
    for _ in range(3):
        assert (await house.verdict(small))[0] == "accept"
