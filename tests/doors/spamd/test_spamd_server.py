"""The door on a socket: one request a connection, half-closed or not, slow, broken, too many, and
how it stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.doors.guard import NO_ANSWER, HandlerGuard
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import ACCEPT, BUSY, ReplyAction, SessionReply, VerdictDetails
from oborona.doors.spamd import rspamc, spamc, tell_feedback
from oborona.doors.spamd.request import TrustOptions
from oborona.doors.spamd.server import SpamdRequestHandler, SpamdServer
from oborona.feedback.events.model import EventKind, FeedbackEvent
from oborona.types import Action, Client, Envelope, Stage, Verdict
from tests.peers.spamc import ask, connected, request, rest

PROMPT_S = 10.0  # against hangs alone
JUDGED = SessionReply(
    answer=ACCEPT.answer,
    judged=VerdictDetails(
        verdict=Verdict(action=Action.ACCEPT, score=1.0, line=100.0, decided_by="below-threshold"),
        ident="X",
        reference="x",
        spam_score=100.0,
        reject_score=200.0,
    ),
)
GOOD = b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; 1.0 / 100.0\r\n\r\n"
PING = b"PING SPAMC/1.5\r\n\r\n"


class Moody:
    """Does what the first words of the message ask for."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def glance(
        self,
        stage: Stage,
        envelope: Envelope,
        port: str,
        *,
        after: Stage | None = None,
        reached: Stage | None = None,
    ) -> SessionReply:
        raise AssertionError("messages alone come by this door")

    async def whole(self, envelope: Envelope, message: RawMessage, port: str) -> SessionReply:
        self._house.envelopes.append(envelope)
        do = message.raw.split()[0] if message.raw.split() else b""
        match do:
            case b"fail":
                raise RuntimeError("the session fails, as it was asked to")
            case b"hang":
                await asyncio.sleep(3600)
            case b"wait":
                await self._house.gate.wait()
            case b"busy":
                return BUSY
        return JUDGED

    def unjudged(self, message: RawMessage) -> SessionReply:
        return NO_ANSWER

    def put_off(self, *, busy: bool) -> SessionReply:
        return BUSY if busy else NO_ANSWER

    def close(self) -> None:
        self._house.closed += 1


class House:
    """A door and the way to it."""

    def __init__(self, folder: Path) -> None:
        self.address = f"unix:{folder}/spamd.sock"
        self.listener = sockets.listen(UnixAddress(f"{folder}/spamd.sock"))
        self.envelopes: list[Envelope] = []
        self.events: list[FeedbackEvent] = []
        self.on_disk = True
        self.closed = 0
        self.notes: Counter[str] = Counter()
        self.gate = asyncio.Event()

    async def open(
        self, *, guard_s: float = 5.0, tell: bool = True, limit: int = 100_000, **settings: float
    ) -> SpamdServer:
        desk = SpamdRequestHandler(
            sessions=lambda: Moody(self),
            guard=HandlerGuard(ReplyAction.CONTINUE, guard_s),
            believing=TrustOptions(
                received=True, person="{user}", submission_port="", limit_bytes=limit
            ),
            name="mx.test",
            scale=1.0,
            tell=tell,
            key=b"k" * 32,
            keep=self._keep,
            note=lambda what: self.notes.update([what]),
        )
        self.server = SpamdServer(
            desk,
            idle_s=settings.get("idle_s", 60.0),
            request_s=settings.get("request_s", 10.0),
            max_connections=int(settings.get("max_connections", 100)),
            max_per_client=int(settings.get("max_per_client", 0)),
            room=MemoryBudget(int(settings.get("room", 1 << 30))),
        )
        await self.server.start(self.listener)
        return self.server

    async def _keep(self, event: FeedbackEvent) -> bool:
        self.events.append(event)
        return self.on_disk

    async def ask(self, said: bytes, *, half_close: bool = True) -> bytes:
        """Ask in a thread: the door runs on this loop."""
        asking = asyncio.to_thread(ask, self.address, said, half_close=half_close)
        return await asyncio.wait_for(asking, PROMPT_S)


@pytest.fixture
async def house(open_folder: Path) -> AsyncIterator[House]:
    house = House(open_folder)
    yield house
    await house.server.drain(0)
    sockets.close_and_unlink(house.listener)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PROMPT_S):
        while not true():  # noqa: ASYNC110 - it looks at what has no event
            await asyncio.sleep(0.01)


async def until_empty(server: SpamdServer) -> None:
    await until(lambda: not server.sessions)


