"""An HTTP door over sessions that say what a test tells them to."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import msgspec

from oborona.config import load_settings
from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.dns import Asker
from oborona.doors.context import Premises
from oborona.doors.gather import Gathered
from oborona.doors.guard import NO_ANSWER
from oborona.doors.http.keys import keys
from oborona.doors.http.server import HttpServer
from oborona.doors.reply import Judged, Reply
from oborona.doors.room import Room
from oborona.feedback.events.model import Event
from oborona.session.session import Session
from oborona.types import Action, Envelope, RuleHit, Stage, Verdict
from tests.daemon.intake.takings import KEY

LONG_S = 60.0
TOKEN = "0123456789abcdef"


def judged(action: Action = Action.ACCEPT, score: float = 12.5) -> Judged:
    return Judged(
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


def _no_asker() -> Asker:
    raise AssertionError("the door itself asks nothing of the DNS")


class Sitting(Session):
    """What stands for a session: it says `says`, or raises it, once the gate is open."""

    def __init__(self, room: Sittings) -> None:
        self._room = room

    async def whole(self, envelope: Envelope, message: Gathered, port: str) -> Reply:
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
    ) -> Reply:
        self._room.glanced.append((stage, envelope, port, after))
        return await self._reply()

    def unjudged(self, message: Gathered) -> Reply:
        return NO_ANSWER

    def close(self) -> None:
        self._room.closed += 1

    async def _reply(self) -> Reply:
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
        self.says: Reply | Exception = Reply(judged=judged())
        self.asked: list[tuple[Envelope, Gathered, str]] = []
        self.glanced: list[tuple[Stage, Envelope, str, Stage | None]] = []
        self.closed = self.ended = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.began = asyncio.Semaphore(0)
        self.notes: Counter[str] = Counter()
        self.events: list[Event] = []
        self.keeps = True
        given = {"listen": f"unix:{self.path}", "read_s": LONG_S, "idle_s": LONG_S} | settings
        named = {
            name if "." in name else f"doors.http.{name}": str(value)
            for name, value in given.items()
        }
        self.settings = load_settings(None, named).settings

    def premises(self) -> Premises:
        return Premises(
            settings=self.settings,
            sessions=lambda: Sitting(self),
            asker=_no_asker,
            name="mx.test",
            state=self.path.parent,
            signing_key=KEY,
            note=self._note,
            keep=self._keep,
            room=Room(self.settings.worker.max_bodies_bytes),
        )

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Sittings]:
        self.server = HttpServer(self.premises(), keys(self.settings.doors.http))
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

    def _note(self, outcome: str) -> None:
        self.notes[outcome] += 1

    async def _keep(self, event: Event) -> bool:
        if self.keeps:
            self.events.append(event)
        return self.keeps
