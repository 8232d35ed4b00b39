"""A next hop that does what it is told, and a delivery door before it, both in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from oborona.config.delivery import DeliverySettings
from oborona.doors.delivery.entry_lookup import JournalTiming
from oborona.doors.delivery.handover import DeliveryServices
from oborona.doors.delivery.server import DeliveryServer
from oborona.doors.memory_budget import MemoryBudget
from oborona.ident import JournalIdGenerator
from oborona.journal.entry import CopyDelivery, JournalEntry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.headers import HeaderDetail
from oborona.policy.load import Policy, load_policy
from oborona.policy.personal_list_match import NoPersons, Persons

KEY: Final = b"k" * 32
NOW: Final = 1_790_000_000.0
STEPS: Final = ("greeting", "lhlo", "mail", "rcpt", "data", "content", "final")
POLICY: Final = Path(__file__).parents[3] / "etc/policy.d"
PATIENCE_S: Final = 10.0


@dataclass
class Hop:
    """What a next hop does."""

    offers: tuple[str, ...] = ("PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES")
    says: Mapping[str, bytes] = field(default_factory=dict)  # by step, instead of what is usual
    rcpt: Mapping[bytes, bytes] = field(default_factory=dict)  # by recipient
    final: Mapping[bytes, bytes] = field(default_factory=dict)
    hangs_up: str = ""  # before it answers at this step; "final 1" = after the first of them
    hangs: str = ""  # the same: it says no more
    copies: list[tuple[bytes, list[bytes], bytes]] = field(default_factory=list)  # it has taken
    commands: list[bytes] = field(default_factory=list)
    connections: int = 0
    cut: int = 0  # connections that ended in the middle of a message

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, _HungUp):
                await self._serve(reader, writer)
        except asyncio.IncompleteReadError:
            self.cut += 1
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(step: str, usual: bytes) -> bytes:
            if self.hangs_up == step:
                raise _HungUp
            if self.hangs == step:
                await asyncio.sleep(3600)
            words = self.says.get(step, usual)
            writer.write(words + b"\r\n")
            return words

        await say("greeting", b"220 hop")
        mail, recipients = b"", list[bytes]()
        while line := await reader.readline():
            command = line.rstrip(b"\r\n")
            self.commands.append(command)
            match command.split(b" ", 1)[0].upper():
                case b"LHLO":
                    offered = [b"hop", *(one.encode() for one in self.offers)]
                    lines = [b"250-" + one for one in offered[:-1]] + [b"250 " + offered[-1]]
                    await say("lhlo", b"\r\n".join(lines))
                case b"MAIL":
                    mail, recipients = command, []
                    await say("mail", b"250 2.1.0 OK")
                case b"RCPT":
                    name = command.partition(b"<")[2].rpartition(b">")[0]
                    if (await say("rcpt", self.rcpt.get(name, b"250 2.1.5 OK"))).startswith(b"250"):
                        recipients.append(name)
                case b"DATA":
                    if not (await say("data", b"354 OK")).startswith(b"354"):
                        continue
                    if self.hangs_up == "content":
                        await reader.readexactly(1)
                        raise _HungUp
                    if self.hangs == "content":
                        await asyncio.sleep(3600)
                    content = await reader.readuntil(b"\r\n.\r\n")
                    for number, name in enumerate(recipients):
                        await say(f"final {number}", b"") if f"final {number}" in (
                            self.hangs,
                            self.hangs_up,
                        ) else None
                        words = await say(
                            "final", self.final.get(name, b"250 2.0.0 <%s> Saved" % name)
                        )
                        if words.startswith(b"250"):
                            self.copies.append((mail, [name], content[:-3]))
                case b"QUIT":
                    writer.write(b"221 Bye\r\n")
                    return
                case _:
                    writer.write(b"250 OK\r\n")

    def received(self) -> dict[bytes, bytes]:
        """Return what each recipient got; nobody got it twice."""
        names = [name for _, (name,), _ in self.copies]
        assert len(names) == len(set(names)), names
        return {name: content for _, (name,), content in self.copies}


class _HungUp(Exception):  # noqa: N818 - reads as what happened
    pass


class Client:
    """A mail server's side of the door, a line at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def write(self, octets: bytes) -> None:
        self.writer.write(octets)

    async def answer(self) -> str:
        """Return one answer, its lines parted by newlines; "" when the door hung up."""
        lines = []
        async with asyncio.timeout(PATIENCE_S):
            while line := await self.reader.readline():
                lines.append(line.decode().rstrip("\r\n"))
                if line[3:4] != b"-":
                    break
        return "\n".join(lines)

    async def ask(self, *commands: str) -> list[str]:
        """Say commands at once; return an answer to each."""
        self.write("".join(f"{one}\r\n" for one in commands).encode())
        return [await self.answer() for _ in commands]

    async def send(
        self, message: bytes, *recipients: str, mail: str = "MAIL FROM:<ann@a.example>"
    ) -> list[str]:
        """Hand a message over; return the last word on each recipient."""
        replies = await self.ask(mail, *(f"RCPT TO:<{one}>" for one in recipients), "DATA")
        assert replies[-1].startswith("354"), replies
        self.write(message + b".\r\n")
        return [await self.answer() for _ in recipients]

    async def gone(self) -> bool:
        """Whether the door hangs up, whatever it says before."""
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionError):
                while await self.reader.read(1000):
                    pass
        return True


