"""What a connection costs before its first message: CPU per connection, refused or let in, by what
decides.

    python benchmarks/connect.py                       10,000 addresses, best of three runs
    python benchmarks/connect.py --profile "shipped"   where the time of one row goes

Each connection is a mail server's, from its first word to its last (negotiation, connect, quit; at
"recipient" HELO, MAIL and one RCPT between them), as bytes into the native transport's connection
and bytes out of it; the socket alone is left out.  The session, the policy that ships, the counters
and the log are the daemon's, in one process.  Every address is new, and the DNS has its answers at
hand (the resolver's cache is filled), so that no row waits for anybody.  `stage` is the row's cost
without that of the protocol alone.  No content is scanned: a scan fails the benchmark.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import pstats
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.config import DnsSettings, Settings, WorkerSettings  # noqa: E402
from oborona.counters.memory import MemoryCounters  # noqa: E402
from oborona.dns import DnsAnswer, DnsOutcome, DnsType  # noqa: E402
from oborona.doors.guard import HandlerGuard  # noqa: E402
from oborona.doors.handler import ConnectionHandler  # noqa: E402
from oborona.doors.memory_budget import MemoryBudget  # noqa: E402
from oborona.doors.reply import ReplyAction as Said  # noqa: E402
from oborona.ident import JournalIdGenerator  # noqa: E402
from oborona.journal.entry import JournalEntry  # noqa: E402
from oborona.message.shingles import Hasher, envelope_shingles  # noqa: E402
from oborona.milter.connection import MilterConnection  # noqa: E402
from oborona.policy.accounting import read_counts  # noqa: E402
from oborona.policy.counts import shingles_to_read  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.ports import CounterAdder, CounterReader  # noqa: E402
from oborona.policy.scan import ScanSite  # noqa: E402
from oborona.policy.watch import LivePolicy  # noqa: E402
from oborona.resolver import names, wire  # noqa: E402
from oborona.session.lookups import DnsLookups  # noqa: E402
from oborona.session.services import SessionServices  # noqa: E402
from oborona.session.session import Session  # noqa: E402
from oborona.session.verdict_metrics import VERDICTS  # noqa: E402
from oborona.stores.counters import open_counters, open_writer  # noqa: E402
from oborona.telemetry.log import set_up  # noqa: E402
from oborona.types import Amounts, Client, Envelope, Stage  # noqa: E402
from tests.doors.handlers import Nod  # noqa: E402

FIRST: Final = int(IPv4Address("9.0.0.1"))
HASHER: Final = Hasher(b"k" * 32)
OPTNEG: Final = struct.pack("!IcIII", 13, b"O", 6, 0x1FF, 0x1FFFFF)
QUIT: Final = struct.pack("!Ic", 1, b"Q")
BAD: Final = Amounts(seen=50, spam=50)
LISTS: Final = ("one.test", "two.test", "three.test")
DNS_LISTS: Final = "".join(
    (
        f'[[dns_list]]\nname = "{zone.partition(".")[0].upper()}"\nzone = "{zone}"\nof = '
        f'["client"]\nscore = 80\n'
    )
    for zone in LISTS
)
DENIED: Final = (
    '[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nentries = ["9.0.0.0/8"]\n'
)


class Case(NamedTuple):
    """A row."""

    name: str
    refused: bool
    store: str = "lmdb"
    policy: str = ""  # beside the one that ships
    bad: bool = False  # all addresses have a bad history
    listed: bool = False  # all lists have all addresses
    named: bool = True  # the mail server has verified the clients' names; else the DNS is asked
    at: str = "connect"  # clients are refused there, and leave then


CASES: Final = (
    Case("the protocol alone", refused=False, store="none"),
    Case("shipped policy, counters in memory", refused=False, store="memory"),
    Case("shipped policy", refused=False),
    Case("shipped policy, clients without a name", refused=False, named=False),
    Case("three DNS lists, none has it", refused=False, policy=DNS_LISTS),
    Case("three DNS lists, all have it", refused=True, policy=DNS_LISTS, listed=True),
    Case("bad history (RepIP)", refused=True, bad=True),
    Case("bad history, counters in memory", refused=True, store="memory", bad=True),
    Case("local list", refused=True, policy=DENIED),
    Case("the protocol alone", refused=False, store="none", at="recipient"),
    Case("shipped policy", refused=False, at="recipient"),
    Case("three DNS lists, none has it", refused=False, policy=DNS_LISTS, at="recipient"),
    Case(
        "three DNS lists, all have it", refused=True, policy=DNS_LISTS, listed=True, at="recipient"
    ),
    Case("bad history (RepIP)", refused=True, bad=True, at="recipient"),
    Case("local list", refused=True, policy=DENIED, at="recipient"),
)


class AtConnect(Nod):
    """Makes the mail server wait for an answer at connect alone."""

    waits = frozenset({Stage.CONNECT})


class AtRecipient(Nod):
    """As the shipped policy does, makes the mail server wait for an answer at RCPT alone."""

    waits = frozenset({Stage.RECIPIENT})


class Host:
    """What a connection needs of its server."""

    draining = False
    limit_bytes = 1 << 20

    def __init__(self, handler_factory: Callable[[], ConnectionHandler]) -> None:
        self.handler_factory = handler_factory
        self.guard = HandlerGuard(Said.CONTINUE)
        self.room = MemoryBudget(1 << 30)

    def note(self, outcome: str) -> None:
        pass

    def left(self, stream: object) -> None:
        pass


class Wire(asyncio.Transport):
    """A transport that keeps what is written, and tells of the second answer: after the terms, the
    client's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.answered: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()

    def write(self, data: Any) -> None:
        self.written.append(data)
        if len(self.written) == 2:
            self.answered.set_result(None)

    def close(self) -> None:
        self.closed.set_result(None)


