"""Slow and deaf peers of any protocol: half a request, answers that nobody reads, and the last
answer before a close.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oborona.doors import stream
from tests.doors.test_acceptor import PROMPT_S, House, ended, heard, until


@pytest.fixture
async def house(open_folder: Path) -> AsyncIterator[House]:
    house = House(open_folder / "lines.sock")
    yield house
    await house.close()


async def test_half_a_request_has_its_time_and_each_byte_does_not_prolong_it(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open(half_s=0.3)
    drip = await house.come()

    async def say() -> None:
        while True:
            drip[1].write(b"x")
            await drip[1].drain()
            await asyncio.sleep(0.02)

    with pytest.raises(OSError, match=r"Broken pipe|reset|lost"):
        await asyncio.wait_for(say(), PROMPT_S)
    assert "half a request" in caplog.text


async def test_the_time_is_that_of_one_request(house: House) -> None:
    await house.open(half_s=0.5)
    slow = await house.come()
    for number in range(4):
        slow[1].write(b"%d\nnex" % number)  # the next one begins with the end of the last
        assert await heard(slow) == (b"nex" if number else b"") + b"%d\n" % number
        await asyncio.sleep(0.3)


async def test_an_answer_that_is_sought_is_no_half_request(house: House) -> None:
    await house.open(half_s=0.1, nap_s=0.4)
    assert await heard(await house.come(), b"nap\n") == b"nap\n"


async def test_without_a_limit_half_a_request_waits(house: House) -> None:
    server = await house.open()
    slow = await house.come()
    slow[1].write(b"ha")
    await asyncio.sleep(0.3)
    assert server.sessions == 1
    assert await heard(slow, b"lf\n") == b"half\n"


def deaf(house: House) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.connect(house.path)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return client


async def test_answers_that_nobody_reads_are_not_gathered(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    server = await house.open(half_s=0.3)
    with deaf(house) as client:
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            await asyncio.wait_for(
                asyncio.to_thread(client.sendall, b"many\n" * 1_000_000), PROMPT_S
            )
        await until(lambda: server.sessions == 0)
    assert "answers are not read" in caplog.text


async def test_who_reads_again_in_time_goes_on(house: House) -> None:
    server = await house.open(half_s=5.0)
    whole = 1000 * (4 * 1000 + 1)
    with deaf(house) as client:
        await asyncio.to_thread(client.sendall, b"many\n" * 1000)
        await asyncio.sleep(0.2)

        def all_of_it() -> int:
            left = whole
            while left and (data := client.recv(min(left, 65_536))):
                left -= len(data)
            return left

        assert await asyncio.wait_for(asyncio.to_thread(all_of_it), PROMPT_S) == 0
    await until(lambda: server.sessions == 0)


async def test_a_last_answer_that_nobody_reads_holds_no_place(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stream, "CLOSING_S", 0.2)
    server = await house.open()
    with deaf(house) as client:
        client.sendall(b"bye\n")
        await until(lambda: server.met == 1)
        await until(lambda: server.sessions == 0)
    assert "answers are not read" in caplog.text


async def test_a_last_answer_that_is_read_comes_whole(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.open()
    client = await house.come()
    client[1].write(b"bye\n")
    assert len(await ended(client)) == 8_000_000
    assert not caplog.records