class Written:
    """A journal in memory.

    Args:
        entries: in it.
        after: looks that find nothing, before an entry is there.
    """

    def __init__(self, *entries: JournalEntry, after: int = 0) -> None:
        self.entries = {one.id: one for one in entries}
        self.looks = 0
        self._after = after

    async def get(self, number: int) -> JournalEntry | None:
        self.looks += 1
        return self.entries.get(number) if self.looks > self._after else None


@dataclass
class Door:
    """A door that is open."""

    services: DeliveryServices
    server: DeliveryServer
    connect: Callable[[], Any]


@contextlib.asynccontextmanager
async def door(
    hop: Hop | None,
    *,
    persons: Persons | None = None,
    entries: Any = None,
    policy: Policy | None = None,
    spool: Path | None = None,
    clock: float = NOW,
    detail: HeaderDetail = HeaderDetail.FULL,
    went: Callable[[CopyDelivery], None] = lambda _: None,
    **settings: Any,
) -> AsyncIterator[Door]:
    """Open a door before a next hop; None: nobody is there."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        there = str(folder / "hop")
        serving = None if hop is None else await asyncio.start_unix_server(hop.serve, there)
        asked: dict[str, Any] = {
            "listen": f"unix:{folder}/door",
            "next_hop": f"unix:{there}",
            "journal_wait_s": 0.5,
        }
        asked |= settings
        bench = DeliveryServices(
            detail=detail,
            settings=DeliverySettings(**asked),
            name="mx.example.test",
            signing_key=KEY,
            entries=entries or Written(),
            expected=JournalTiming(retention_s=86_400, wait_s=0.5),
            persons=persons or NoPersons(),
            policy=lambda: policy or shipped(),
            numbers=JournalIdGenerator(0),
            clock=lambda: clock,
            went=went,
        )
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "door"))
            listener.listen(10)
            server = DeliveryServer(bench, spool or folder, MemoryBudget(1 << 30))
            await server.start(listener)
            clients: list[Client] = []

            async def connect() -> Client:
                client = Client(
                    *await asyncio.open_unix_connection(str(folder / "door"), limit=1 << 22)
                )
                clients.append(client)
                assert (await client.answer()).startswith("220 mx.example.test ")
                assert (await client.ask("LHLO mail.test"))[0].startswith("250-mx.example.test\n")
                return client

            try:
                yield Door(bench, server, connect)
            finally:
                for client in clients:
                    client.writer.close()
                await server.drain(0.0)
                if serving is not None:
                    serving.close()


_SHIPPED: list[Policy] = []


def shipped() -> Policy:
    """Return the policy that is shipped."""
    if not _SHIPPED:
        _SHIPPED.append(load_policy(POLICY, SCHEMA))
    return _SHIPPED[0]


async def until(what: Callable[[], object]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not what():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
