"""What limits on outgoing mail cost a message: the figures of docs/adr/0064.

    python benchmarks/limits.py [MESSAGES]

Messages of 200 accounts with a past of two weeks, as a worker asks for them and counts them, over
an embedded store in a temporary folder.  Processor time of the worker alone:

    asked      the limits that ship, read and decided at the end of a message
    counted    what is added for a message that is taken, with its part of the flushes

The best of five rounds; the first message of an account on a day, which reads its time-lines, is
told apart.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.accounts.directory import AccountDirectory  # noqa: E402
from oborona.accounts.limits.decision import MessageAmounts, rule_on_limits  # noqa: E402
from oborona.accounts.limits.memory import LimitMemory  # noqa: E402
from oborona.accounts.limits.plan import LimitPlan  # noqa: E402
from oborona.accounts.limits.reader import read_limits, read_place  # noqa: E402
from oborona.accounts.limits.subjects import facts_of, subject_shingle  # noqa: E402
from oborona.accounts.sending_account import SendingAccount  # noqa: E402
from oborona.counters.store import LmdbCounters  # noqa: E402
from oborona.counters.window import DAY_S  # noqa: E402
from oborona.counters.writer import LmdbCounterWriter  # noqa: E402
from oborona.message.hashing import Hasher, ShingleType  # noqa: E402
from oborona.message.unique_pairs import account_place  # noqa: E402
from oborona.policy.accounting import record_place, record_sent  # noqa: E402
from oborona.policy.counts import MessageCounts  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402
from oborona.types import Client, Envelope, Metric, Shingle, Window  # noqa: E402

ACCOUNTS: Final = 200
ROUNDS: Final = 5
FLUSHED: Final = 20  # messages a flush: a worker with 200 messages a second
NOW: Final = 1_795_170_000.0
HASHER: Final = Hasher(b"k" * 32)
# what the scan of a message has read anyway
_PIECES: Final = tuple(
    Shingle(int(kind), 1)
    for kind in (
        ShingleType.ACCOUNT,
        ShingleType.ACCOUNT_IPS,
        ShingleType.ACCOUNT_COUNTRIES,
        ShingleType.CLIENT_IP,
        ShingleType.ACCOUNT_IP,
    )
)
SCANNED: Final = MessageCounts(_PIECES, [[[0] * len(Metric) for _ in Window]] * len(_PIECES))


def envelopes(number: int) -> list[Envelope]:
    """Return the envelopes of so many messages, drawn by a seed."""
    chance = random.Random(1)  # noqa: S311 - no secret
    return [
        Envelope(
            client=Client(ip=f"192.0.2.{chance.randrange(1, 255)}"),
            sender=f"u{account}@firm{account % 5}.example",
            login=f"u{account}@firm{account % 5}.example",
            recipients=tuple(f"r{n}@other.example" for n in range(chance.choice((1, 1, 1, 2, 5)))),
            own=True,
        )
        for account in (chance.randrange(ACCOUNTS) for _ in range(number))
    ]


class LimitsBench:
    """A worker's part of limits, over a store of its own.

    Args:
        folder: for the store.
    """

    def __init__(self, folder: Path) -> None:
        self.plan = LimitPlan(load_policy(ROOT / "etc/policy.d", SCHEMA).limits)
        self.accounts = AccountDirectory()
        self.accounts.learn(
            (
                SendingAccount(id=f"a{n}", rating=100, logins=(f"u{n}@firm{n % 5}.example",))
                for n in range(ACCOUNTS)
            ),
            anew=True,
        )
        self.writer = LmdbCounterWriter(folder, doorkeeper_bytes=0, report=lambda _: None)
        self.counters = LmdbCounters(folder, "worker-1", environment=self.writer.environment)

    def settle(self, now: float) -> None:
        """Have the writer apply what was counted."""
        self.counters.flush(now)
        while self.writer.step(now):
            pass

    def count(self, envelope: Envelope, now: float) -> None:
        """Count one message that is taken."""
        known = self.accounts
        shingles = (subject_shingle(each, envelope, HASHER, known) for each in self.plan.subjects)
        subjects = tuple(shingle for shingle in shingles if shingle is not None)
        record_sent(subjects, len(envelope.recipients), 4_000, self.counters, now=now)
        record_place(account_place(envelope, HASHER), self.counters, left=True, now=now)

    async def ask(self, memory: LimitMemory, envelope: Envelope) -> None:
        """Read and decide the limits of one message."""
        readings = await read_limits(
            memory, self.plan.whole, envelope, HASHER, self.counters, self.accounts, NOW, SCANNED
        )
        facts = facts_of(envelope, self.accounts, NOW)
        if self.plan.whole.asks_place:
            facts.elsewhere = await read_place(envelope, HASHER, self.counters, NOW, SCANNED)
        adds = MessageAmounts(recipients=len(envelope.recipients), octets=4_000)
        rule_on_limits(readings, adds, facts)


async def measure(messages: int) -> None:
    """Measure, and print."""
    sample = envelopes(messages)
    with tempfile.TemporaryDirectory() as folder:
        bench = LimitsBench(Path(folder))
        for day in range(13, -1, -1):
            for envelope in sample[: 20 * ACCOUNTS]:
                bench.count(envelope, NOW - day * DAY_S)
            bench.settle(NOW - day * DAY_S)
        first, asked, counted = [], [], []
        for _ in range(ROUNDS):
            memory = LimitMemory()
            start = time.process_time()
            for envelope in {one.login: one for one in sample}.values():
                await bench.ask(memory, envelope)
            first.append((time.process_time() - start) / ACCOUNTS)
            start = time.process_time()
            for envelope in sample:
                await bench.ask(memory, envelope)
            asked.append((time.process_time() - start) / messages)
            spent = 0.0
            for at in range(0, messages, FLUSHED):
                start = time.process_time()
                for envelope in sample[at : at + FLUSHED]:
                    bench.count(envelope, NOW)
                bench.counters.flush(NOW)
                spent += time.process_time() - start
                bench.settle(NOW)
            counted.append(spent / messages)
        bench.counters.close()
        bench.writer.close()
    for name, rounds in (("asked", asked), ("first of a day", first), ("counted", counted)):
        print(f"{name:15} {min(rounds) * 1e6:6.1f} us")


def main() -> None:
    """Measure what limits cost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("messages", nargs="?", type=int, default=4_000)
    asyncio.run(measure(parser.parse_args().messages))


if __name__ == "__main__":
    main()
