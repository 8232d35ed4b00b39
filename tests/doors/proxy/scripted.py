"""A proxy between a client and a next hop of the test's own, both saying what they are told to, and
a session that does the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from oborona.config import ProxySettings
from oborona.dns import DnsAnswer as Told
from oborona.dns import DnsOutcome, DnsType
from oborona.doors.guard import HandlerGuard
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.proxy.server import ProxyServer
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import CONTINUE, ReplyAction, SessionReply
from oborona.types import Client as Judged
from tests.doors.delivery.scripted import PATIENCE_S, Client, until
from tests.doors.handlers import Nod

__all__ = ["MESSAGE", "PATIENCE_S", "Behind", "Client", "Door", "Sessions", "proxy", "until"]

MESSAGE: Final = b"Subject: x\r\nMessage-ID: <1@a.example>\r\n\r\nhello\r\n"
OFFERS: Final = (
    "PIPELINING",
    "SIZE 1000000",
    "8BITMIME",
    "SMTPUTF8",
    "DSN",
    "ENHANCEDSTATUSCODES",
    "STARTTLS",
    "CHUNKING",
)


class _HungUp(Exception):  # noqa: N818 - reads as what happened
    pass


@dataclass
class Behind:
    """What a next hop does."""

    offers: tuple[str, ...] = OFFERS
    says: Mapping[str, bytes] = field(default_factory=dict)  # by step, instead of what is usual
    rcpt: Mapping[bytes, bytes] = field(default_factory=dict)  # by recipient
    final: Mapping[bytes, bytes] = field(default_factory=dict)  # LMTP: by recipient
    hangs_up: str = ""  # before it answers at this step
    hangs: str = ""  # the same: it says no more
    # said behind the answer of this step
    unasked: Mapping[str, bytes] = field(default_factory=dict)
    taken: list[tuple[bytes, list[bytes], bytes]] = field(default_factory=list)
    commands: list[bytes] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    cut: int = 0  # connections that ended in the middle of a message

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            with contextlib.suppress(ConnectionError, _HungUp):
                await self._serve(reader, writer)
        except asyncio.IncompleteReadError:
            self.cut += 1
        finally:
            self.open -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(step: str, usual: bytes) -> bytes:
            if self.hangs_up == step:
                raise _HungUp
            if self.hangs == step:
                await asyncio.sleep(3600)
            words = self.says.get(step, usual)
            writer.write(words + b"\r\n")
            if step in self.unasked:
                writer.write(self.unasked[step] + b"\r\n")
            return words

        await say("greeting", b"220 hop.test ESMTP")
        mail, recipients, lmtp = b"", list[bytes](), False
        while line := await reader.readline():
            command = line.removesuffix(b"\r\n")
            self.commands.append(command)
            verb = command.split(b" ", 1)[0].upper()
            match verb:
                case b"LHLO" | b"EHLO":
                    lmtp = verb == b"LHLO"
                    offered = [b"hop.test Hello", *(one.encode() for one in self.offers)]
                    lines = [b"250-" + one for one in offered[:-1]] + [b"250 " + offered[-1]]
                    if (await say("hello", b"\r\n".join(lines))).startswith(b"250"):
                        mail, recipients = b"", []
                case b"MAIL":
                    if mail:
                        await say("nested", b"503 5.5.1 nested MAIL")
                    elif (await say("mail", b"250 2.1.0 OK")).startswith(b"250"):
                        mail, recipients = command, []
                case b"RCPT":
                    name = command.partition(b"<")[2].rpartition(b">")[0]
                    if (await say("rcpt", self.rcpt.get(name, b"250 2.1.5 OK"))).startswith(b"250"):
                        recipients.append(name)
                case b"DATA":
                    if not (await say("data", b"354 go on")).startswith(b"354"):
                        continue
                    if self.hangs_up == "content":
                        await reader.readexactly(1)
                        raise _HungUp
                    if self.hangs == "content":
                        await asyncio.sleep(3600)
                    content = b""
                    while mail and (octets := await reader.readuntil(b"\n")) != b".\r\n":
                        content += (
                            octets[1:]
                            if octets[:1] == b"." and content[-2:] in (b"", b"\r\n")
                            else octets
                        )
                    for name in recipients if lmtp else recipients[:1]:
                        words = await say(
                            "final", self.final.get(name, b"250 2.0.0 taken <%s>" % name)
                        )
                        if words.split(b"\r\n")[-1].startswith(b"250 ") and b"251" not in words:
                            whom = [name] if lmtp else recipients
                            self.taken.append((mail, list(whom), content))
                    mail, recipients = b"", []
                case b"RSET":
                    mail, recipients = b"", []
                    await say("rset", b"250 2.0.0 reset")
                case b"AUTH":
                    await say("auth", b"235 2.7.0 welcome")
                case b"XCLIENT":
                    await say("xclient", b"220 hop.test ESMTP again")
                case b"QUIT":
                    await say("quit", b"221 2.0.0 hop says goodbye")
                    return
                case _ if verb.decode("ascii", "replace").lower() in self.says:
                    await say(verb.decode().lower(), b"")
                case _:
                    await say("other", b"250 2.0.0 fine")

    def of(self, verb: bytes) -> list[bytes]:
        """Return the commands of one kind that it heard."""
        return [one for one in self.commands if one.startswith(verb)]


class Sessions(Nod):
    """One session after the other, which notes what it is told.

    A reply to each stage may be given.
    """

    def __init__(self, **replies: SessionReply | Exception | None) -> None:
        self.replies = replies  # by stage; None: it never answers
        self.told: list[tuple[Any, ...]] = []
        self.messages: list[RawMessage] = []
        self.aborts = self.closed = self.made = 0

    def __call__(self) -> Sessions:
        self.made += 1
        return self

    def learn(self, macros: Mapping[str, str]) -> None:
        self.told.append(("learn", dict(macros)))

    async def _reply(self, stage: str, *told: object) -> SessionReply:
        self.told.append((stage, *told))
        reply = self.replies.get(stage, CONTINUE)
        if reply is None:
            await asyncio.sleep(3600)
        if isinstance(reply, Exception):
            raise reply
        assert reply is not None
        return reply

    async def connect(self, client: Judged) -> SessionReply:
        return await self._reply("connect", client)

    async def helo(self, name: str) -> SessionReply:
        return await self._reply("helo", name)

    async def mail(self, sender: str, params: tuple[str, ...]) -> SessionReply:
        return await self._reply("mail", sender, params)

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> SessionReply:
        stage = f"rcpt {recipient}"
        return await self._reply(stage if stage in self.replies else "rcpt", recipient, params)

    async def end_of_message(self, message: RawMessage) -> SessionReply:
        self.messages.append(message)
        return await self._reply("content")

    def unjudged(self, message: RawMessage) -> SessionReply:
        reply = self.replies.get("unjudged")
        if not isinstance(reply, SessionReply):
            raise TypeError("it has no words for that")
        return reply

    def abort(self) -> None:
        self.aborts += 1

    def close(self) -> None:
        self.closed += 1

    def stages(self) -> list[str]:
        """Return which stages it was asked at, in order."""
        return [one[0] for one in self.told if one[0] != "learn"]


class Names:
    """A DNS that knows one client."""

    async def ask(self, name: str, kind: DnsType) -> Told:
        names = {
            ("1.0.0.127.in-addr.arpa", DnsType.PTR): "client.test",
            ("client.test", DnsType.A): "127.0.0.1",
        }
        found = names.get((name, kind))
        return (
            Told(outcome=DnsOutcome.FOUND, records=(found,))
            if found
            else Told(outcome=DnsOutcome.NO_NAME)
        )


@dataclass
class Door:
    """A door that is open."""

    server: ProxyServer
    noted: list[str]
    port: int
    connect: Callable[..., Awaitable[Client]]


@contextlib.asynccontextmanager
async def proxy(
    hop: Behind | None,
    sessions: Sessions | None = None,
    *,
    on_failure: ReplyAction = ReplyAction.CONTINUE,
    guard_s: float = 5.0,
    limit_bytes: int = 10_000_000,
    room: int = 1 << 30,
    spool: Path | None = None,
    **settings: Any,
) -> AsyncIterator[Door]:
    """Open a proxy on loopback before a next hop; None: nobody is there."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name, socket.socket() as listener:
        there = f"{name}/hop"
        serving = (
            None
            if hop is None
            else await asyncio.start_unix_server(hop.serve, there, limit=1 << 22)
        )
        listener.bind(("127.0.0.1", 0))
        listener.listen(10)
        noted: list[str] = []
        asked = ProxySettings(listen="inet:1@127.0.0.1", next_hop=f"unix:{there}", **settings)
        server = ProxyServer(
            asked,
            sessions or Sessions(),
            HandlerGuard(on_failure, guard_s),
            Names,
            name="mx.example.test",
            spool=spool or Path(name),
            limit_bytes=limit_bytes,
            room=MemoryBudget(room),
            note=noted.append,
        )
        await server.start(listener)
        clients: list[Client] = []
        port: int = listener.getsockname()[1]

        async def connect(hello: str | None = "client.test") -> Client:
            client = Client(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))
            clients.append(client)
            if hello is not None:
                assert (await client.answer()).startswith("220 ")
                verb = "LHLO" if asked.protocol == "lmtp" else "EHLO"
                assert (await client.ask(f"{verb} {hello}"))[0].startswith("250-")
            return client

        try:
            yield Door(server, noted, port, connect)
        finally:
            for client in clients:
                client.writer.close()
            await server.drain(0.0)
            if serving is not None:
                serving.close()


async def send(
    client: Client, message: bytes, *recipients: str, mail: str = "MAIL FROM:<ann@a.example>"
) -> list[str]:
    """Hand a message over by SMTP; return all answers, "354" left out."""
    replies = await client.ask(mail, *(f"RCPT TO:<{one}>" for one in recipients), "DATA")
    if not replies[-1].startswith("354"):
        return replies
    client.write(message + b".\r\n")
    return [*replies[:-1], await client.answer()]