def frame(command: bytes, data: bytes) -> bytes:
    """Return a milter packet."""
    return struct.pack("!Ic", len(data) + 1, command) + data


def client(number: int, *, named: bool) -> Client:
    """Return the client of a number."""
    ip = str(IPv4Address(FIRST + number))
    return Client(
        ip=ip, name=f"host{number}.net{number % 997}.example" if named else "", port=25025
    )


def said(one: Client, at: str) -> bytes:
    """Return what a mail server says of a client up to the place where it waits, as Postfix
    does.
    """
    name = one.name or f"[{one.ip}]"
    macros = (
        f"Cj\0mx.example\0{{client_addr}}\0{one.ip}\0{{client_name}}\0{name}\0{{daemon_port}}\025\0"
    )
    connect = f"{name}\0".encode() + b"4" + struct.pack("!H", one.port) + f"{one.ip}\0".encode()
    words = OPTNEG + frame(b"D", macros.encode()) + frame(b"C", connect)
    if at == "connect":
        return words
    mail = frame(b"D", b"M{mail_addr}\0ann@a.example\0") + frame(b"M", b"<ann@a.example>\0")
    rcpt = frame(b"D", b"R{rcpt_addr}\0bob@b.example\0") + frame(b"R", b"<bob@b.example>\0")
    return words + frame(b"H", b"mail.a.example\0") + mail + rcpt


async def drive(host: Host, clients: Sequence[bytes]) -> int:
    """Have every client connect and leave; return how many were refused."""
    loop, refused = asyncio.get_running_loop(), 0
    for words in clients:
        wire_ = Wire(loop)
        connection = MilterConnection(host)
        connection.connection_made(wire_)
        connection.data_received(words)
        await wire_.answered
        refused += wire_.written[1][4:5] == b"y"
        connection.data_received(QUIT)
        await wire_.closed
        connection.connection_lost(None)
    return refused


def no_scan(entry: JournalEntry) -> None:
    """Take no journal entry."""
    raise AssertionError(f"content was scanned: {entry}")


def history(store: CounterAdder, clients: Sequence[Client], now: float) -> None:
    """Count a past of spam for every address."""
    for one in clients:
        store.add(envelope_shingles(Envelope(client=one), HASHER), BAD, now)


@contextmanager
def counters(case: Case, clients: Sequence[Client], folder: Path, now: float) -> Iterator[Any]:
    """Give the store of a row, with its history."""
    if case.store != "lmdb":
        memory = MemoryCounters()
        if case.bad:
            history(memory, clients, now)
        yield memory
        return
    writer = open_writer(Settings(), folder)
    spool = open_counters(Settings(), folder, "worker-0")
    for start in range(0, len(clients) if case.bad else 0, 1000):
        history(spool, clients[start : start + 1000], now)
        spool.flush(now)
        writer.step(now)
    spool.close()
    writer.close()  # no process can have the store open as its writer and read it
    stored = open_counters(Settings(), folder, "worker-0")
    try:
        yield stored
    finally:
        stored.close()


