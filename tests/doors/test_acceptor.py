"""A door that is full: who is told so and in what words, who gets in instead, and that nothing
stays behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sockets
from oborona.doors import overload as turned_away
from oborona.doors.client_key import client_key
from oborona.doors.overload import ThrottledLog
from oborona.doors.rest import needed
from tests.doors.lines import LineServer
from tests.peers.ports import free_port

BUSY = b"come again\n"
PROMPT_S = 8.0  # against hangs alone

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class House:
    """A door, its clients, and what it counted."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.listener = sockets.listen(UnixAddress(self.path))
        self.noted: list[str] = []
        self._servers: list[LineServer] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, *, busy: bytes = BUSY, **settings: Any) -> LineServer:
        words = (lambda _peer: busy) if busy else None
        server = LineServer(busy=words, note=self.noted.append, **settings)
        await server.start(self.listener.dup())
        self._servers.append(server)
        return server

    async def come(self) -> Streams:
        reader, writer = await asyncio.open_unix_connection(self.path)
        self._writers.append(writer)
        return reader, writer

    async def close(self) -> None:
        for server in self._servers:
            await server.drain(0)
            server._socket.close()
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        sockets.close_and_unlink(self.listener)


@pytest.fixture
async def house(open_folder: Path) -> AsyncIterator[House]:
    house = House(open_folder / "lines.sock")
    yield house
    await house.close()


async def heard(streams: Streams, line: bytes = b"") -> bytes:
    """Say a line and return everything that is heard up to the end of a line or of the
    connection.
    """
    reader, writer = streams
    if line:
        writer.write(line)
    async with asyncio.timeout(PROMPT_S):
        return await reader.readline()


async def ended(streams: Streams) -> bytes:
    """Return all that is heard before the connection is closed."""
    async with asyncio.timeout(PROMPT_S):
        return await streams[0].read()


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PROMPT_S):
        while not true():  # noqa: ASYNC110 - it looks at what has no event
            await asyncio.sleep(0.01)


async def test_who_comes_to_a_full_door_is_told_so_and_the_others_go_on(house: House) -> None:
    server = await house.open(max_sessions=2)
    inside = [await house.come(), await house.come()]
    assert [await heard(one, b"a\n") for one in inside] == [b"a\n", b"a\n"]
    late = [await house.come() for _ in range(5)]
    assert [await ended(one) for one in late] == [BUSY] * 5
    assert house.noted == ["busy"] * 5
    assert [await heard(one, b"b\n") for one in inside] == [b"b\n", b"b\n"]
    inside[0][1].close()
    await until(lambda: server.sessions == 1)
    assert await heard(await house.come(), b"c\n") == b"c\n"


async def test_the_word_is_heard_by_who_says_a_lot_before_it_listens(house: House) -> None:
    await house.open(max_sessions=1)
    assert await heard(await house.come(), b"a\n") == b"a\n"
    reader, writer = await house.come()
    for _ in range(20):
        writer.write(b"x" * 50_000)
        await writer.drain()
        await asyncio.sleep(0)
    assert await ended((reader, writer)) == BUSY


async def test_who_never_listens_nor_leaves_is_shown_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turned_away, "HEAR_OUT_S", 0.1)
    server = await house.open(max_sessions=1)
    assert await heard(await house.come(), b"a\n") == b"a\n"
    before = open_files()
    stubborn = [await house.come() for _ in range(10)]
    await until(lambda: house.noted == ["busy"] * 10)
    await until(lambda: not server._turned_away._leaving)
    for _, writer in stubborn:
        writer.close()
    await until(lambda: open_files() <= before)


async def test_who_talks_without_end_is_cut_off(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turned_away, "HEAR_OUT_BYTES", 100_000)
    monkeypatch.setattr(turned_away, "HEAR_OUT_S", 3600.0)
    await house.open(max_sessions=1)
    assert await heard(await house.come(), b"a\n") == b"a\n"
    _, writer = await house.come()

    async def talk() -> None:
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    with pytest.raises(OSError, match=r"Broken pipe|reset|lost"):
        await asyncio.wait_for(talk(), PROMPT_S)


async def test_beyond_those_that_can_be_told_at_once_nobody_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turned_away, "AT_ONCE", 3)
    await house.open(max_sessions=1)
    assert await heard(await house.come(), b"a\n") == b"a\n"
    late = [await house.come() for _ in range(8)]
    await until(lambda: len(house.noted) == 8)
    assert sorted([await ended(one) for one in late]) == [b""] * 5 + [BUSY] * 3


async def test_without_a_word_for_it_they_wait(house: House) -> None:
    server = await house.open(max_sessions=1, busy=b"")
    first, second = await house.come(), await house.come()
    assert await heard(first, b"a\n") == b"a\n"
    second[1].write(b"b\n")
    await asyncio.sleep(0.2)
    assert (server.sessions, server.met, house.noted) == (1, 1, [])
    first[1].close()
    assert await heard(second) == b"b\n"


async def test_a_full_worker_leaves_them_to_one_with_room(house: House) -> None:
    full = await house.open(max_sessions=1)
    assert await heard(await house.come(), b"a\n") == b"a\n"
    roomy = await house.open(max_sessions=100)
    come = [await house.come() for _ in range(20)]
    assert [await heard(one, b"b\n") for one in come] == [b"b\n"] * 20
    assert (full.met, roomy.met, house.noted) == (1, 20, [])


