"""How many machines so much mail needs: the arithmetic of docs/operate/sizing.md.

    python benchmarks/sizing.py      prints its tables, from the figures that the documents have now

Every figure is read where it was written down when it was measured, or from the constant that the
program goes by; one that is no longer there stops the reckoning.  What is assumed is a constant
below, and nothing else is.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere

from benchmarks.scaling import need
from oborona.config.settings import Settings
from oborona.stores.persons.contacts import WRITE_S
from oborona.stores.signatures.follower import FLUSH_S

ROOT: Final = Path(__file__).resolve().parents[1]
SIZES: Final = (1, 10, 100, 1000)  # millions of messages a day
DAY_S: Final = 86_400

PEAK: Final = 4.0  # assumed: the busy hour beside the average, as docs/measured/scaling.md does
CORES: Final = 8  # assumed: of a machine; measured was on two
BUSY: Final = 0.5  # assumed: of its cores, in the busy hour
PRIMARY_BUSY: Final = 0.5  # assumed: of the one core that a Redis primary has
CONNECTIONS: Final = (
    10  # counted in the code: of a machine's other processes to PostgreSQL, at most
)
SHINGLES: Final = 40  # a message, as `oborona counters bench` has it
SLOTS: Final = (
    262_144 * 128
)  # for shingles seen once in a cluster, of 4 octets: its pages, all full
NEW: Final = 0.63  # of all shingles take one, docs/measured/scaling.md

LEDGER: Final = "docs/measured/ledger.md"
MACHINES: Final = "docs/operate/machines.md"
CLUSTER: Final = "docs/operate/cluster.md"
SEARCH: Final = "docs/adr/0133-a-message-has-a-thousand-bits.md"
JOURNALS: Final = "docs/adr/0128-journals-stay-with-their-machines.md"


class FigureMissingError(Exception):
    """A document has no longer what was measured."""


class Figures(NamedTuple):
    """What was measured; of two bounds the worse one."""

    # Of the ledger's last ten lines the middle: one alone tells of its hour as much as of the code.
    cpu_ms: float  # a message, all processes, 32 connections
    cpu_least_ms: float
    cpu_most_ms: float
    pss_mb: float  # of all processes, two workers
    writer_ms: float  # a message, of the one process that counts
    keeper_ms: float  # a message, of the one that follows the journal, search included
    journal_b: float  # octets a message: verdict and evidence
    index_b: float
    search_b: float
    changes_s: float  # of the common stores, of all machines
    events_s: float  # reports with a raw copy, of all machines
    primary_us: float  # CPU of a Redis primary, an add
    replica_us: float
    record_b: float  # memory of a count in a cluster


class Size(NamedTuple):
    """What so much mail needs."""

    millions: int
    average_s: float
    busy_s: float
    cores: float
    machines: int  # one of them may be away
    disk_gb: float  # of a machine: a fortnight of its journal, index and search
    reach_days: float  # of the journal with `journal.max_rows` as it ships
    writer: float  # share of a core that the process that counts takes, of each machine
    keeper: float
    primaries: int
    redis_gb: float  # of all nodes, replicas included
    slot_hours: float  # how long what was seen once is remembered in a cluster
    changes_s: float  # at most, contacts and hits that all workers gather
    connections: int  # to PostgreSQL, at most: one that rests in each worker, and others
    events_share: float  # of all messages that may be reported in the busy hour


def figures() -> Figures:
    """Return what was measured, as the documents have it.

    Raises:
        FigureMissingError: one no longer has it.
    """
    lines = [
        tuple(float(number) for number in found)
        for found in re.findall(
            r"^\| \w+ \| [^|]+ \| [^|]+ \| [\d.]+ \(([\d.]+) / [\d.]+\) \|.*; worker[^|]*?"
            r"writer ([\d.]+)[^|]*\| (\d+) \| \d+ \|$",
            _text(LEDGER),
            re.MULTILINE,
        )
    ]
    if not lines:
        raise FigureMissingError(f"{LEDGER}: no line")
    last = lines[-10:]
    cpu_ms, writer_ms, pss_mb = (median(values) for values in zip(*last, strict=True))
    costs = [cost for cost, _, _ in last]
    search_us, search_b, _ = _found(
        SEARCH, r"all at once \| (\d+) µs of CPU and (\d+) octets a message \(the journal: (\d+),"
    )
    journal_b, index_b, follow_us = _found(
        JOURNALS,
        r"a message takes ([\d,]+) octets of the journal and (\d+) of the index.*?(\d+) µs",
    )
    primary_us, replica_us = _found(
        CLUSTER, r"8 to (\d+) µs of CPU of its primary, 1.5 to\s+([\d.]+) µs of the replica"
    )
    return Figures(
        cpu_ms=cpu_ms,
        cpu_least_ms=min(costs),
        cpu_most_ms=max(costs),
        pss_mb=pss_mb,
        writer_ms=writer_ms,
        keeper_ms=(search_us + follow_us) / 1e3,
        journal_b=journal_b,
        index_b=index_b,
        search_b=search_b,
        changes_s=_found(MACHINES, r"(\d+) to \d+ changes\s+a\s+second")[0],
        events_s=_found(MACHINES, r"([\d,]+) by all three")[0],
        primary_us=primary_us,
        replica_us=replica_us,
        record_b=_found(CLUSTER, r"\| 400 \| (\d+) \| \d+ \|")[0],
    )


def reckon(millions: int, known: Figures) -> Size:
    """Return what so many million messages a day need.

    Args:
        millions: of messages a day.
        known: what was measured.
    """
    average_s = millions * 1e6 / DAY_S
    busy_s = average_s * PEAK
    cores = busy_s * known.cpu_ms / 1e3
    machines = math.ceil(cores / (CORES * BUSY)) + 1
    journal = Settings().journal
    of_one = millions * 1e6 / machines
    days = journal.retention_hours / 24
    shingles = millions * 1e6 * SHINGLES
    records = need(shingles, flushes_a_day=10.0 * DAY_S, table_bytes=4.0 * SLOTS).records
    primary = busy_s * SHINGLES * known.primary_us / 1e6
    return Size(
        millions=millions,
        average_s=average_s,
        busy_s=busy_s,
        cores=cores,
        machines=machines,
        disk_gb=of_one * days * (known.journal_b + known.index_b + known.search_b) / 1e9,
        reach_days=min(days, journal.max_rows / of_one),
        writer=busy_s / machines * known.writer_ms / 1e3,
        keeper=busy_s / machines * known.keeper_ms / 1e3,
        primaries=max(3, math.ceil(primary / PRIMARY_BUSY)),
        redis_gb=2 * (records * known.record_b + 4.0 * SLOTS) / 1e9,
        slot_hours=24 * SLOTS / (NEW * shingles),
        changes_s=machines * CORES * (1 / WRITE_S + 1 / FLUSH_S),
        connections=machines * (CORES + CONNECTIONS),
        events_share=min(1.0, known.events_s / busy_s),
    )


def tables() -> str:
    """Return the tables of the document, as Markdown."""
    known = figures()
    sizes = [reckon(millions, known) for millions in SIZES]
    head = ["million messages a day", *(f"{one.millions:,}" for one in sizes)]
    rows: list[tuple[str, list[str]]] = [
        ("messages a second, average", [_short(one.average_s) for one in sizes]),
        ("… in the busy hour", [_short(one.busy_s) for one in sizes]),
        ("cores in the busy hour", [_short(one.cores) for one in sizes]),
        (
            "… by the best and worst of the ledger's last ten lines, not their middle",
            [
                f"{_short(one.busy_s * known.cpu_least_ms / 1e3)} to "
                f"{_short(one.busy_s * known.cpu_most_ms / 1e3)}"
                for one in sizes
            ],
        ),
        (f"machines of {CORES} cores, one of them away", [f"{one.machines:,}" for one in sizes]),
        ("disk of each: a fortnight's journal, GB", [_short(one.disk_gb) for one in sizes]),
        (
            "days that the journal reaches back as it ships",
            [_short(one.reach_days) for one in sizes],
        ),
        ("core of the counting process of each", [f"{one.writer:.2f}" for one in sizes]),
        ("core of the keeper of each", [f"{one.keeper:.2f}" for one in sizes]),
        ("Redis: primaries, with a replica each", [f"{one.primaries:,}" for one in sizes]),
        ("Redis: memory of all nodes, GB", [_short(one.redis_gb) for one in sizes]),
        (
            "Redis: hours that what was seen once is remembered",
            [_short(one.slot_hours) for one in sizes],
        ),
        (
            f"common changes a second at most, of {known.changes_s:,.0f} that the log takes",
            [_short(one.changes_s) for one in sizes],
        ),
        ("connections to PostgreSQL at most", [f"{one.connections:,}" for one in sizes]),
        (
            "share of the busy hour's mail that may be reported",
            [f"{one.events_share:.0%}" for one in sizes],
        ),
    ]
    lines = [_line(head), _line(["---"] * len(head))]
    return "\n".join([*lines, *(_line([what, *cells]) for what, cells in rows)])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _short(number: float) -> str:
    """Return a number with two digits that count."""
    if number >= 100:
        return f"{round(number, 1 - math.floor(math.log10(number))):,.0f}"
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def _text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def _found(page: str, pattern: str) -> tuple[float, ...]:
    found = re.search(pattern, _text(page), re.DOTALL)
    if found is None:
        raise FigureMissingError(f"{page}: has nothing like {pattern}")
    return tuple(float(number.replace(",", "")) for number in found.groups())


if __name__ == "__main__":
    print(tables())
