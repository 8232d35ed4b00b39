"""What persons with lists cost: how large their store is, how long a worker looks, what it holds,
and how soon it sees a change.

    python benchmarks/personal.py                                100,000 persons of 50 entries each:
        2 of their own, 47 contacts, 1 text
    python benchmarks/personal.py --persons 10000

`begin` is a worker's first look, which reads who has anything.  `nobody`, `kept` and `read` are a
look-up of one recipient: of whom nothing is known, whose lists are in memory, and whose are not;
`CPU` is of the whole process, the store's thread included, `wall` of the caller.  `match` is the
decision about one message by a person's lists, in which nothing is found.  `memory` is what the
process holds more after looking all up.  `change` is the time from a person's change, written by
another process's connection, until a worker that looks every 0.25 s judges by it, of `CHANGES`
changes.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona import state_files  # noqa: E402
from oborona.message.shingles import ShingleType  # noqa: E402
from oborona.policy.personal_list_match import DeliveredFacts, reader_verdict  # noqa: E402
from oborona.reputation.personal import (  # noqa: E402
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    entry,
    of_text,
)
from oborona.stores.persons.follower import FollowedPersons  # noqa: E402
from oborona.stores.persons.store import PersonStore  # noqa: E402
from oborona.types import Action, Shingle  # noqa: E402

NOW: Final = 1_795_170_000.0
LOOKS: Final = 10_000
CHANGES: Final = 20
AT_ONCE: Final = 2_000  # persons written in one transaction
PAGE: Final = resource.getpagesize()

draw = random.Random(1)  # noqa: S311 - the same entries on every run


def person(number: int) -> str:
    return f"person{number}@site{number % 7}.example"


PEOPLE: Final = [
    PersonalEntry(
        side=EntryAction.CONTACT,
        kind=PersonalEntryKind.ADDRESS,
        value=f"name{draw.getrandbits(20)}@a{draw.getrandbits(10)}.example",
        source=PersonalEntrySource.BOOK,
    )
    for _ in range(5_000)
]
"""Whom anybody may know."""


def entries(number: int, each: int) -> list[PersonalEntry]:
    start = draw.randrange(len(PEOPLE) - each)
    known = PEOPLE[start : start + max(0, each - 3)]
    text = [Shingle(ShingleType.WORDS, draw.getrandbits(64)) for _ in range(32)]
    own = [
        entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, f"shop{number}@s.example", time=NOW),
        entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, f"friend{number}@f.example", time=NOW),
        of_text(EntryAction.DENY, text, time=NOW, source=PersonalEntrySource.WORD, word=number + 1),
    ]
    return [*own[:each], *known]


def fill(path: Path, persons: int, each: int) -> float:
    """Write the store; return seconds."""
    began = time.perf_counter()
    with PersonStore(path) as store:
        for start in range(0, persons, AT_ONCE):
            with store._change() as change:  # noqa: SLF001 - thousands of persons in one transaction
                for number in range(start, min(start + AT_ONCE, persons)):
                    change.put(change.person(person(number)), entries(number, each))
        store.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return time.perf_counter() - began


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


async def looked(persons: FollowedPersons, names: list[str]) -> tuple[float, float]:
    """Return the seconds by the wall and of CPU that one look-up takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    for name in names:
        await persons.of(name)
    return (time.perf_counter() - wall) / len(names), (time.process_time() - cpu) / len(names)


async def measured(path: Path, number: int) -> list[tuple[str, str]]:
    rows = []
    before = memory()
    persons = FollowedPersons(path)
    began, cpu = time.perf_counter(), time.process_time()
    await persons.look()
    rows.append(
        (
            "begin",
            f"{time.perf_counter() - began:.2f} s wall, {time.process_time() - cpu:.2f} s CPU",
        )
    )
    chosen = draw.sample(range(number), min(LOOKS, number))
    found = await persons.of(person(chosen[0]))
    some = [person(one) for one in chosen]
    for name, names in (
        ("nobody", [f"nobody{one}@other.example" for one in range(LOOKS)]),
        ("read", some),
        ("kept", [some[-1]] * LOOKS),
    ):
        wall, cpu = await looked(persons, names)
        rows.append((name, f"{wall * 1e6:.1f} µs wall, {cpu * 1e6:.1f} µs CPU"))
    rows.append(("memory", f"{(memory() - before) / (1 << 20):.1f} MiB"))
    message = DeliveredFacts(
        action=Action.ACCEPT, score=12.0, spam_score=100.0, reject_score=200.0, decided_by="below-threshold", enforced=False,
        malware=False, author="x@x.example", author_domain="x.example", claimed="x@x.example", claimed_sender="x@x.example",
        text=tuple(Shingle(ShingleType.WORDS, value) for value in range(32)),
    )  # fmt: skip
    began = time.process_time()
    for _ in range(LOOKS):
        reader_verdict(message, found, NOW)
    rows.append(("match", f"{(time.process_time() - began) / LOOKS * 1e6:.1f} µs CPU"))
    waits = sorted([await _seen(path, persons, some[0], turn) for turn in range(CHANGES)])
    rows.append(
        (
            "change",
            (f"{waits[CHANGES // 2] * 1e3:.0f} ms at the median, {waits[-1] * 1e3:.0f} ms at most"),
        )
    )
    await persons.close()
    return rows


async def _seen(path: Path, persons: FollowedPersons, who: str, turn: int) -> float:
    """Return how long a change waits until it holds in a worker that follows."""
    watching = asyncio.create_task(persons.watch())
    await asyncio.sleep(draw.random() / 4)
    wanted = 0.5 + turn / 100

    def change() -> float:
        with PersonStore(path) as store:
            store.strict(who, wanted)
        return time.perf_counter()

    began = await asyncio.to_thread(change)
    while (await persons.of(who)).strictness != wanted:  # noqa: ASYNC110 - as mail would ask
        await asyncio.sleep(0.005)
    waited = time.perf_counter() - began
    watching.cancel()
    return waited


def main() -> None:
    parser = argparse.ArgumentParser(description="What persons with lists cost.")
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=50, help="of each")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / state_files.PERSONS
        took = fill(path, asked.persons, asked.entries)
        table = Table("figure", f"{asked.persons:,} persons of {asked.entries} entries")
        table.add_row("file", f"{path.stat().st_size / (1 << 20):.0f} MiB, written in {took:.0f} s")
        for row in asyncio.run(measured(path, asked.persons)):
            table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