def prime(asking: DnsLookups, case: Case, clients: Sequence[Client]) -> None:
    """Put the answers of the DNS at hand."""
    cache = asking.resolver._cache  # noqa: SLF001 - nobody but the resolver puts answers there

    def put(name: str, kind: DnsType, answer: DnsAnswer) -> None:
        encoded = names.encode(name)
        assert encoded is not None
        cache.put(wire.question(encoded, kind), answer)

    listed = DnsAnswer(outcome=DnsOutcome.FOUND, records=("127.0.0.2",), ttl=86_400)
    nothing = DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=86_400)
    for zone in LISTS:
        put(f"2.0.0.127.{zone}", DnsType.A, listed)
        put(f"1.0.0.127.{zone}", DnsType.A, nothing)
    for name in ("a.example", "mail.a.example"):
        put(name, DnsType.TXT, nothing)
    for one in clients:
        reverse = ".".join(reversed(one.ip.split(".")))
        put(f"{reverse}.in-addr.arpa", DnsType.PTR, nothing)
        for zone in LISTS if case.policy == DNS_LISTS else ():
            put(f"{reverse}.{zone}", DnsType.A, listed if case.listed else nothing)


async def measure(case: Case, count: int, runs: int, profile: cProfile.Profile | None) -> float:
    """Return the microseconds of CPU of one connection, of the best run."""
    clients = [client(number, named=case.named) for number in range(count)]
    words, now = [said(one, case.at) for one in clients], time.time()
    best = float("inf")
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as name:
        folder = Path(name)
        (folder / "policy.d").mkdir()
        for file in (ROOT / "etc/policy.d").glob("*.*"):
            (folder / "policy.d" / file.name).write_bytes(file.read_bytes())
        (folder / "policy.d/90-case.toml").write_text(
            f'[verdict]\nclients_at = "{case.at}"\n{case.policy}'
        )
        policy = LivePolicy(folder / "policy.d", SCHEMA)
        # A server that does not exist: whatever is not at hand fails the row.
        asking = DnsLookups(
            Settings(dns=DnsSettings(servers="127.0.0.1:9", cache_entries=8 * count + 1000)),
            "mx.example",
        )
        prime(asking, case, clients)
        await asking.begin(policy.current)
        with counters(case, clients, folder / "state", now) as store:
            reader: CounterReader = store
            bench = SessionServices(
                site=ScanSite(name="mx.example", hasher=HASHER, counters=reader),
                settings=WorkerSettings(),
                contact="https://example.org/mail",
                policy=policy,
                counters=store,
                journal=no_scan,
                numbers=JournalIdGenerator(0),
                signing_key=b"k" * 32,
                clock=time.time,
                new_inquiry=asking.inquirer,
                own=asking.is_own,
            )
            first = shingles_to_read(envelope_shingles(Envelope(client=clients[0]), HASHER))
            assert not (await read_counts(reader, first, now))[1], "the counters do not answer"
            nod = AtConnect if case.at == "connect" else AtRecipient
            host = Host(nod if case.store == "none" else lambda: Session(bench))
            await drive(host, words[:200])  # warm
            for _ in range(runs):
                if profile is not None:
                    profile.enable()
                begun = time.process_time()
                refused = await drive(host, words)
                best = min(best, (time.process_time() - begun) / count * 1e6)
                if profile is not None:
                    profile.disable()
                assert refused == (count if case.refused else 0), f"{case.name}: {refused} refused"
            assert asking.resolver.stats.sent == 0, f"{case.name}: not all answers were at hand"
            assert set(VERDICTS.values) <= {("connect", "reject")}
        await asking.close()
    return best


def main() -> None:
    """Run what the command line asks for, print the table or, with --json, one object a row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--profile", metavar="ROW", help="profile the first row whose name begins so"
    )
    parser.add_argument(
        "--sort", default="tottime", choices=["tottime", "cumtime"], help="of the profile"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        set_up(stream=nowhere)  # the log as the daemon writes it
        run(options)


def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    if options.profile is not None:
        case = next(one for one in CASES if one.name.startswith(options.profile))
        profile = cProfile.Profile()
        uvloop.run(measure(case, options.connections, 1, profile))
        pstats.Stats(profile).sort_stats(options.sort).print_stats(40)
        return
    results = [
        (case, uvloop.run(measure(case, options.connections, options.runs, None))) for case in CASES
    ]
    alone = {case.at: took for case, took in results if case.store == "none"}
    if options.json:
        for case, took in results:
            row = {
                "row": case.name,
                "at": case.at,
                "refused": case.refused,
                "cpu_us": took,
                "stage_us": took - alone[case.at],
            }
            print(msgspec.json.encode(row).decode())
        return
    table = Table(
        title=f"{options.connections:,} connections, each of a new address, best of {options.runs}"
    )
    for title in ("decided by", "at", "answer", "CPU µs a connection", "of these the stage"):
        table.add_column(
            title, justify="right" if "CPU" in title or "of these" in title else "left"
        )
    for case, took in results:
        answer = "554" if case.refused else "go on"
        table.add_row(case.name, case.at, answer, f"{took:.0f}", f"{took - alone[case.at]:.0f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
