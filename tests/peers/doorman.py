"""A process that serves a transport with a door that does what messages ask of it, and writes down
all it is told.

    python -m tests.peers.doorman '{"transport": "native", "fd": 5, "journal": "/tmp/x", "waits":
    ["sender"]}'

What a name asks for, as HELO, sender's or recipient's local part, or value of the header X-Do:
`refusal_reply`, `tempfail`, `accept`, `discard`, `fail` (raise), `hang`, `nap` (half a second); at
the end of a message also `lines` (a refusal of two lines) and `edit` (remove what claims to be
ours, add ours) and `remove ADDRESS` (of a recipient). Clients from 192.0.2.66 are refused. The
journal has one JSON array a line.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import uvloop

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sockets
from oborona.doors.guard import NO_ANSWER
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import (
    ACCEPT,
    BUSY,
    CONTINUE,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
    refusal_reply,
)
from oborona.milter.libmilter import LibmilterServer
from oborona.milter.native import NativeServer
from oborona.types import Client, Stage

ROOT: Final = Path(__file__).resolve().parents[2]
START_S: Final = 30.0
NAP_S: Final = 0.5
_TRANSPORTS: Final[dict[str, type[NativeServer | LibmilterServer]]] = {
    "native": NativeServer,
    "libmilter": LibmilterServer,
}


def listen(kind: str, folder: Path) -> tuple[socket.socket, UnixAddress | InetAddress]:
    """Return a listening socket of a kind and its address."""
    if kind == "unix":
        address = UnixAddress(str(folder / "milter.sock"))
        return sockets.listen(address, mode=0o666), address
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    sock.close()
    inet = InetAddress("127.0.0.1", port)
    return sockets.listen(inet), inet


class Doorman:
    """The process, as a test sees it.

    Args:
        sock: listening socket that it inherits.
        journal: file for what the door is told.
        settings: of the transport, `waits`, and `user`, the uid to serve as.
    """

    def __init__(self, sock: socket.socket, journal: Path, **settings: object) -> None:
        self._journal = journal
        self._asked = False
        self._start = len(self._lines())
        self._told = 0
        said = {"fd": sock.fileno(), "journal": str(journal), **settings}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.peers.doorman", json.dumps(said)],
            cwd=ROOT,
            pass_fds=[sock.fileno()],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.wait(["ready", self.process.pid], START_S)

    def __enter__(self) -> Self:
        """Stop it at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it, by force if it must be."""
        self.stop()

    def ask_to_stop(self) -> None:
        """Send it SIGTERM, the first time only."""
        if not self._asked:
            self._asked = True
            self.process.terminate()

    def stop(self, within_s: float = 20.0) -> str:
        """Ask it to drain; return what it logged."""
        self.ask_to_stop()
        try:
            _, said = self.process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return said

    def mark(self) -> None:
        """Forget what was written so far, connections that are being closed included."""
        until = time.monotonic() + START_S
        while True:
            steps = [record[1] for record in self._records() if isinstance(record[0], int)]
            if steps.count("open") == steps.count("close"):
                break
            if time.monotonic() > until:
                raise TimeoutError(
                    f"{steps.count('open') - steps.count('close')} connections are still open"
                )
            time.sleep(0.01)
        self._start = len(self._records())
        self._told = 0

    def told(self, within_s: float = 10.0) -> list[list[Any]]:
        """Return what the door of the next connection was told, from its beginning to its close.

        In order of closing.

        Raises:
            TimeoutError: no further connection was closed.
        """
        until = time.monotonic() + within_s
        while True:
            records = self._records()[self._start :]
            closed = [record[0] for record in records if record[1:] == ["close"]]
            if len(closed) > self._told:
                break
            if time.monotonic() > until or self.process.poll() is not None:
                raise TimeoutError(f"no further connection was closed: {records}")
            time.sleep(0.01)
        self._told += 1
        return [record[1:] for record in records if record[0] == closed[self._told - 1]][1:]

    def wait(self, record: list[Any], within_s: float = 10.0) -> None:
        """Wait until a record is written.

        Raises:
            TimeoutError: it is not.
        """
        until = time.monotonic() + within_s
        while record not in (records := self._records()[self._start :]):
            if time.monotonic() > until or self.process.poll() is not None:
                raise TimeoutError(f"no {record} in {records}")
            time.sleep(0.01)

    def _records(self) -> list[list[Any]]:
        return [json.loads(line) for line in self._lines()]

    def _lines(self) -> list[str]:
        if not self._journal.exists():
            return []
        lines = self._journal.read_text("utf-8").split("\n")
        return lines[:-1]  # the last is empty or half written


class ScriptedDoor:
    """Does what names ask for."""

    def __init__(self, number: int, journal: int, waits: frozenset[Stage]) -> None:
        self._number = number
        self._journal = journal
        self.waits = waits
        self.write("open")

    def write(self, *said: object) -> None:
        """Add a record to the journal."""
        os.write(self._journal, json.dumps([self._number, *said]).encode() + b"\n")

    def refuse_holds(self) -> None:
        """A reply that holds is given all the same."""

    def learn(self, macros: Mapping[str, str]) -> None:
        """Write it down."""
        self.write("learn", dict(macros))

    async def connect(self, client: Client) -> SessionReply:
        """Refuse one address."""
        self.write("connect", client.ip, client.name, client.port)
        return refusal_reply(554, "5.7.1", "no entry") if client.ip == "192.0.2.66" else CONTINUE

    async def helo(self, name: str) -> SessionReply:
        """Do what the name's first label asks for."""
        self.write("helo", name)
        return await _do(name.partition(".")[0])

    async def mail(self, sender: str, params: tuple[str, ...]) -> SessionReply:
        """Do what the local part asks for."""
        self.write("mail", sender, *params)
        return await _do(sender.partition("@")[0])

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> SessionReply:
        """Do what the local part asks for."""
        self.write("rcpt", recipient, *params)
        return await _do(recipient.partition("@")[0])

    async def unseen(self, recipients: int, size: int) -> SessionReply:
        """No milter asks so."""
        raise AssertionError

    async def end_of_message(self, message: RawMessage) -> SessionReply:
        """Do what the header X-Do asks for."""
        self.write(
            "end",
            message.raw.decode("latin-1"),
            message.size,
            message.truncated,
            len(message.headers),
        )
        names = [name.lower() for name, _ in message.headers]
        ours = [i + 1 for i in range(names.count(b"x-mras"))]
        edits: tuple[AddHeader | RemoveHeader, ...] = tuple(RemoveHeader("X-Mras", i) for i in ours)
        edits += (AddHeader("X-Mras", "Ok"), AddHeader("X-Mras-Reason", "A=1.0\n\tB=2.0"))
        orders = [
            value.strip().decode("latin-1")
            for name, value in message.headers
            if name.lower() == b"x-do"
        ]
        order = orders[0] if orders else "edit"
        if order == "edit":
            return SessionReply(edits=edits)
        if order.startswith("remove "):
            return SessionReply(removed=(order.partition(" ")[2],))
        if order == "lines":
            return refusal_reply(550, "5.7.1", "Message refused as spam\nSee https://mx.test/why")
        return await _do(order)

    def unjudged(self, message: RawMessage) -> SessionReply:
        """Mark it, or fail once more."""
        if (b"X-Do", b" fail twice") in message.headers:
            raise RuntimeError("the door fails again, as it was asked to")
        return SessionReply(edits=(RemoveHeader("X-Do", 1), AddHeader("X-Mras-Reason", "partial")))

    def put_off(self, *, busy: bool) -> SessionReply:
        """Say it in the words of a door without references."""
        return BUSY if busy else NO_ANSWER

    def abort(self) -> None:
        """Write it down."""
        self.write("abort")

    def close(self) -> None:
        """Write it down."""
        self.write("close")


