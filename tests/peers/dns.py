"""A DNS server for tests, in a thread of the test's own process: says what a test tells it, and
misbehaves as asked.

    with Zones({"example.test": {"TXT": "v=spf1 -all", "MX": ["10 mx.example.test"]}}) as dns:
        ...ask 127.0.0.1:{dns.port}, or write {dns.setting} into the setting dns.servers...
        dns.fault("slow.test", Fault.HANG); dns.delay("late.test", 0.3)
        assert dns.count("example.test", "TXT") == 1

It listens on UDP and TCP of one port and answers for every name, as a recursive resolver does:
CNAMEs are followed, a name that is not given and has none below it does not exist, negative answers
carry an SOA. Names are lower case, without final dot. `*.example.test` holds for what has no entry
of its own below example.test. The real servers are in `tests.peers.dns_servers`.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Self, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdatatype
import dns.rrset

Values = str | bytes | Sequence[str | bytes]
Records = Mapping[str, Mapping[str, Values]]
"""Name -> kind -> one record or several, as a zone file writes them.

A TXT record is its plain text, of any length.
"""

Replies = Callable[[dns.message.Message], Iterable[bytes]]
"""From a question to the datagrams (over TCP: messages) that answer it."""

TTL: Final = 300  # seconds
MOST_LINKS: Final = 40  # of a CNAME chain in one answer
PORTS_TRIED: Final = 50


class Fault(StrEnum):
    """What a server may do wrong."""

    SERVFAIL = "servfail"
    REFUSED = "refused"
    FORMERR = "formerr"
    NOTIMP = "notimp"
    HANG = "hang"  # no answer, over UDP and TCP
    TRUNCATED = "truncated"  # UDP: nothing but the TC bit; TCP: the whole answer
    CUT_OFF = "cut off"  # UDP: nothing but the TC bit; TCP: no answer
    WRONG_ID = "wrong id"
    WRONG_NAME = "wrong name"  # in the question section
    WRONG_KIND = "wrong kind"
    GARBAGE = "garbage"
    NO_CHASE = "no chase"  # the CNAME alone, as an authority answers whose target is elsewhere


_RCODES: Final = {
    Fault.SERVFAIL: dns.rcode.SERVFAIL,
    Fault.REFUSED: dns.rcode.REFUSED,
    Fault.FORMERR: dns.rcode.FORMERR,
    Fault.NOTIMP: dns.rcode.NOTIMP,
}


class Asked(NamedTuple):
    """A question that arrived."""

    name: str  # as it came, without final dot
    kind: str
    tcp: bool
    id: int
    port: int  # of who asked


class _Behaviour(NamedTuple):
    name: str  # a name, *.name for all below it, or * for all
    kind: str  # empty: any
    fault: Fault | None
    delay_s: float
    replies: Replies | None
    times: list[int]  # left; empty: always


class Zones:
    """The server.

    Args:
        records: at the start; `add` and `remove` change them.
        ttl: seconds, of all records.
        negative_ttl: TTL and MINIMUM of the SOA in negative answers; None: they carry no SOA.
        host, port: to listen on; 0 is a free port.
    """

    def __init__(
        self,
        records: Mapping[str, Mapping[str, Values]] = {},
        *,
        ttl: int = TTL,
        negative_ttl: int | None = TTL,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port
        self.ttl = ttl
        self.negative_ttl = negative_ttl
        self.asked: list[Asked] = []
        self._records: dict[str, dict[str, tuple[str | bytes, ...]]] = {}
        self._behaviours: tuple[_Behaviour, ...] = ()
        self._broken: list[Exception] = []  # raised when it stops: the test's mistake, or ours
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self.add(records)

    @property
    def setting(self) -> str:
        """How the setting dns.servers names it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, on the same port as before if it did."""
        udp, tcp = self._bind()
        self.port = udp.getsockname()[1]
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(udp, tcp, started)), name="zones", daemon=True
        )
        self._thread.start()
        assert started.wait(30)

    def stop(self) -> None:
        """Listen no more."""
        if self._thread is not None:
            assert self._loop is not None
            assert self._stop is not None
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)
            assert not self._thread.is_alive()
            self._thread = None
        if self._broken:
            raise self._broken[0]

    def add(self, records: Records) -> None:
        """Give names these records; those they have of the same kinds are replaced."""
        for name, kinds in records.items():
            mine = dict(self._records.get(_plain(name), {}))
            mine |= {
                kind.upper(): (values,) if isinstance(values, str | bytes) else tuple(values)
                for kind, values in kinds.items()
            }
            self._records[_plain(name)] = mine

    def remove(self, name: str) -> None:
        """Take a name away."""
        del self._records[_plain(name)]

    def fault(self, name: str, fault: Fault, *, kind: str = "", times: int | None = None) -> None:
        """Do it at questions for a name (`*.name`: all below it; `*`: all), for one kind or any, a
        number of times or always.
        """
        self._behave(
            _Behaviour(_plain(name), kind, fault, 0.0, None, [] if times is None else [times])
        )

    def delay(self, name: str, delay_s: float, *, kind: str = "", times: int | None = None) -> None:
        """Answer late."""
        self._behave(
            _Behaviour(_plain(name), kind, None, delay_s, None, [] if times is None else [times])
        )

    def reply(
        self, name: str, replies: Replies, *, kind: str = "", times: int | None = None
    ) -> None:
        """Answer with what a function gives, called in the server's thread."""
        self._behave(
            _Behaviour(_plain(name), kind, None, 0.0, replies, [] if times is None else [times])
        )

    def heal(self) -> None:
        """Forget all faults, delays and replies."""
        self._behaviours = ()

    def count(self, name: str, kind: str = "") -> int:
        """How often a name was asked for, in any case, of one kind or any."""
        return sum(
            one.name.lower() == _plain(name) and kind in ("", one.kind) for one in list(self.asked)
        )

    def answer(self, question: dns.message.Message, *, chase: bool = True) -> dns.message.Message:
        """The right answer to a question."""
        response = dns.message.make_response(question, recursion_available=True)
        asked = question.question[0]
        name, kind = asked.name, dns.rdatatype.to_text(asked.rdtype)
        for _link in range(MOST_LINKS):
            records = self._find(_plain(name.to_text()))
            values = (records or {}).get(kind, ())
            alias = () if records is None or kind == "CNAME" else records.get("CNAME", ())
            if values:
                response.answer += [
                    self._rrset(name, kind, value) for value in values
                ]  # dnspython mixes those of one
            elif alias:
                link = self._rrset(name, "CNAME", alias[0])
                response.answer.append(link)
                if chase:
                    name = cast(dns.name.Name, link[0].target)
                    continue
            else:
                if records is None:
                    response.set_rcode(dns.rcode.NXDOMAIN)
                self._deny(response)
            break
        return response

    def _behave(self, behaviour: _Behaviour) -> None:
        self._behaviours = (behaviour, *self._behaviours)  # the last word wins

    def _find(self, name: str) -> dict[str, tuple[str | bytes, ...]] | None:
        """The records of a name, {} if it has only names below it, None if it does not exist."""
        if name in self._records:
            return self._records[name]
        if any(other.endswith("." + name) for other in self._records) or not name:
            return {}
        above = name
        while above:
            _label, _dot, above = above.partition(".")
            if f"*.{above}" in self._records:
                return self._records[f"*.{above}"]
            if above in self._records:
                break  # RFC 4592: the closest encloser is not above a name that exists
        return None

    def _rrset(self, name: dns.name.Name, kind: str, value: str | bytes) -> dns.rrset.RRset:
        return dns.rrset.from_rdata(name, self.ttl, _rdata(kind, value))

    def _deny(self, response: dns.message.Message) -> None:
        if self.negative_ttl is not None:
            text = f"ns.test. admin.test. 1 3600 600 86400 {self.negative_ttl}"
            soa = dns.rrset.from_text(dns.name.root, self.negative_ttl, "IN", "SOA", text)
            response.authority.append(soa)

    def _bind(self) -> tuple[socket.socket, socket.socket]:
        """UDP and TCP on one port."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        for _ in range(PORTS_TRIED):
            udp = socket.socket(family, socket.SOCK_DGRAM)
            tcp = socket.socket(family, socket.SOCK_STREAM)
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tcp.bind((self.host, self.port))
                udp.bind((self.host, tcp.getsockname()[1]))
            except OSError:
                udp.close()
                tcp.close()
                if self.port:
                    raise
                continue
            return udp, tcp
        raise AssertionError("no port is free for both UDP and TCP")

    async def _serve(
        self, udp: socket.socket, tcp: socket.socket, started: threading.Event
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(
            lambda _loop, context: self._broken.append(
                context.get("exception") or RuntimeError(context["message"])
            )
        )
        self._stop = asyncio.Event()
        transport, _protocol = await self._loop.create_datagram_endpoint(
            lambda: _Datagrams(self), sock=udp
        )
        server = await asyncio.start_server(self._stream, sock=tcp)
        started.set()
        await self._stop.wait()
        transport.close()
        server.close()
        streams = asyncio.all_tasks() - {asyncio.current_task()}
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                data = await reader.readexactly(length)
                delay_s, replies = self.replies(
                    data, writer.get_extra_info("peername")[1], tcp=True
                )
                await asyncio.sleep(delay_s)
                for reply in replies:
                    writer.write(struct.pack("!H", len(reply)) + reply)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # they hung up, or we stop
        finally:
            writer.close()

    def replies(self, data: bytes, port: int, *, tcp: bool) -> tuple[float, Sequence[bytes]]:
        """Seconds to wait, and what to send then."""
        try:
            question = dns.message.from_wire(data)
            asked = question.question[0]
        except (dns.exception.DNSException, IndexError):
            return 0.0, ()
        name, kind = asked.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(asked.rdtype)
        self.asked.append(Asked(name, kind, tcp, question.id, port))
        behaviour = self._behaviour(_plain(name), kind)
        if behaviour is None:
            return 0.0, [self._fit(self.answer(question), question, tcp=tcp)]
        if behaviour.replies is not None:
            return 0.0, list(behaviour.replies(question))
        if behaviour.fault is not None:
            return 0.0, self._wrong(question, behaviour.fault, tcp=tcp)
        return behaviour.delay_s, [self._fit(self.answer(question), question, tcp=tcp)]

    def _behaviour(self, name: str, kind: str) -> _Behaviour | None:
        for one in self._behaviours:
            matches = one.name in (name, "*") or (
                one.name[:2] == "*." and name.endswith(one.name[1:])
            )
            if matches and one.kind in ("", kind) and one.times != [0]:
                if one.times:
                    one.times[0] -= 1
                return one
        return None

    def _wrong(self, question: dns.message.Message, fault: Fault, *, tcp: bool) -> Sequence[bytes]:
        if fault in _RCODES:
            response = dns.message.make_response(question, recursion_available=True)
            response.set_rcode(_RCODES[fault])
            return [response.to_wire(max_size=65535)]
        response = self.answer(question, chase=fault is not Fault.NO_CHASE)
        asked = response.question[0]
        match fault:
            case Fault.HANG:
                return ()
            case Fault.TRUNCATED | Fault.CUT_OFF if not tcp:
                response = dns.message.make_response(question, recursion_available=True)
                response.flags |= dns.flags.TC
            case Fault.CUT_OFF:
                return ()
            case Fault.WRONG_ID:
                response.id ^= 1
            case Fault.WRONG_NAME:
                response.question = [
                    dns.rrset.RRset(dns.name.from_text("wrong.test"), asked.rdclass, asked.rdtype)
                ]
            case Fault.WRONG_KIND:
                response.question = [
                    dns.rrset.RRset(asked.name, asked.rdclass, dns.rdatatype.HINFO)
                ]
            case Fault.GARBAGE:
                return [struct.pack("!H", question.id) + b"\x81\x80" + b"\xc0\x0c" * 40]
        return [response.to_wire(max_size=65535)]

    @staticmethod
    def _fit(response: dns.message.Message, question: dns.message.Message, *, tcp: bool) -> bytes:
        wire = response.to_wire(max_size=65535)
        if tcp or len(wire) <= (max(512, question.payload) if question.edns >= 0 else 512):
            return wire
        short = dns.message.make_response(question, recursion_available=True)
        short.flags |= dns.flags.TC
        return short.to_wire(max_size=65535)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        delay_s, replies = self._zones.replies(data, addr[1], tcp=False)
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._send, replies, addr)
        else:
            self._send(replies, addr)

    def _send(self, replies: Sequence[bytes], addr: tuple[str, int]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            for reply in replies:
                self._transport.sendto(reply, addr)


def _plain(name: str) -> str:
    return name.lower().rstrip(".")


def _rdata(kind: str, value: str | bytes) -> dns.rdata.Rdata:
    if kind != "TXT":
        text = value if isinstance(value, str) else value.decode()
        return dns.rdata.from_text("IN", kind, text, origin=dns.name.root, relativize=False)
    octets = value.encode() if isinstance(value, str) else value
    strings = [octets[start : start + 255] for start in range(0, len(octets), 255)] or [b""]
    wire = b"".join(bytes([len(string)]) + string for string in strings)
    return dns.rdata.from_wire("IN", "TXT", wire, 0, len(wire))