@pytest.mark.parametrize("half_close", [True, False])
async def test_a_request_is_answered_and_the_connection_ends(
    house: House, half_close: bool
) -> None:
    await house.open()
    assert await house.ask(request("CHECK", b"hi"), half_close=half_close) == GOOD
    assert await house.ask(PING, half_close=half_close) == spamc.PONG
    assert await house.ask(b"PING RSPAMC/1.3\r\n\r\n", half_close=half_close) == rspamc.PONG
    assert await house.ask(b"SKIP SPAMC/1.2\r\n", half_close=half_close) == b""
    await until_empty(house.server)
    assert (house.closed, house.notes) == (1, {"answered": 1})


async def test_a_message_without_a_length_ends_with_the_clients_half(house: House) -> None:
    await house.open()
    assert await house.ask(b"CHECK SPAMC/1.5\r\nUser: joe@b.example\r\n\r\nhi\r\n") == GOOD
    assert house.envelopes == [
        Envelope(client=Client(unknown=True), recipients=("joe@b.example",), holds=False)
    ]


async def test_every_octet_of_a_request_may_come_alone(house: House) -> None:
    await house.open()
    reader, writer = await asyncio.open_unix_connection(house.address.removeprefix("unix:"))
    for octet in request("CHECK", b"hi there"):
        writer.write(bytes([octet]))
        await writer.drain()
        await asyncio.sleep(0)
    assert await asyncio.wait_for(reader.read(), PROMPT_S) == GOOD
    writer.close()


@pytest.mark.parametrize(
    ("said", "want"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"SPAMD/1.1 76 EX_PROTOCOL Bad request: not a command: b'GET / HTTP/1.1'\r\n"),
        (request("CHECK", b"hi")[:-1], b"SPAMD/1.1 76 EX_PROTOCOL Bad request: a message of 2 bytes ends after 1\r\n"),
        (b"CHECK SPAMC/1.5\r\n", (b"SPAMD/1.1 76 EX_PROTOCOL Bad request: a request breaks off "
            b"before its "
            b"message\r\n")),
        (request("PROCESS", b"hi", "RSPAMC/1.3"), b"RSPAMD/1.3 76 EX_PROTOCOL Bad request: rspamd has no PROCESS\r\n"),
        (request("CHECK", b"hi", "RSPAMC/1.3", "IP: x"), b"RSPAMD/1.3 76 EX_PROTOCOL Bad request: not a client address: 'x'\r\n"),
    ],
)  # fmt: skip
async def test_a_broken_request_is_told_so_in_its_protocol(
    house: House, said: bytes, want: bytes
) -> None:
    await house.open()
    assert await house.ask(said) == want
    assert house.notes == {"broken": 1}
    await until_empty(house.server)


async def test_an_answer_is_heard_while_the_client_still_writes(house: House) -> None:
    await house.open()
    much = b"nonsense\r\n" + b"x" * 3_000_000
    assert (await house.ask(much)).startswith(b"SPAMD/1.1 76 EX_PROTOCOL")
    assert await house.ask(request("CHECK", b"hi") + b"x" * 3_000_000) == GOOD


async def test_a_message_over_the_limit_is_judged_by_its_head(house: House) -> None:
    await house.open(limit=100_000)
    assert await house.ask(request("CHECK", b"x" * 5_000_000)) == GOOD


@pytest.mark.parametrize("said", [b"", b"PING SPAMC/1.5"])
async def test_who_comes_and_goes_leaves_nothing(house: House, said: bytes) -> None:
    await house.open()
    with contextlib.closing(connected(house.address)) as sock:
        sock.sendall(said)
    await until_empty(house.server)
    assert not house.envelopes


@pytest.mark.parametrize(
    ("do", "note"), [(b"busy", "busy"), (b"fail", "failed"), (b"hang", "failed")]
)
async def test_where_nobody_judges_the_client_is_told_to_come_again(
    house: House, do: bytes, note: str
) -> None:
    await house.open(guard_s=0.3)
    assert await house.ask(request("CHECK", do)) == spamc.TOO_BUSY
    answer = await house.ask(request("CHECK", do, "RSPAMC/1.3"))
    words = b"4.3.2 Too busy" if do == b"busy" else b"4.3.0 Service unavailable"
    assert b"\r\nAction: soft reject\r\n%b, try again later\r\n" % words in answer
    assert (house.closed, house.notes) == (2, {note: 2})


async def test_the_session_of_a_client_that_is_gone_ends(house: House) -> None:
    await house.open(guard_s=PROMPT_S)
    with contextlib.closing(connected(house.address)) as sock:
        sock.sendall(request("CHECK", b"hang"))
        await until(lambda: house.envelopes)
    # whoever has closed looks like whoever waits, until the answer is written
    await house.server.drain(0)
    await until(lambda: house.closed)
    assert house.server.sessions == 0


async def test_half_a_request_is_waited_for_no_longer_than_allowed_however_it_trickles(
    house: House,
) -> None:
    await house.open(request_s=0.5)
    sock = connected(house.address)
    with contextlib.closing(sock):
        sock.sendall(b"CHECK SPAMC/1.5\r\n")
        async with asyncio.timeout(PROMPT_S):
            while not house.notes:
                with contextlib.suppress(OSError):
                    sock.sendall(b"A: b\r\n")
                await asyncio.sleep(0.02)
    await until_empty(house.server)
    assert house.notes == {"timeout": 1}


