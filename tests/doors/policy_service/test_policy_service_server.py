"""The policy service on a socket: answers in order, no answer in trouble, limits, and how it
stops.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.doors.policy_service.server import PolicyServiceServer
from oborona.doors.reply import CONTINUE, SessionReply, refusal_reply
from oborona.types import Client
from tests.doors.handlers import Nod
from tests.peers.policy_client import PolicyClient, request

NAP_S = 0.3
PROMPT_S = 8.0  # against hangs alone

T = TypeVar("T")


class Moody(Nod):
    """Does at connect what the client's name asks for."""

    def __init__(self, closed: list[str]) -> None:
        self._closed = closed
        self._name = ""

    async def connect(self, client: Client) -> SessionReply:
        self._name = client.name
        match client.name:
            case "refuse":
                return refusal_reply(554, "5.7.1", "no entry")
            case "fail":
                raise RuntimeError("the door fails, as it was asked to")
            case "hang":
                await asyncio.sleep(3600)
            case "nap":
                await asyncio.sleep(NAP_S)
        return CONTINUE

    def close(self) -> None:
        self._closed.append(self._name)


class House:
    """A policy service and the way to it."""

    def __init__(self, folder: Path) -> None:
        self.address = f"unix:{folder}/policy.sock"
        self.listener = sockets.listen(UnixAddress(f"{folder}/policy.sock"))
        self.closed: list[str] = []

    async def open(self, **settings: Any) -> PolicyServiceServer:
        asked: dict[str, Any] = {"idle_s": 60.0, "guard_s": 5.0, "half_s": 5.0} | settings
        self.server = PolicyServiceServer(
            lambda: Moody(self.closed), max_connections=asked.pop("max_connections", 100), **asked
        )
        await self.server.start(self.listener)
        return self.server

    def client(self) -> PolicyClient:
        return PolicyClient(self.address)


@pytest.fixture
async def house(open_folder: Path) -> AsyncIterator[House]:
    house = House(open_folder)
    yield house
    await house.server.drain(0)
    sockets.close_and_unlink(house.listener)


async def there(call: Callable[..., T], **said: str) -> T:
    """Do what blocks in a thread: the service runs on this loop."""
    return await asyncio.wait_for(asyncio.to_thread(call, **said), PROMPT_S)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PROMPT_S):
        while not true():  # noqa: ASYNC110 - it looks at what has no event
            await asyncio.sleep(0.01)


def client(name: str, port: int = 1) -> dict[str, str]:
    return {
        "protocol_state": "CONNECT",
        "client_address": "192.0.2.9",
        "client_name": name,
        "client_port": str(port),
    }


async def test_one_connection_has_many_answers_in_the_order_of_its_requests(house: House) -> None:
    await house.open()
    with house.client() as postfix:
        assert await there(postfix.ask, **client("good")) == "DUNNO"
        assert await there(postfix.ask, **client("refuse")) == "554 5.7.1 no entry"
        postfix.send(
            b"".join(request(**client(name)) for name in ("nap", "refuse", "good", "refuse"))
        )
        answers = [await there(postfix.action) for _ in range(4)]
        assert answers == ["DUNNO", "554 5.7.1 no entry", "DUNNO", "554 5.7.1 no entry"]
        assert house.server.sessions == 1
    await until(lambda: house.server.sessions == 0)
    assert house.closed == ["good", "refuse", "nap", "refuse", "good", "refuse"]


@pytest.mark.parametrize(
    "broken",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n",
        b"request=other\n\n",
        b"request=smtpd_access_policy\nx\n\n",
        b"x" * 9000,
    ],
)
async def test_a_broken_request_is_logged_once_and_ends_the_connection_without_an_answer(
    house: House, broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open()
    with house.client() as postfix:
        postfix.send(request(**client("good")) + broken + request(**client("good")))
        assert await there(postfix.action) == "DUNNO"
        assert await there(postfix.ended)
    (record,) = caplog.records
    assert record.name == "oborona.policy_service"
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)


