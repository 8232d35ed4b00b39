"""Load for one door: messages put to it over connections of its own each, some at a time.

Prints one object of JSON.

    python benchmarks/doorload.py exim unix:/run/oborona/exim.sock --list sample.txt --connections
    32 --count 2000 --watch oborona=PID

Every request is written out before the clock starts, so that the client costs little; what it did
cost is in the report. The envelope of a message is what milterload.py reads in it, and its bytes
are the same. At the proxy the client is the next hop as well, and takes everything.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from benchmarks.milterload import Message, quantile, usage
from oborona.config.address import Address, UnixAddress, parse_address

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]
READ: Final = 1 << 16


class _Mail:
    """A message as it goes in, and its envelope."""

    def __init__(self, path: str, number: int) -> None:
        known: Any = Message(path, number)  # type: ignore[no-untyped-call]
        head = b"".join(
            b"%b:%b\r\n" % (name, value.replace(b"\n", b"\r\n")) for name, value in known.headers
        )
        self.head, self.body = head, known.body
        self.raw = head + b"\r\n" + known.body
        self.ip, self.helo, self.host = known.ip, known.helo, known.host or b""
        self.sender, self.recipient, self.queue_id = known.mail, known.rcpt, known.qid


# --- what is said at each door ---


def _whole(request: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request)
        writer.write_eof()
        return await reader.read(-1)

    return talk


def _exim(mail: _Mail) -> Talk:
    said = {
        "helo": mail.helo, "name": mail.host, "from": mail.sender, "rcpts": mail.recipient, "headers": mail.head.replace(b"\r\n", b"\n"),
        "body": mail.body.replace(b"\r\n", b"\n"),
    }  # fmt: skip
    fields = b" ".join(
        b"%b64=%b" % (name.encode(), base64.b64encode(value)) for name, value in said.items()
    )
    return _whole(
        b"oborona/1 data ip=%b port=25025 size=%d %b\n" % (mail.ip, len(mail.raw), fields)
    )


def _spamc(mail: _Mail) -> Talk:
    """As a mail server hands it to spamc: with its own Received on top, by which the door knows the
    client.
    """
    known = b"%b [%b]" % (mail.host or b"unknown", mail.ip)
    trace = (
        b"Return-Path: <%b>\r\nReceived: from %b (%b)\r\n\tby mx.example.org (Postfix) with "
        b"ESMTP id %b\r\n\tfor <%b>; Sun, 22 Nov 2026 10:00:00 +0000 (UTC)\r\n"
    )
    raw = trace % (mail.sender, mail.helo, known, mail.queue_id, mail.recipient) + mail.raw
    return _whole(b"SYMBOLS SPAMC/1.5\r\nContent-length: %d\r\n\r\n%b" % (len(raw), raw))


def _rspamc(mail: _Mail) -> Talk:
    """As Exim asks with variant=rspamd."""
    head = (
        b"CHECK RSPAMC/1.3\r\nContent-length: %d\r\nQueue-Id: %b\r\nFrom: "
        b"<%b>\r\nRecipient-Number: 1\r\nRcpt: <%b>\r\nHelo: %b\r\n%bIP: %b\r\n\r\n"
    )
    name = b"Hostname: %b\r\n" % mail.host if mail.host else b""
    known = (len(mail.raw), mail.queue_id, mail.sender, mail.recipient, mail.helo, name, mail.ip)
    return _whole(head % known + mail.raw)


def _http(request: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request)
        return await reader.read(-1)

    return talk


def _checkv2(mail: _Mail) -> Talk:
    name = b"Hostname: %b\r\n" % mail.host if mail.host else b""
    head = (
        b"POST /checkv2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\nIP: "
        b"%b\r\nHelo: %b\r\n%bFrom: %b\r\nRcpt: %b\r\nQueue-Id: %b\r\n\r\n"
    )
    return _http(
        head % (len(mail.raw), mail.ip, mail.helo, name, mail.sender, mail.recipient, mail.queue_id)
        + mail.raw
    )


def _scan(mail: _Mail) -> Talk:
    asked = {
        "client": {
            "ip": mail.ip.decode("latin-1"),
            "name": mail.host.decode("latin-1"),
            "port": 25025,
        },
        "helo": mail.helo.decode("latin-1"),
        "sender": mail.sender.decode("latin-1"),
        "recipients": [mail.recipient.decode("latin-1")],
        "queue_id": mail.queue_id.decode("latin-1"),
        "raw": base64.b64encode(mail.raw).decode("ascii"),
    }
    body = json.dumps(asked).encode()
    head = (
        b"POST /v1/scan HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
        b"application/json\r\nContent-Length: %d\r\n\r\n"
    )
    return _http(head % len(body) + body)


def _proxy(mail: _Mail) -> Talk:
    client = b"XCLIENT ADDR=%b NAME=%b PORT=25025\r\n" % (mail.ip, mail.host or b"[UNAVAILABLE]")
    hello = b"EHLO %b\r\n" % mail.helo
    envelope = b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\nDATA\r\n" % (mail.sender, mail.recipient)
    content = b"\r\n" + mail.raw
    content = content.replace(b"\r\n.", b"\r\n..")[2:] + b".\r\n"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        await _reply(reader)
        for said in (hello, client, hello):
            writer.write(said)
            await _reply(reader)
        writer.write(envelope)
        replies = [await _reply(reader) for _ in range(3)]
        if replies[-1].startswith(b"3"):
            writer.write(content)
            replies.append(await _reply(reader))
        writer.write(b"QUIT\r\n")
        await reader.read(-1)
        return next((reply for reply in replies if reply[:1] in (b"4", b"5")), replies[-1])

    return talk


async def _reply(reader: asyncio.StreamReader) -> bytes:
    while True:
        line = await reader.readline()
        if line[3:4] != b"-":
            return line


async def _take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Be a next hop that takes everything."""
    writer.write(b"220 next.test ESMTP\r\n")
    try:
        while line := await reader.readline():
            match line[:4].upper():
                case b"EHLO" | b"LHLO":
                    writer.write(
                        b"250-next.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE 0\r\n"
                    )
                case b"DATA":
                    writer.write(b"354 go on\r\n")
                    while await reader.readline() not in (b".\r\n", b""):
                        pass
                    writer.write(b"250 2.0.0 taken\r\n")
                case b"QUIT":
                    writer.write(b"221 2.0.0 bye\r\n")
                    break
                case _:
                    writer.write(b"250 2.0.0 OK\r\n")
    except (ConnectionError, ValueError):  # it is gone
        pass
    finally:
        writer.close()


