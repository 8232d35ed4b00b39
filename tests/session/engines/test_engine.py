"""One engine as a worker asks it: whatever it does, an opinion or none, in time.

And what is said of that.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oborona.config import EngineSettings, InetAddress, UnixAddress
from oborona.errors import PeerError
from oborona.policy.engine_table import EngineName
from oborona.policy.engines import EngineOpinion
from oborona.session.engines import rspamd
from oborona.session.engines.breaker import FAILURES, FIRST_PAUSE_S
from oborona.session.engines.clamd import ClamdClient
from oborona.session.engines.engine import (
    ANSWERED,
    AWAY,
    BROKEN,
    BUSY,
    FAULT,
    QUESTIONS,
    TIMEOUT,
    UNREACHABLE,
    ExternalEngine,
)
from oborona.session.engines.question import TOO_LARGE, EngineClient, EngineQuestion
from oborona.session.engines.rspamd import RspamdClient
from oborona.session.engines.spamd import SpamdClient
from oborona.types import Envelope
from tests.peers.ports import free_port
from tests.session.engines.test_answers import CLAMD, RSPAMD, SPAMD

LETTER = b"From: Ann <ann@a.example>\r\nSubject: lunch\r\n\r\nAt noon?\r\n"
QUESTION = EngineQuestion(
    LETTER, Envelope(sender="ann@a.example", recipients=("bob@b.example",)), len(LETTER)
)
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
NAMES: tuple[EngineName, ...] = ("rspamd", "spamd", "clamd")
GOOD = {"rspamd": HTTP % (len(RSPAMD), RSPAMD), "spamd": SPAMD, "clamd": CLAMD}

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def client_of(name: EngineName, port: int) -> EngineClient:
    address = InetAddress("127.0.0.1", port)
    if name == "rspamd":
        return RspamdClient(address, password="", most=8)
    if name == "spamd":
        return SpamdClient(address, site="mx.b.example", user="", clock=time.time)
    return ClamdClient(address)


def engine_of(name: EngineName, client: EngineClient, **settings: object) -> ExternalEngine:
    asked = EngineSettings(**{"deadline_s": 0.3} | settings)  # type: ignore[arg-type]
    return ExternalEngine(name, client, asked, clock=time.monotonic, wall=time.time)


@asynccontextmanager
async def peer(serve: Serve) -> AsyncIterator[int]:
    """A server that does what a test says with each connection."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(one, "127.0.0.1", free_port())
    async with server:
        yield server.sockets[0].getsockname()[1]