async def test_a_door_that_fails_ends_the_connection_without_an_answer_and_the_log_says_where(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open()
    with house.client() as postfix, house.client() as other:
        postfix.send(request(**client("fail")))
        assert await there(postfix.ended)
        assert await there(other.ask, **client("good")) == "DUNNO"
    (record,) = caplog.records
    assert record.exc_info
    assert "as it was asked to" in str(record.exc_info[1])
    assert house.closed[0] == "fail"


async def test_a_door_that_hangs_ends_the_connection_after_its_time(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(guard_s=0.2)
    with house.client() as postfix:
        postfix.send(request(**client("hang")))
        assert await there(postfix.ended)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_client_that_leaves_ends_what_is_being_asked(house: House) -> None:
    await house.open()
    with house.client() as postfix:
        postfix.send(request(**client("hang")))
        await until(lambda: house.server.sessions == 1)
        await asyncio.sleep(0.1)
    await until(lambda: house.closed == ["hang"])
    assert house.server.sessions == 0


async def test_half_a_request_is_waited_for_a_while(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(half_s=0.3)
    whole = request(**client("good"))
    with house.client() as slow, house.client() as drop:
        for start in range(0, len(whole), 40):
            slow.send(whole[start : start + 40])
            await asyncio.sleep(0.01)
        assert await there(slow.action) == "DUNNO"
        await asyncio.sleep(0.5)  # an idle connection is no half request
        assert await there(slow.ask, **client("good")) == "DUNNO"
        assert not caplog.records

        async def drip() -> None:
            for byte in whole:  # each byte is a sign of life, and the request is late all the same
                drop.send(bytes([byte]))
                await asyncio.sleep(0.05)

        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            await drip()
        assert await there(drop.ended)
    assert "half a request" in caplog.text


async def test_a_client_that_reads_no_answers_is_cut_off(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(half_s=0.3)
    flood = request(**client("refuse")) * 1000

    def pour() -> None:
        with house.client() as rude:
            rude.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            while True:
                rude.send(flood)

    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        await there(pour)
    assert "answers are not read" in caplog.text
    await until(lambda: house.server.sessions == 0)


async def test_an_idle_connection_is_closed_and_a_thinking_one_is_not(house: House) -> None:
    await house.open(idle_s=0.2)
    with house.client() as idle, house.client() as busy:
        assert await there(idle.ask, **client("good")) == "DUNNO"
        busy.send(request(**client("nap")) * 3)
        assert [await there(busy.action) for _ in range(3)] == ["DUNNO"] * 3
        assert await there(idle.ended)


async def test_connections_over_the_limit_wait_for_one_to_end(house: House) -> None:
    await house.open(max_connections=1)
    with house.client() as first, house.client() as second:
        assert await there(first.ask, **client("good")) == "DUNNO"
        second.send(request(**client("good")))
        await asyncio.sleep(0.1)
        assert house.server.sessions == 1
        first.sock.close()
        assert await there(second.action) == "DUNNO"


async def test_one_client_gets_no_more_than_its_share(house: House) -> None:
    noted: list[str] = []
    await house.open(max_per_client=1, note=noted.append)
    with house.client() as first, house.client() as second:
        assert await there(first.ask, **client("good")) == "DUNNO"
        assert await there(second.ended)
        assert await there(first.ask, **client("refuse")) == "554 5.7.1 no entry"
    assert noted == ["crowded"]


async def test_draining_closes_idle_connections_at_once_and_answers_what_is_asked(
    house: House,
) -> None:
    server = await house.open()
    with house.client() as idle, house.client() as fresh, house.client() as asking:
        assert await there(idle.ask, **client("good")) == "DUNNO"
        asking.send(request(**client("nap")))
        await until(lambda: server.sessions == 3)
        await asyncio.sleep(NAP_S / 3)
        drained = asyncio.create_task(server.drain(60.0))
        assert await there(idle.ended)
        assert await there(fresh.ended)
        assert not drained.done()
        assert await there(asking.action) == "DUNNO"
        assert await there(asking.ended)
        await asyncio.wait_for(drained, PROMPT_S)


async def test_what_is_not_over_after_the_grace_is_cut(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    server = await house.open()
    with house.client() as half, house.client() as hang:
        half.send(request(**client("good"))[:20])
        hang.send(request(**client("hang")))
        await until(lambda: server.sessions == 2)
        await asyncio.sleep(0.1)
        await asyncio.wait_for(server.drain(0.2), PROMPT_S)
        assert await there(half.ended)
        assert await there(hang.ended)
    assert "2 sessions cut" in caplog.text