SAID: Final[dict[str, tuple[Callable[[_Mail], Talk], tuple[bytes, ...]]]] = {
    "exim": (_exim, (b"verdict=",)),
    "spamc": (_spamc, (b"SPAMD/1.1 0",)),
    "rspamc": (_rspamc, (b"RSPAMD/1.3 0",)),
    "checkv2": (_checkv2, (b"HTTP/1.1 200",)),
    "scan": (_scan, (b"HTTP/1.1 200",)),
    "proxy": (_proxy, (b"250", b"550", b"554")),  # and who is refused before the message
}
"""What is said at each door, and how an answer begins that is one."""


# --- the load ---


async def _open(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(address, UnixAddress):
        return await asyncio.open_unix_connection(address.path, limit=1 << 24)
    return await asyncio.open_connection(address.host, address.port, limit=1 << 24)


async def load(
    address: Address,
    talks: Sequence[Talk],
    good: tuple[bytes, ...],
    connections: int,
    warm_up: int,
    mark: Callable[[], None],
) -> tuple[list[float], list[bytes]]:
    """Put messages to a door.

    Return how long each took after the first ones, in seconds, and answers that were none.
    """
    took: list[float] = []
    wrong: list[bytes] = []
    left: Iterator[Talk] = iter(talks)
    done = 0

    async def one() -> None:
        nonlocal done
        for talk in left:
            started = time.perf_counter()
            reader, writer = await _open(address)
            answer = await talk(reader, writer)
            writer.close()
            done += 1
            if done == warm_up:
                mark()
            elif done > warm_up:
                took.append(time.perf_counter() - started)
                if not answer.startswith(good):
                    wrong.append(answer[:200])

    if not warm_up:
        mark()
    await asyncio.gather(*(one() for _ in range(connections)))
    mark()
    return took, wrong


async def run(asked: argparse.Namespace, paths: Sequence[str]) -> dict[str, Any]:
    """Do what the command line asks for and return the report."""
    said, good = SAID[asked.door]
    mails = [
        _Mail(paths[number % len(paths)], number + 1)
        for number in range(asked.count + asked.warmup)
    ]
    talks = [said(mail) for mail in mails]
    del mails
    watched = {name: int(pid) for name, _, pid in (one.partition("=") for one in asked.watch)}
    marks: list[tuple[float, float, dict[str, Any]]] = []

    def mark() -> None:
        used = {name: usage([pid]) for name, pid in watched.items()}  # type: ignore[no-untyped-call]
        marks.append((time.perf_counter(), time.process_time(), used))

    hop = None
    if asked.next_hop:
        where = parse_address(asked.next_hop)
        assert not isinstance(where, UnixAddress)
        hop = await asyncio.start_server(_take, where.host, where.port, limit=1 << 24, backlog=1024)
    gc.collect()
    gc.freeze()
    gc.disable()
    took, wrong = await load(
        parse_address(asked.address), talks, good, asked.connections, asked.warmup, mark
    )
    if hop is not None:
        hop.close()
    (start, own_start, before), (end, own_end, after) = marks
    took.sort()
    count = max(len(took), 1)
    return {
        "messages": len(took),
        "no_answers": [one.decode("latin-1") for one in wrong],
        "msgs_per_s": round(len(took) / (end - start), 2),
        "latency_ms": {
            name: round((quantile(took, part) or 0.0) * 1000, 3)  # type: ignore[no-untyped-call]
            for name, part in (("p50", 0.5), ("p99", 0.99))
        },
        "client_cpu_ms_per_msg": round((own_end - own_start) * 1000 / count, 4),
        "server": {
            name: {
                "cpu_ms_per_msg": round(
                    (after[name]["cpu"] - before[name]["cpu"]) * 1000 / count, 4
                ),
                "rss_mb": round(after[name]["rss"] / 1e6, 1),
                "pss_mb": round(after[name]["pss"] / 1e6, 1),
            }
            for name in watched
        },
    }


def main() -> None:
    """Load, and print the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("door", choices=SAID)
    parser.add_argument("address", help="as settings write it")
    parser.add_argument("--list", required=True, help="file with one message path a line")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--warmup", type=int, default=0)
    parser.add_argument("--next-hop", default="", help="where to be the next hop of the proxy")
    parser.add_argument("--watch", action="append", default=[], metavar="NAME=PID")
    asked = parser.parse_args()
    print(json.dumps(uvloop.run(run(asked, Path(asked.list).read_text().split("\n")))))


if __name__ == "__main__":
    main()
