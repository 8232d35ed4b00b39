"""What it costs to record who is refused before the content: CPU microseconds of a worker for each
refusal, all threads, and the rows that the journal has of them afterwards.

    python benchmarks/refused.py                20,000 refusals a row, best of three runs

Each refusal is one client that a local list keeps out, told at RCPT TO as the policy that ships
does: connect, HELO, MAIL, one RCPT, close, by the session itself; the log is the daemon's and goes
nowhere.  "not recorded" is the same without a journal.  The last column is the record by itself,
without a session, in batches of a flood of ten thousand a second: what is added to each.  The time
until everything is in the file is part of both.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, NamedTuple

import uvloop
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oborona.config import Settings, WorkerSettings
from oborona.counters.memory import MemoryCounters
from oborona.doors.reply import ReplyAction
from oborona.ident import JournalIdGenerator
from oborona.journal.journal import JournalWriter
from oborona.journal.refusal import RefusalSink, Told
from oborona.message.shingles import Hasher
from oborona.policy.fact_table import SCHEMA
from oborona.policy.scan import ScanSite
from oborona.policy.watch import LivePolicy
from oborona.session.lookups import DnsLookups
from oborona.session.refusals import refusal_of
from oborona.session.services import SessionServices
from oborona.session.session import Session
from oborona.telemetry.log import set_up
from oborona.types import Action, Client, Envelope, Stage, Verdict

FIRST: Final = int(IPv4Address("9.0.0.0"))
KEPT_OUT: Final = (
    '[repip]\nbad = "none"\n[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\n'
    'entries = ["9.0.0.0/8"]\n'
)
PIECE: Final = 100  # refusals between two turns of the loop
BATCH: Final = 2500  # refusals of a quarter of a second, of ten thousand a second


class RefusedCase(NamedTuple):
    """A row."""

    name: str
    recorded: bool
    address: Callable[[int], int] = lambda _number: 7
    sender: Callable[[int], str] = lambda _number: "ann@a.example"


CASES: Final = (
    RefusedCase("not recorded", recorded=False),
    RefusedCase("one client, one message", recorded=True),
    RefusedCase("one network, a sender each", recorded=True, address=lambda n: n % 256,
                sender=lambda n: f"s{n}@a.example"),
    RefusedCase("a thousand networks", recorded=True, address=lambda n: n % 1000 * 256),
    RefusedCase("each of a network of its own", recorded=True, address=lambda n: n * 256),
    RefusedCase("not recorded, of a network each", recorded=False, address=lambda n: n * 256),
)  # fmt: skip


def services_of(folder: Path, refusals: RefusalSink) -> SessionServices:
    """Return what sessions work with."""
    (folder / "policy.d").mkdir(exist_ok=True)
    (folder / "policy.d/10-case.toml").write_text(KEPT_OUT)
    asking = DnsLookups(Settings(), "mx.example")
    counters = MemoryCounters()
    return SessionServices(
        site=ScanSite(name="mx.example", hasher=Hasher(b"k" * 32), counters=counters),
        settings=WorkerSettings(),
        contact="https://example.org/mail",
        policy=LivePolicy(folder / "policy.d", SCHEMA),
        counters=counters,
        journal=lambda _entry: None,
        refusals=refusals,
        numbers=JournalIdGenerator(0),
        signing_key=b"k" * 32,
        clock=time.time,
        new_inquiry=asking.inquirer,
        own=asking.is_own,
    )


async def drive(services: SessionServices, case: RefusedCase, count: int) -> None:
    """Have so many clients refused."""
    for number in range(count):
        session = Session(services)
        ip = str(IPv4Address(FIRST + case.address(number)))
        await session.connect(Client(ip=ip, name="host.a.example", port=25025))
        await session.helo("mail.a.example")
        await session.mail(case.sender(number), ())
        reply = await session.rcpt("bob@b.example", ())
        assert reply.answer is ReplyAction.REJECT
        session.close()
        if number % PIECE == 0:
            await asyncio.sleep(0)


async def record(case: RefusedCase, count: int) -> float:
    """Return the microseconds of recording one refusal, as a session has it done."""
    numbers, refused = JournalIdGenerator(0), list[Envelope]()
    verdict = Verdict(action=Action.REJECT, score=0.0, line=200.0, decided_by="KEPT_OUT")
    for number in range(count):
        ip = str(IPv4Address(FIRST + case.address(number)))
        client, sender = Client(ip=ip, name="host.a.example"), case.sender(number)
        refused.append(Envelope(client=client, sender=sender, recipients=("bob@b.example",)))
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as name:
        folder = Path(name)
        async with await JournalWriter.open(folder / "journal.db") as journal:
            policy = services_of(folder, journal).policy.current
            begun = time.process_time()
            for number, envelope in enumerate(refused):
                now = time.time()
                refusal = refusal_of(
                    numbers.next(now), now, policy, envelope, verdict,
                    stage=Stage.CONNECT, told=Told.RECIPIENT, door="milter",
                )  # fmt: skip
                journal.take(refusal)
                if number % BATCH == 0:
                    await journal.flush()
            await journal.flush()
            return (time.process_time() - begun) / count * 1e6


async def measure(case: RefusedCase, count: int) -> tuple[float, int]:
    """Return the microseconds of one refusal, and the rows of all."""
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as name:
        folder = Path(name)
        async with await JournalWriter.open(folder / "journal.db") as journal:
            services = services_of(folder, journal if case.recorded else RefusalSink())
            begun = time.process_time()
            await drive(services, case, count)
            await journal.flush()
            took = time.process_time() - begun
        with closing(sqlite3.connect(folder / "journal.db")) as db:
            ((found,),) = db.execute("SELECT refusals FROM tally")
    return took / count * 1e6, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--refusals", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    table = Table(title=f"{options.refusals:,} refusals, best of {options.runs}")
    for title in ("refused", "CPU µs a refusal", "rows", "the record alone"):
        table.add_column(title, justify="left" if title == "refused" else "right")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        set_up(stream=nowhere)  # the log as the daemon writes it
        for case in CASES:
            took, found = min(
                uvloop.run(measure(case, options.refusals)) for _ in range(options.runs)
            )
            alone = min(
                uvloop.run(record(case, options.refusals)) if case.recorded else 0.0
                for _ in range(options.runs)
            )
            table.add_row(case.name, f"{took:.1f}", f"{found:,}", f"{alone:.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