def saying(
    octets: bytes,
    *,
    pieces: int = 0,
    pause_s: float = 0.0,
    then_hang: bool = False,
    hangs_up: bool = False,
) -> Serve:
    """Hear a question, and answer in pieces."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        step = len(octets) // pieces + 1 if pieces else len(octets) or 1
        for place in range(0, len(octets), step):
            writer.write(octets[place : place + step])
            await writer.drain()
            await asyncio.sleep(pause_s)
        if then_hang:
            await asyncio.sleep(30)
        if hangs_up:
            writer.close()

    return serve


async def asked(name: EngineName, serve: Serve, **settings: object) -> EngineOpinion:
    async with peer(serve) as port:
        engine = engine_of(name, client_of(name, port), **settings)
        try:
            return await engine.ask(QUESTION)
        finally:
            await engine.close()


@pytest.mark.parametrize("name", NAMES)
async def test_an_answer_in_single_octets_is_the_answer(name: EngineName) -> None:
    whole = await asked(name, saying(GOOD[name]), deadline_s=10)
    cut = await asked(name, saying(GOOD[name], pieces=len(GOOD[name])), deadline_s=10)
    assert not whole.unknown
    assert (cut.action, cut.score, cut.symbols, cut.virus) == (
        whole.action,
        whole.score,
        whole.symbols,
        whole.virus,
    )


async def _hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def _floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


BOMB = gzip.compress(b" " * (64 << 20), 1)
TRUNCATED = [
    saying(GOOD["rspamd"][:-5]),
    saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    saying(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000),
    saying(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
        % (len(BOMB), BOMB)
    ),
    saying(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
    saying(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
    saying(b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("serve", "wanted"),
    [
        (_hangs_up, {UNREACHABLE, BROKEN}),
        (_never, {TIMEOUT}),
        (_floods, {BROKEN, TIMEOUT}),
        (saying(b""), {BROKEN, UNREACHABLE}),
        (saying(b"\xff\0" * 500), {BROKEN}),
        (saying(b"220 mail.example ESMTP\r\n"), {BROKEN}),
        (saying(b"x" * (2 << 20)), {BROKEN}),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", then_hang=True), {TIMEOUT}),
        (saying(SPAMD, pieces=20, pause_s=0.2), {TIMEOUT, BROKEN}),
        *((serve, {BROKEN, UNREACHABLE}) for serve in TRUNCATED),
    ],
)
async def test_whatever_a_peer_does_its_opinion_is_unknown_in_time(
    name: EngineName, serve: Serve, wanted: set[str]
) -> None:
    async with asyncio.timeout(10):
        assert (await asked(name, serve)).unknown in wanted


@pytest.mark.parametrize("name", NAMES)
async def test_an_engine_behind_a_socket_file_is_asked_like_any_other(name: EngineName) -> None:
    folder = Path(tempfile.mkdtemp(prefix="oborona-", dir="/tmp"))
    where = UnixAddress(str(folder / "engine.sock"))
    clients: dict[EngineName, Callable[[], EngineClient]] = {
        "rspamd": lambda: RspamdClient(where, password="", most=8),
        "spamd": lambda: SpamdClient(where, site="mx.b.example", user="", clock=time.time),
        "clamd": lambda: ClamdClient(where),
    }
    engine = engine_of(name, clients[name](), deadline_s=10)
    try:
        assert (await engine.ask(QUESTION)).unknown == UNREACHABLE
        async with await asyncio.start_unix_server(saying(GOOD[name], hangs_up=True), where.path):
            assert not (await engine.ask(QUESTION)).unknown
    finally:
        await engine.close()
        shutil.rmtree(folder)


async def test_nobody_there_is_unreachable() -> None:
    for name in NAMES:
        engine = engine_of(name, client_of(name, free_port()))
        assert (await engine.ask(QUESTION)).unknown == UNREACHABLE
        await engine.close()


async def test_rspamd_that_closed_an_idle_connection_is_asked_over_another() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(LETTER[-10:])
        writer.write(GOOD["rspamd"])
        await writer.drain()
        if connections == 1:
            await reader.read(10)  # the second question: hang up without a word

    async with peer(serve) as port:
        engine = engine_of("rspamd", client_of("rspamd", port), deadline_s=10)
        try:
            said = [await engine.ask(QUESTION) for _ in range(2)]
        finally:
            await engine.close()
    assert [one.unknown for one in said] == ["", ""]
    assert connections == 2


@pytest.mark.parametrize("name", NAMES)
async def test_a_large_message_goes_out_whole(name: EngineName) -> None:
    large, came = LETTER + b"x" * 3_000_000 + b"\r\nEND\r\n", 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        tail = b""
        while b"\r\nEND\r\n" not in tail:
            chunk = await reader.read(1 << 16)
            came, tail = came + len(chunk), (tail + chunk)[-100:]
        writer.write(GOOD[name])
        await writer.drain()

    async with peer(serve) as port:
        engine = engine_of(name, client_of(name, port), deadline_s=10, max_bytes=1 << 23)
        try:
            said = await engine.ask(QUESTION._replace(raw=large, size=len(large)))
        finally:
            await engine.close()
    assert said.unknown == ""
    assert came >= len(large)


async def test_rspamd_is_told_of_no_more_recipients_than_it_takes() -> None:
    many = Envelope(recipients=tuple(f"r{number}@b.example" for number in range(5000)))
    told = rspamd.request_headers(EngineQuestion(LETTER, many, len(LETTER)), "hush")
    assert sum(name == "Rcpt" for name, _ in told) == rspamd.MAX_RECIPIENTS
    assert ("Password", "hush") in told


class Scripted:
    """A client that does what a test says."""

    takes_heads = False

    def __init__(self, *answers: EngineOpinion | BaseException) -> None:
        self.answers = list(answers)
        self.questions: list[EngineQuestion] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        self.questions.append(question)
        await self.gate.wait()
        answer = (
            self.answers.pop(0)
            if self.answers
            else EngineOpinion(engine="rspamd", action="no action", score=0.0)
        )
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def ping(self) -> None:
        raise AssertionError

    async def close(self) -> None:
        pass


def clocked(client: EngineClient, **settings: object) -> tuple[ExternalEngine, list[float]]:
    now = [100.0]
    asks = EngineSettings(**{"deadline_s": 0.2} | settings)  # type: ignore[arg-type]
    return ExternalEngine(
        "rspamd", client, asks, clock=lambda: now[0], wall=lambda: 1e9 + now[0]
    ), now


async def test_trouble_is_logged_once_each_way_and_stands_in_the_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "oborona.engines")
    client = Scripted(*(ConnectionRefusedError("no") for _ in range(FAILURES + 1)))
    engine, now = clocked(client)
    for _ in range(FAILURES):
        assert (await engine.ask(QUESTION)).unknown == UNREACHABLE
    for _ in range(3):
        assert (await engine.ask(QUESTION)).unknown == AWAY
    status = engine.status()
    assert (status.away, status.why, status.since) == (True, "no", 1e9 + 100)
    now[0] += FIRST_PAUSE_S
    assert (await engine.ask(QUESTION)).unknown == UNREACHABLE
    now[0] += 2 * FIRST_PAUSE_S
    assert not (await engine.ask(QUESTION)).unknown
    assert [record.getMessage() for record in caplog.records] == [
        "engine is away",
        "engine is back",
    ]
    status = engine.status()
    assert (status.away, status.why) == (False, "")
    assert {outcome: number for (_, outcome), number in QUESTIONS.values.items()} == {
        UNREACHABLE: FAILURES + 1,
        AWAY: 3,
        ANSWERED: 1,
    }
    assert len(client.questions) == FAILURES + 2


async def test_a_fault_of_ours_costs_an_opinion_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, _ = clocked(Scripted(ZeroDivisionError("ours"), PeerError("theirs")))
    assert (await engine.ask(QUESTION)).unknown == FAULT
    assert "ZeroDivisionError" in caplog.text
    assert (await engine.ask(QUESTION)).unknown == BROKEN


async def test_beyond_its_number_of_questions_it_is_busy_and_no_less_well() -> None:
    client = Scripted()
    client.gate.clear()
    engine, _ = clocked(client, max_questions=2, deadline_s=10)
    waiting = [asyncio.create_task(engine.ask(QUESTION)) for _ in range(2)]
    await asyncio.sleep(0)
    for _ in range(2 * FAILURES):
        assert (await engine.ask(QUESTION)).unknown == BUSY
    client.gate.set()
    assert [(await one).unknown for one in waiting] == ["", ""]
    assert not (await engine.ask(QUESTION)).unknown


async def test_who_no_longer_waits_takes_no_room_and_says_nothing_of_its_health() -> None:
    client = Scripted()
    client.gate.clear()
    engine, _ = clocked(client, max_questions=1, deadline_s=10)
    for _ in range(2 * FAILURES):
        waiting = asyncio.create_task(engine.ask(QUESTION))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    client.gate.set()
    assert not (await engine.ask(QUESTION)).unknown
    assert {outcome: number for (_, outcome), number in QUESTIONS.values.items()} == {ANSWERED: 1}


async def test_what_is_too_large_is_not_asked_about_or_only_its_head() -> None:
    client = Scripted()
    engine, _ = clocked(client, max_bytes=1024)
    large = EngineQuestion(b"x" * 1025, Envelope(), 1025)
    part = EngineQuestion(LETTER, Envelope(), len(LETTER) + 1)
    assert [(await engine.ask(one)).unknown for one in (large, part)] == [TOO_LARGE, TOO_LARGE]
    assert client.questions == []
    client.takes_heads = True
    await engine.ask(large)
    await engine.ask(part)
    assert [(len(one.raw), one.whole) for one in client.questions] == [
        (1024, False),
        (len(LETTER), False),
    ]
