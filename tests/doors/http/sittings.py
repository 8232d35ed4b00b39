"""An HTTP door over sessions that say what a test tells them to."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path

import aiohttp
import msgspec

from oborona.accounts.addresses.address_report import count_address
from oborona.config import load_settings
from oborona.config.address import UnixAddress
from oborona.counters.memory import MemoryCounters
from oborona.daemon import sockets
from oborona.dns import DnsAnswer, DnsAsker, DnsType
from oborona.doors.context import DoorContext
from oborona.doors.guard import NO_ANSWER
from oborona.doors.http.access_keys import access_keys
from oborona.doors.http.server import ScanHttpServer
from oborona.doors.login_attempt import LoginAttempt
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import SessionReply, VerdictDetails
from oborona.feedback.events.model import FeedbackEvent
from oborona.message.hashing import Hasher
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.session.session import Session
from oborona.types import Action, Envelope, RuleHit, Stage, Verdict
from tests.daemon.intake.takings import KEY

LONG_S = 60.0
ROOT = Path(__file__).resolve().parents[3]
TOKEN = "0123456789abcdef"


def judged(action: Action = Action.ACCEPT, score: float = 12.5) -> VerdictDetails:
    return VerdictDetails(
        verdict=Verdict(
            action=action,
            score=score,
            line=100.0,
            decided_by="below-threshold",
            rules=(RuleHit(name="NO_NAME", score=10.0, say="it has no name"),),
        ),
        ident="0SACAQKB800DF.H6KKNH5L7YB2AE4E",
        reference="0SACAQKB800DF",
        spam_score=100.0,
        reject_score=200.0,
        karma=-3.0,
    )


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that nobody tells of."""
    async with asyncio.timeout(LONG_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@cache
def shipped_policy() -> Policy:
    """Return the policy as it ships."""
    return load_policy(ROOT / "etc/policy.d", SCHEMA)


class NobodyAsked(DnsAsker):
    """What stands for the DNS where the door asks nothing of it."""

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        raise AssertionError(f"{name} was asked")


class Sitting(Session):
    """What stands for a session: it says `says`, or raises it, once the gate is open."""

    def __init__(self, room: Sittings) -> None:
        self._room = room

    async def whole(self, envelope: Envelope, message: RawMessage, port: str) -> SessionReply:
        self._room.asked.append((envelope, message, port))
        return await self._reply()

    async def glance(
        self,
        stage: Stage,
        envelope: Envelope,
        port: str,
        *,
        after: Stage | None = None,
        reached: Stage | None = None,
    ) -> SessionReply:
        self._room.glanced.append((stage, envelope, port, after))
        return await self._reply()

    def unjudged(self, message: RawMessage) -> SessionReply:
        return NO_ANSWER

    def close(self) -> None:
        self._room.closed += 1

    async def _reply(self) -> SessionReply:
        self._room.began.release()
        await self._room.gate.wait()
        self._room.ended += 1
        if isinstance(self._room.says, Exception):
            raise self._room.says
        return self._room.says


class Sittings:
    """A door on a socket file, and what came to its sessions.

    Args:
        folder: of the socket.
        settings: by name, over those of [doors.http]; of other sections by SECTION.KEY.
    """

    def __init__(self, folder: Path, **settings: object) -> None:
        self.path = folder / "http.sock"
        self.says: SessionReply | Exception = SessionReply(judged=judged())
        self.asked: list[tuple[Envelope, RawMessage, str]] = []
        self.glanced: list[tuple[Stage, Envelope, str, Stage | None]] = []
        self.closed = self.ended = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.began = asyncio.Semaphore(0)
        self.notes: Counter[str] = Counter()
        self.events: list[FeedbackEvent] = []
        self.keeps = True
        self.banned: set[str] = set()
        self.attempts: list[LoginAttempt] = []
        self.recorded: list[LoginAttempt] = []
        self.policy: Callable[[], Policy] = shipped_policy
        self.asker: DnsAsker = NobodyAsked()
        self.counters = MemoryCounters()
        given = {"listen": f"unix:{self.path}", "read_s": LONG_S, "idle_s": LONG_S} | settings
        named = {
            name if "." in name else f"doors.http.{name}": str(value)
            for name, value in given.items()
        }
        self.settings = load_settings(None, named).settings

    def premises(self) -> DoorContext:
        return DoorContext(
            settings=self.settings,
            sessions=lambda: Sitting(self),
            asker=lambda: self.asker,
            name="mx.test",
            state=self.path.parent,
            signing_key=KEY,
            note=self._note,
            keep=self._keep,
            logins=self,
            record_login=self.recorded.append,
            policy=self.policy,
            count_address=self._count,
            room=MemoryBudget(self.settings.worker.max_bodies_bytes),
        )

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Sittings]:
        self.server = ScanHttpServer(self.premises(), access_keys(self.settings.doors.http))
        listener = sockets.listen(UnixAddress(str(self.path)))
        await self.server.start(listener)
        try:
            yield self
        finally:
            self.gate.set()
            await self.server.drain(LONG_S)
            listener.close()

    def client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(self.path)),
            timeout=aiohttp.ClientTimeout(LONG_S),
            skip_auto_headers=["Content-Type"],
        )

    async def post(
        self, path: str, body: object = b"", headers: object = (), *, method: str = "POST"
    ) -> tuple[int, dict[str, object]]:
        """Return status and answer; a body that is not bytes goes as JSON."""
        named = list(dict(headers).items() if isinstance(headers, dict) else headers)  # type: ignore[call-overload]
        if not isinstance(body, bytes):
            body = msgspec.json.encode(body)
            named.append(("Content-Type", "application/json"))
        async with (
            self.client() as client,
            client.request(method, f"http://door{path}", data=body, headers=named) as answer,
        ):
            return answer.status, msgspec.json.decode(await answer.read())

    async def says_to(self, *pieces: bytes, pause_s: float = 0.0) -> bytes:
        """Return all that is answered to some bytes, whatever they are."""
        async with asyncio.timeout(LONG_S):
            stream, writer = await asyncio.open_unix_connection(self.path)
            try:
                with contextlib.suppress(ConnectionError):
                    for piece in pieces:
                        writer.write(piece)
                        await writer.drain()
                        await asyncio.sleep(pause_s)
                    return await stream.read()
                return b""
            finally:
                writer.close()

    def forbids(self, login: str) -> bool:
        return login in self.banned

    async def failed(self, attempt: LoginAttempt) -> bool:
        self.attempts.append(attempt)
        return True

    async def _count(self, address: str) -> dict[str, int]:
        return await count_address(self.counters, Hasher(KEY), address, time.time())

    def _note(self, outcome: str) -> None:
        self.notes[outcome] += 1

    async def _keep(self, event: FeedbackEvent) -> bool:
        if self.keeps:
            self.events.append(event)
        return self.keeps
