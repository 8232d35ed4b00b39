"""A worker's line to the reader: over a real socket, with the reader there, away, back, silent and
full.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.daemon.reader import connection
from oborona.daemon.reader.connection import PICTURES, ReaderConnection
from oborona.daemon.reader.picture_client import PictureClient
from oborona.daemon.reader.service import ReaderService, listen
from oborona.daemon.reader.wire import PictureOutcome, ReaderTask
from oborona.message.model import Picture, PictureOrigin
from oborona.policy.pictures import STOPPED
from tests.daemon.reader.plans import desk


def picture(what: str, **more: Any) -> Picture:
    octets = what.encode()
    return Picture(
        octets=octets,
        sha256=sha256(octets).digest(),
        name="",
        kind="png",
        place=PictureOrigin.ATTACHED,
        **more,
    )


class Running:
    """A reader of odd children."""

    def __init__(self, folder: Path, **plan: object) -> None:
        self.folder, self.plan = folder, plan
        self.socket: socket.socket | None = None
        self.service: ReaderService | None = None

    async def start(self) -> None:
        self.socket = listen(self.folder)
        self.service = ReaderService(desk(**self.plan))  # type: ignore[arg-type]
        await self.service.start(self.socket)

    async def stop(self) -> None:
        assert self.service is not None
        await self.service.close()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    one = Running(tmp_path, limit_s=1.5)
    await one.start()
    yield one
    await one.stop()


@pytest.fixture
async def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ReaderConnection]:
    monkeypatch.setattr(connection, "RETRY_S", 0.05)
    one = ReaderConnection(tmp_path / state_files.READER_SOCKET)
    yield one
    await one.close()


async def outcome(line: ReaderConnection, what: str, within_s: float = 10.0) -> PictureOutcome:
    result = await line.ask(ReaderTask.READ, picture(what), urgent=True, within_s=within_s)
    return result.outcome


async def test_questions_are_answered_as_they_are_done(
    running: Running, line: ReaderConnection
) -> None:
    assert await outcome(line, "warm") is PictureOutcome.DONE
    results = await asyncio.gather(*(outcome(line, what) for what in ("hang", "a", "crash", "b")))
    assert results == [
        PictureOutcome.STOPPED,
        PictureOutcome.DONE,
        PictureOutcome.STOPPED,
        PictureOutcome.DONE,
    ]
    assert PICTURES.values == {("read", "done"): 3, ("read", "stopped"): 2}


async def test_a_large_picture_goes_over(running: Running, line: ReaderConnection) -> None:
    large = "large " + "x" * 900_000
    assert await outcome(line, large) is PictureOutcome.DONE


async def test_a_question_takes_no_longer_than_it_may(
    running: Running, line: ReaderConnection
) -> None:
    await outcome(line, "warm")
    started = time.monotonic()
    assert await outcome(line, "pause 0.9", within_s=0.1) is PictureOutcome.LATE
    assert time.monotonic() - started < 0.8
    assert await outcome(line, "pause 0.9") is PictureOutcome.DONE, (
        "and is answered from what was being done"
    )


async def test_without_a_reader_the_answer_is_known_at_once_and_said_once(
    line: ReaderConnection, caplog: pytest.LogCaptureFixture
) -> None:
    started = time.monotonic()
    assert [await outcome(line, what) for what in "abc"] == [PictureOutcome.AWAY] * 3
    assert time.monotonic() - started < 5.0, "it could have waited ten seconds"
    assert [record.message for record in caplog.records] == [
        "no image reader: pictures are not looked at"
    ]


async def test_a_reader_that_goes_away_and_comes_back(
    tmp_path: Path, line: ReaderConnection, caplog: pytest.LogCaptureFixture
) -> None:
    first = Running(tmp_path)
    await first.start()
    assert await outcome(line, "a") is PictureOutcome.DONE
    asked = asyncio.create_task(outcome(line, "pause 1"))
    await asyncio.sleep(0.2)
    await first.stop()
    assert await asked is PictureOutcome.AWAY
    assert await outcome(line, "b") is PictureOutcome.AWAY
    second = Running(tmp_path)
    await second.start()
    await asyncio.sleep(0.1)
    assert await outcome(line, "b") is PictureOutcome.DONE
    await second.stop()


async def test_a_reader_that_is_silent_costs_the_time_that_there_is(
    tmp_path: Path, line: ReaderConnection
) -> None:
    with listen(tmp_path):  # nobody accepts
        started = time.monotonic()
        assert await outcome(line, "a", within_s=0.2) is PictureOutcome.LATE
        assert time.monotonic() - started < 1.0


async def test_a_reader_whose_answers_are_nonsense_is_left(
    tmp_path: Path, line: ReaderConnection, caplog: pytest.LogCaptureFixture
) -> None:
    async def nonsense(stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\x00\x00\x01\xff")
        await stream.read()
        writer.close()

    async with await asyncio.start_unix_server(
        nonsense, str(tmp_path / state_files.READER_SOCKET)
    ) as server:
        assert await outcome(line, "a") is PictureOutcome.AWAY
        server.close()
    assert "the image reader's answers are broken" in caplog.text


async def test_a_worker_that_talks_nonsense_loses_its_connection_alone(
    running: Running, line: ReaderConnection
) -> None:
    stream, writer = await asyncio.open_unix_connection(
        str(running.folder / state_files.READER_SOCKET)
    )
    writer.write(b"\x00\x00\x00\x02\xff\xff")
    assert await stream.read() == b""
    writer.close()
    assert await outcome(line, "a") is PictureOutcome.DONE


async def test_the_socket_is_for_the_daemons_user_alone(running: Running) -> None:
    assert (running.folder / state_files.READER_SOCKET).stat().st_mode & 0o777 == 0o600


async def test_pictures_come_back_in_their_order_with_what_is_known(
    running: Running, line: ReaderConnection
) -> None:
    eyes = PictureClient(line, look_s=10.0, read_s=10.0)
    view = await eyes.read(
        [picture("eat 1"), picture("hang"), picture("known", read=True, text="before")]
    )
    assert [one.text for one in view.pictures] == ["1 MiB", "", "before"]
    assert [one.read for one in view.pictures] == [True, False, True]
    assert [finding.name for finding in view.findings] == [STOPPED]
    _, again = await eyes.tried(ReaderTask.READ, view.pictures)
    assert not again, "one that was stopped is not worth another try"


async def test_where_the_reader_is_away_asking_again_may_help(line: ReaderConnection) -> None:
    view, again = await PictureClient(line, look_s=1.0, read_s=1.0).tried(
        ReaderTask.LOOK, [picture("a")]
    )
    assert again
    assert view.pictures == (picture("a"),)
    assert view.findings == ()