@pytest.mark.parametrize("busy", [BUSY, b""])
async def test_one_client_gets_no_more_than_its_share(house: House, busy: bytes) -> None:
    server = await house.open(max_per_client=2, busy=busy)
    inside = [await house.come(), await house.come()]
    assert [await heard(one, b"a\n") for one in inside] == [b"a\n", b"a\n"]
    assert await ended(await house.come()) == busy
    assert house.noted == ["crowded"]
    inside[0][1].close()
    await until(lambda: server.sessions == 1)
    assert await heard(await house.come(), b"c\n") == b"c\n"
    await server.drain(0)
    assert not server._clients, "a client that has left is not remembered"


async def test_it_rests_once_nobody_has_been_connected_for_so_long(house: House) -> None:
    server = await house.open()
    reader, writer = await house.come()
    stop = asyncio.Event()
    resting = asyncio.create_task(needed(server, stop, 0.2))
    await asyncio.sleep(0.6)
    assert not resting.done()  # somebody is connected
    writer.close()
    await reader.read()
    async with asyncio.timeout(PROMPT_S):
        await resting


@pytest.mark.parametrize("rest_s", [None, 600.0])
async def test_who_is_told_to_stop_does_not_wait_for_rest(
    house: House, rest_s: float | None
) -> None:
    server, stop = await house.open(), asyncio.Event()
    stop.set()
    async with asyncio.timeout(PROMPT_S):
        await needed(server, stop, rest_s)


async def test_draining_does_not_wait_for_who_is_being_told(house: House) -> None:
    server = await house.open(max_sessions=1)
    first = await house.come()
    assert await heard(first, b"a\n") == b"a\n"
    await house.come()  # reads nothing, leaves not
    await until(lambda: house.noted == ["busy"])
    first[1].close()
    async with asyncio.timeout(PROMPT_S):
        await server.drain(60.0)
    await until(lambda: not server._turned_away._leaving)


async def test_the_log_has_a_line_now_and_then_and_not_one_each(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(max_sessions=1)
    assert await heard(await house.come(), b"a\n") == b"a\n"
    for one in [await house.come() for _ in range(10)]:
        assert await ended(one) == BUSY
    (record,) = caplog.records
    assert record.message == "1 sessions are open: the next ones are told to come again"


def test_what_is_said_again_tells_how_often_it_was_so(caplog: pytest.LogCaptureFixture) -> None:
    said = ThrottledLog(logging.getLogger("oborona.lines"), every_s=60.0)
    for now in (100.0, 101.0, 159.0, 160.0, 161.0, 219.0, 500.0):
        said.say("full", f"full at {now:g}", now)
    said.say("other", "something else", 501.0)
    assert [record.message for record in caplog.records] == [
        "full at 100",
        "full at 160 (3 times since it was last said)",
        "full at 500 (3 times since it was last said)",
        "something else",
    ]


def _accepted(stack: ExitStack, listener: socket.socket, client: socket.socket) -> socket.socket:
    stack.enter_context(listener)
    stack.enter_context(client)
    return stack.enter_context(listener.accept()[0])


def test_a_client_is_an_address_a_network_or_a_user(open_folder: Path) -> None:
    with ExitStack() as stack:
        port = free_port()
        four = sockets.listen(InetAddress("127.0.0.1", port))
        four.setblocking(True)
        assert (
            client_key(_accepted(stack, four, socket.create_connection(("127.0.0.1", port))))
            == "127.0.0.1"
        )
        unix = sockets.listen(UnixAddress(f"{open_folder}/x.sock"))
        unix.setblocking(True)
        client = socket.socket(socket.AF_UNIX)
        client.connect(f"{open_folder}/x.sock")
        assert client_key(_accepted(stack, unix, client)) == f"user {os.getuid()}"


class _From:
    """A socket whose peer has an address."""

    family = socket.AF_INET6

    def __init__(self, address: str) -> None:
        self._address = address

    def getpeername(self) -> tuple[str, int, int, int]:
        if not self._address:
            raise OSError("not connected")
        return self._address, 4711, 0, 0


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_addresses_of_ipv6(address: str, client: str) -> None:
    assert client_key(_From(address)) == client  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("allowed", "inside"), [("192.0.2.0/24", False), ("127.0.0.0/8 ::1/128", True)]
)
async def test_who_is_in_no_allowed_network_is_closed_without_a_word(
    house: House, allowed: str, inside: bool, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    with contextlib.closing(sockets.listen(InetAddress("127.0.0.1", port))) as listener:
        server = LineServer(allowed=allowed, note=house.noted.append)
        await server.start(listener)
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"a\n")
            with contextlib.suppress(ConnectionError):
                assert await reader.read(2) == (b"a\n" if inside else b"")
            writer.close()
        await server.drain(0)
    assert (server.met, house.noted) == ((3, []) if inside else (0, ["foreign"] * 3))
    told = [record.message for record in caplog.records if "may not connect" in record.message]
    assert told == (
        []
        if inside
        else ["127.0.0.1 may not connect: it is in none of the networks that are allowed"]
    )