async def _do(order: str) -> SessionReply:
    match order:
        case "refuse":
            return refusal_reply(550, "5.7.1", "refused by the door")
        case "tempfail":
            return refusal_reply(451, "4.7.1", "try again later")
        case "accept":
            return ACCEPT
        case "discard":
            return SessionReply(answer=ReplyAction.DISCARD)
        case "fail" | "fail twice":
            raise RuntimeError("the door fails, as it was asked to")
        case "hang":
            await asyncio.sleep(3600)
        case "nap":
            await asyncio.sleep(NAP_S)
    return CONTINUE


async def _serve(settings: dict[str, Any]) -> None:
    journal = os.open(settings["journal"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    waits = frozenset(Stage(stage) for stage in settings.get("waits", ()))
    numbers = itertools.count(1)
    server = _TRANSPORTS[settings["transport"]](
        lambda: ScriptedDoor(next(numbers), journal, waits),
        limit_bytes=settings.get("limit_bytes", 1 << 20),
        idle_s=settings.get("idle_s", 60.0),
        max_sessions=settings.get("max_sessions", 100),
        on_failure=ReplyAction(settings.get("on_failure", "tempfail")),
        guard_s=settings.get("guard_s", 0.3),
        room=MemoryBudget(settings.get("room", 1 << 30)),
    )
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGHUP, os.write, journal, b'["hup"]\n')
    if "user" in settings:
        os.seteuid(settings["user"])
    await server.start(socket.socket(fileno=settings["fd"]))
    os.write(journal, json.dumps(["ready", os.getpid()]).encode() + b"\n")
    await stop.wait()
    await server.drain(settings.get("grace_s", 5.0))


if __name__ == "__main__":
    uvloop.run(_serve(json.loads(sys.argv[1])))
