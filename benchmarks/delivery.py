"""What the delivery door costs: deliveries a second, and CPU of the worker for each, beside the
same mail without a door.

    python -m benchmarks.delivery [--messages 600] [--connections 10] [--runs 3]

One worker, and a next hop that takes everything and keeps nothing (`--sink`, a process of its own),
or a Dovecot that delivers to Maildirs.  The client keeps its connections open, as Postfix does
under load.  Rows: mail as most is, for people who have said nothing; for three, one of whom has
lists, so that the journal is read and two copies are made; and large.  Client, next hop and worker
share the machine's cores: the rate with a door stands beside the rate without one in the same run.
Medians of the runs.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks.servers import ROOT, oborona
from oborona import secret, state_files
from oborona.counter_load.processes import cpu_s
from oborona.ident import JournalIdGenerator, sign
from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence
from oborona.journal.journal import JournalWriter
from oborona.policy.counts import MessageCounts
from oborona.policy.fact_table import KEPT
from oborona.policy.facts import Facts
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.reputation.personal import EntryAction, PersonalEntryKind, PersonalEntrySource, entry
from oborona.stores.persons.store import PersonStore
from oborona.telemetry.status import read_workers
from oborona.types import Action, Verdict
from tests.peers.dovecot import Dovecot

ANN: Final = "ann@a.example"
READY_S: Final = 20.0
LINE: Final = b"Shall we meet at noon, as last week, or would you rather have it another day?\r\n"


class Row(NamedTuple):
    """One kind of mail."""

    name: str
    size: int  # bytes of the body
    recipients: tuple[str, ...]
    share: float  # of the messages that were asked for: large ones take long


ROWS: Final = (
    Row("3 kB, one reader without lists", 3000, ("joe",), 1.0),
    Row("3 kB, three readers, one with lists", 3000, ("joe", "amy", "max"), 1.0),
    Row("1 MB, one reader without lists", 1_000_000, ("joe",), 0.1),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=600)
    parser.add_argument("--connections", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sink", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.sink:
        asyncio.run(_sink(asked.sink))
        return
    with tempfile.TemporaryDirectory(prefix="delivery-", dir="/tmp") as held:
        home = Path(held)
        home.chmod(0o755)
        with _next_hop(home / "sink") as sink, Dovecot() as dovecot:
            for name, hop in (("nothing is kept", sink), ("Dovecot", dovecot.lmtp)):
                _against(home / name.replace(" ", "-"), name, hop, asked)


def _against(home: Path, name: str, hop: Path, asked: argparse.Namespace) -> None:
    home.mkdir()
    settings = {
        "doors.delivery.listen": f"unix:{home}/door.sock",
        "doors.delivery.next_hop": f"unix:{hop}",
        "site.name": "mx.example.test",
    }
    with oborona(home / "daemon", transport="native", workers=1, pictures=False, settings=settings):
        state = home / "daemon/state"
        now = time.time()
        with PersonStore(state / state_files.PERSONS) as store:
            said = [
                entry(
                    EntryAction.DENY,
                    PersonalEntryKind.ADDRESS,
                    ANN,
                    time=now,
                    source=PersonalEntrySource.COMMAND,
                )
            ]
            store.put("amy@example.test", said, now=now)
        pid = _worker(state)
        for row in ROWS:
            number = max(asked.connections, int(asked.messages * row.share))
            letters = _letters(state, row, number)
            alone, through, cpu = [], [], []
            for _ in range(asked.runs):
                alone.append(_rate(hop, row, letters, asked.connections))
                before = cpu_s(pid)
                through.append(_rate(home / "door.sock", row, letters, asked.connections))
                cpu.append((cpu_s(pid) - before) / number * 1000)
            print(
                f"{name}: {row.name}: {statistics.median(through):.0f} messages a second through "
                f"the door,"
                f" {statistics.median(alone):.0f} without; {statistics.median(cpu):.2f} ms CPU a "
                f"message"
            )


def _worker(state: Path) -> int:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if found := read_workers(state, time.time()):
            return found[0].pid
        time.sleep(0.1)
    raise TimeoutError("no worker says anything")


def _letters(state: Path, row: Row, number: int) -> list[bytes]:
    """Return messages that the milter has judged, for all the door can tell: signed, and in the
    journal.
    """
    key, numbers, now = secret.load(state).signature, JournalIdGenerator(200), time.time()
    facts = Facts(known=MessageCounts(), from_address=ANN, author=ANN, author_domain="a.example")
    kept = {name: value for name, value in msgspec.structs.asdict(facts).items() if name in KEPT}
    verdict = Verdict(action=Action.ACCEPT, score=5.0, line=100.0, decided_by="below-threshold")
    letters, entries = [], []
    for place in range(number):
        ident = numbers.next(now)
        headers = "".join(
            f"{name}: {value}\r\n"
            for name, value in our_headers(verdict, sign(ident, key), HeaderDetail.NAMES)
        )
        letters.append(
            b"From: Ann <%b>\r\nMessage-ID: <%d@a.example>\r\n%b\r\n%b"
            % (ANN.encode(), place, headers.encode(), LINE * (row.size // len(LINE)))
        )
        entries.append(
            JournalEntry(
                id=ident,
                time=now,
                verdict=verdict.action,
                score=verdict.score,
                line=verdict.line,
                decided_by=verdict.decided_by,
                message_id=f"{place}@a.example",
                recipients=tuple(f"{one}@example.test" for one in row.recipients),
                facts=kept,
                kept=VerdictEvidence(),
            )
        )
    asyncio.run(_journal(state, entries))
    return letters


async def _journal(state: Path, entries: Sequence[JournalEntry]) -> None:
    async with await JournalWriter.open(state / state_files.JOURNAL) as journal:
        for one in entries:
            journal.append(one)


def _rate(address: Path, row: Row, letters: Sequence[bytes], connections: int) -> float:
    began = time.perf_counter()
    asyncio.run(_send(address, row, letters, connections))
    return len(letters) / (time.perf_counter() - began)


async def _send(address: Path, row: Row, letters: Sequence[bytes], connections: int) -> None:
    left = iter(letters)

    async def client() -> None:
        reader, writer = await asyncio.open_unix_connection(str(address), limit=1 << 20)
        await _answers(reader, 1)
        writer.write(b"LHLO mail.test\r\n")
        await _answers(reader, 1)
        envelope = b"MAIL FROM:<%b>\r\n" % ANN.encode()
        envelope += (
            b"".join(b"RCPT TO:<%b@example.test>\r\n" % one.encode() for one in row.recipients)
            + b"DATA\r\n"
        )
        for letter in left:
            writer.write(envelope)
            await _answers(reader, len(row.recipients) + 2)
            writer.write(letter + b".\r\n")
            await _answers(reader, len(row.recipients))
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))


async def _answers(reader: asyncio.StreamReader, number: int) -> None:
    while number:
        line = await reader.readline()
        assert line[:1] in (b"2", b"3"), line
        number -= line[3:4] == b" "


@contextmanager
def _next_hop(address: Path) -> Iterator[Path]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.delivery", "--sink", address], cwd=ROOT
    )
    try:
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(address)) == 0:
                    break
            time.sleep(0.05)
        else:
            raise TimeoutError("the next hop does not come up")
        yield address
    finally:
        process.terminate()
        process.wait()


async def _sink(address: str) -> None:
    """Be a next hop that takes everything."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await take(reader, writer)
        writer.close()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 sink\r\n")
        recipients = 0
        while line := await reader.readline():
            match line[:4].upper():
                case b"LHLO":
                    writer.write(b"250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n")
                case b"RCPT":
                    recipients += 1
                    writer.write(b"250 2.1.5 OK\r\n")
                case b"DATA":
                    writer.write(b"354 OK\r\n")
                    await reader.readuntil(b"\r\n.\r\n")
                    writer.write(b"250 2.0.0 Saved\r\n" * recipients)
                    recipients = 0
                case b"QUIT":
                    break
                case _:
                    writer.write(b"250 OK\r\n")

    server = await asyncio.start_unix_server(serve, address, limit=1 << 24)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    main()