async def test_who_says_nothing_is_closed_when_idle(house: House) -> None:
    await house.open(idle_s=0.3)
    with contextlib.closing(connected(house.address)) as sock:
        assert await asyncio.wait_for(asyncio.to_thread(rest, sock), PROMPT_S) == b""


async def test_a_full_door_says_so(house: House) -> None:
    await house.open(max_connections=2)
    waiting = [asyncio.create_task(house.ask(request("CHECK", b"wait"))) for _ in range(2)]
    await until(lambda: len(house.envelopes) == 2)
    assert await house.ask(request("CHECK", b"hi")) == spamc.TOO_BUSY
    house.gate.set()
    assert await asyncio.gather(*waiting) == [GOOD, GOOD]
    assert await house.ask(request("CHECK", b"hi")) == GOOD
    assert house.notes == {"answered": 3, "busy": 1}


async def test_one_client_gets_no_more_than_its_share(house: House) -> None:
    await house.open(max_per_client=1)
    waiting = asyncio.create_task(house.ask(request("CHECK", b"wait")))
    await until(lambda: house.envelopes)
    assert await house.ask(request("CHECK", b"hi")) == spamc.TOO_BUSY
    house.gate.set()
    assert await waiting == GOOD


async def test_many_at_once_get_their_own_answers(house: House) -> None:
    await house.open()
    users = [f"user{number}@b.example" for number in range(40)]
    found = await asyncio.gather(
        *(house.ask(request("CHECK", b"hi", "SPAMC/1.5", f"User: {one}")) for one in users)
    )
    assert set(found) == {GOOD}
    assert sorted(one.recipients[0] for one in house.envelopes) == sorted(users)


async def test_who_has_just_come_is_answered_by_a_door_that_stops_and_who_waits_too(
    house: House,
) -> None:
    server = await house.open()
    waiting = asyncio.create_task(house.ask(request("CHECK", b"wait")))
    fresh = connected(house.address)
    await until(lambda: house.envelopes and server.sessions == 2)
    drained = asyncio.create_task(server.drain(PROMPT_S))
    await asyncio.sleep(0.05)
    assert not drained.done()
    with contextlib.closing(fresh):
        fresh.sendall(request("CHECK", b"hi"))
        assert await asyncio.wait_for(asyncio.to_thread(rest, fresh), PROMPT_S) == GOOD
    house.gate.set()
    assert await waiting == GOOD
    await asyncio.wait_for(drained, PROMPT_S)


# --- TELL ---

SPAM = request(
    "TELL", b"hi", "SPAMC/1.5", "Message-class: spam", "Set: local", "User: joe@b.example"
)


async def test_what_is_told_is_answered_when_it_is_written_down(house: House) -> None:
    await house.open()
    assert await house.ask(SPAM) == b"SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\n\r\n"
    assert [(one.what, one.person) for one in house.events] == [
        (EventKind.COMPLAINT, "joe@b.example")
    ]
    house.on_disk = False
    assert await house.ask(SPAM) == tell_feedback.NOT_WRITTEN
    assert (house.notes, house.closed) == ({"told": 1, "failed": 1}, 0)


async def test_nobody_tells_anything_where_it_is_switched_off(house: House) -> None:
    await house.open(tell=False)
    assert await house.ask(SPAM) == tell_feedback.FORBIDDEN
    assert (house.events, house.notes) == ([], {"unauthorized": 1})


async def test_what_says_nothing_is_not_written_down(house: House) -> None:
    await house.open()
    assert (await house.ask(SPAM.replace(b"joe@b.example", b"joe"))).startswith(
        b"SPAMD/1.1 77 EX_NOPERM"
    )
    assert (house.events, house.notes) == ([], {"refused": 1})


async def test_without_room_a_request_is_put_off_and_the_room_comes_back(house: House) -> None:
    await house.open(room=90_000)
    large = b"Subject: x\r\n\r\n" + b"x" * 150_000
    assert await house.ask(request("CHECK", large)) == spamc.TOO_BUSY
    assert house.notes["busy"] == 1
    small = b"Subject: x\r\n\r\n" + b"x" * 60_000
    for _ in range(3):
        assert await house.ask(request("CHECK", small)) == GOOD
    packed = request("CHECK", zlib.compress(large), "SPAMC/1.5", "Compress: zlib")
    assert await house.ask(packed) == spamc.TOO_BUSY
    answer = await house.ask(request("CHECK", large, "RSPAMC/1.3"))
    assert answer.endswith(b"\r\nAction: soft reject\r\n4.3.2 Too busy, try again later\r\n")
