"""How much store so many shingles a day need: the arithmetic of docs/measured/scaling.md, and a run
of a thousandth of it.

    python benchmarks/scaling.py                         the arithmetic for 10 M, 1 B and 13 B
                                                         shingles a day
    python benchmarks/scaling.py --run 1e6               17 days of a million shingles through a
    real store and writer, by a clock of their own:
                                                         what the arithmetic says beside what there
                                                         is; --doorkeeper MIB for the table of
                                                         singletons

Of the shingles of a day 0.6 are new and never come again, the others follow Zipf's law (s = 1.1)
over nine days' worth of keys: the load of `counter_load/workload.py`.  A record lives until it is
out of the fortnight at a day's end and the purge has come by.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona import state_files
from oborona.counter_load.subject import LmdbWatch
from oborona.counter_load.workload import (
    KNOWN,
    NEW,
    SHINGLES,
    ZIPF_S,
    Workload,
    hashes,
    types,
    zipf_sum,
)
from oborona.counters.batch import HEADER_BYTES, SEGMENT
from oborona.counters.doorkeeper import PRINT, SLOT_BYTES, WAYS
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.readonly import open_reader
from oborona.counters.record import CELL_BYTES, DAYS_KEPT, FINE_BUCKETS, KEY_BYTES, TIDY_BYTES
from oborona.counters.store import LmdbCounters
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, DAY_S, DAYS
from oborona.counters.writer import PURGE_ROUND_S, LmdbCounterWriter
from oborona.types import Amounts, Metric, Shingle, Window

RUN_DAYS: Final = 17  # a fortnight, the day more that a record is kept, and two to go
# of all shingles: so many keys does Zipf's law run over, as many as a fortnight leaves behind
POPULATION_DAYS: Final = 9
START: Final = 20_000 * DAY_S

PAGE_BYTES: Final = 4096
PAGE_HEADER: Final = 16
NODE_BYTES: Final = 8 + 2  # LMDB's header of a node, and where it lies in the page
# How full pages are while keys come at random places.  Source: Yao: On random 2-3 trees, Acta
# Informatica 9, 1978
GROWN: Final = math.log(2)
# ... and once as many go as come: LMDB merges a page when a quarter of it is left. Measured: --run
# 20000 --days 60
SETTLED: Final = 0.585
SETTLED_DAYS: Final = 45
ROUNDS: Final = 50  # of the equation for the table, which settles in ten
POINTS: Final = 4000  # ranks at which sums over all ranks are taken

FLUSHES_A_DAY: Final = 10 * DAY_S  # of one worker
MIB: Final = 1 << 20
TABLES_MIB: Final = [16.0, 256.0, 4096.0, 65_536.0]
ONE_SEEN: Final = Amounts(seen=1)

Floats = npt.NDArray[np.float64]


class Need(NamedTuple):
    """What a store takes after weeks."""

    records: float
    bytes_a_record: float  # of pages in use
    spool_bytes_a_day: float
    # share of the sightings of known keys that a read does not find, for a table is too small
    lost: float


class Ranks:
    """Known keys, by how often each comes in a day; sums over all of them from a few thousand."""

    def __init__(self, a_day: float) -> None:
        population = POPULATION_DAYS * a_day
        head = np.arange(1, min(POINTS, population) + 1)
        borders = np.geomspace(head[-1] + 0.5, population + 0.5, POINTS)
        self.ranks = np.concatenate([head, np.sqrt(borders[1:] * borders[:-1])])
        self.weights = np.concatenate([np.ones(len(head)), np.diff(borders)])
        self.hits_a_day = a_day * KNOWN / SHINGLES / zipf_sum(int(population)) * self.ranks**-ZIPF_S

    def sum(self, values: Floats) -> float:
        return float(np.dot(values, self.weights))


def need(
    a_day: float, *, flushes_a_day: float, table_bytes: float = 0.0, page_fill: float = SETTLED
) -> Need:
    """Return what a store of `a_day` shingles holds at a day's end, and what goes through its
    spools.

    Args:
        a_day: shingles a day, as they are added.
        flushes_a_day: of all workers.
        table_bytes: of the doorkeeper; 0 = none.
        page_fill: how full LMDB's pages are.
    """
    ranks, new = Ranks(a_day), a_day * NEW / SHINGLES
    lived = (
        DAYS_KEPT + PURGE_ROUND_S / DAY_S / 2
    )  # the day that ends is whole, and the purge is half a round behind
    seen = 1 - np.exp(-ranks.hits_a_day * lived)
    if not table_bytes:
        kept, strays, lost = seen, new * lived, 0.0
    else:
        kept, lost = _kept(ranks, new, table_bytes / SLOT_BYTES, lived)
        strays = new * lived * WAYS / (int(PRINT) + 1)  # found another's slot
    records = ranks.sum(kept) + strays
    cells = (
        ranks.sum(kept * _cells(ranks.hits_a_day, lived, 2 if table_bytes else 1)) + strays
    ) / records
    node = NODE_BYTES + KEY_BYTES + CELL_BYTES * cells
    leaves = node / (PAGE_BYTES - PAGE_HEADER) / page_fill * PAGE_BYTES
    branches = leaves * (NODE_BYTES + KEY_BYTES) / (PAGE_BYTES - PAGE_HEADER) / page_fill
    distinct = new / flushes_a_day + ranks.sum(1 - np.exp(-ranks.hits_a_day / flushes_a_day))
    a_flush = HEADER_BYTES + SEGMENT.size + distinct * (KEY_BYTES + CELL_BYTES)
    return Need(records, leaves + branches, a_flush * flushes_a_day, lost)


def _cells(hits_a_day: Floats, lived: float, least: int) -> Floats:
    """Return the cells of a record: it begins with `least`, gets one a hit, and is tidied each 16.

    A key that is rarely seen has a record for a short while: another hit within its life comes with
    q. Of one that is seen so often that tidying leaves 16 or more, half of 16 more are there on
    average.
    """
    again = -np.expm1(-hits_a_day * lived)
    fine = FINE_BUCKETS * -np.expm1(-hits_a_day / BUCKETS_A_DAY)
    tidied = fine + (lived - FINE_BUCKETS / BUCKETS_A_DAY) * -np.expm1(-hits_a_day)
    slack = TIDY_BYTES // CELL_BYTES
    cells = np.arange(slack, dtype=float)[:, None]
    weights = np.where(cells >= np.maximum(least, np.floor(tidied)), again**cells, 0.0)
    few = (cells * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-300)
    return np.where(tidied >= slack - 1, tidied + slack / 2, np.maximum(few, least))


def _kept(ranks: Ranks, new: float, slots: float, lived: float) -> tuple[Floats, float]:
    """Return how likely each rank has a record where singletons go to a table, and the share of
    sightings that the table forgets.

    A sighting has a record behind it when the one before was in the table still, or had a record
    that lives still: with p and q for a gap shorter than either time, r = p + (q - p) r. What has
    none takes a slot, and how fast slots are taken says how long one lasts.
    """
    hits, taken = ranks.hits_a_day, new
    within_life = -np.expm1(-hits * lived)
    for _ in range(ROUNDS):
        within_table = -np.expm1(-hits * min(slots / taken, DAYS))
        behind = within_table / (1 - within_life + within_table)
        taken = new + ranks.sum(hits * (1 - behind))
    forgotten = ranks.sum(hits * (1 - behind) * (1 - within_table)) * (
        1 - min(slots / taken / DAYS, 1)
    )
    return within_life * behind, forgotten / ranks.sum(hits)


class Mail:
    """So many days of mail, a ten-minute bucket each time the writer waits.

    What `LmdbCounterWriter.run` takes to stop.
    """

    def __init__(self, writer: LmdbCounterWriter, directory: Path, a_day: int, days: int) -> None:
        self.now = float(START)
        self.spool_bytes = 0  # of the last day
        self._writer = writer
        self._spools = directory / state_files.COUNTERS_SPOOL
        self._counters = LmdbCounters(directory, "run", durability="none")
        self._load = Workload(keys=POPULATION_DAYS * a_day).messages()
        self._a_bucket = a_day / SHINGLES / BUCKETS_A_DAY
        self._days = days
        self._buckets = 0

    def is_set(self) -> bool:
        return self._buckets == self._days * BUCKETS_A_DAY

    def wait(self, timeout: float, /) -> None:
        """Bring the mail of a bucket, then purge what falls to ten minutes."""
        due = int((self._buckets + 1) * self._a_bucket) - int(self._buckets * self._a_bucket)
        for pieces in islice(self._load, due):
            self._counters.add(pieces, ONE_SEEN, self.now)
        before = self._size()
        self._counters.flush(self.now)
        if self._buckets >= (self._days - 1) * BUCKETS_A_DAY:
            self.spool_bytes += self._size() - before
        if self._buckets >= DAYS * BUCKETS_A_DAY:  # until then nothing is out of the fortnight
            share = BUCKET_S / PURGE_ROUND_S
            self._writer.purge(
                self.now, 1 + int(self._writer.environment.stat()["entries"] * share)
            )
        self._buckets += 1
        self.now += BUCKET_S

    def close(self) -> None:
        self._counters.close()

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._spools.glob("*.spool"))


def run(
    directory: Path,
    a_day: int,
    table_bytes: int,
    *,
    days: int = RUN_DAYS,
    exact: float | None = None,
) -> tuple[Need, float]:
    """Bring days of `a_day` shingles each to a new store.

    Args:
        directory: of the store.
        a_day: shingles.
        table_bytes: of the doorkeeper; 0 = none.
        days: 17 or more.
        exact: sightings of known keys that a store without a doorkeeper has after such a run.

    Returns:
        What there is at the end of the last day, and its sightings of known keys, from a few
        thousand of them.
    """
    writer = LmdbCounterWriter(
        directory, durability="none", doorkeeper_bytes=table_bytes, report=_quiet
    )
    mail = Mail(writer, directory, a_day, days)
    try:
        writer.run(mail, clock=lambda: mail.now)
    finally:
        mail.close()
        writer.close()
    sightings = seen(directory, Ranks(a_day), mail.now - BUCKET_S)
    LmdbCounterWriter(
        directory, doorkeeper_bytes=0, report=_quiet
    ).close()  # its notes are no records
    with contextlib.closing(LmdbReader(directory)) as reader:
        size = LmdbWatch(reader).size()
    lost = 1 - sightings / exact if exact is not None else 0.0
    return Need(size.keys, size.bytes / size.keys, mail.spool_bytes, lost), sightings


def seen(directory: Path, ranks: Ranks, now: float) -> float:
    """Return how often all known keys were seen in the fortnight, from those of `ranks`."""
    numbers = ranks.ranks.round().astype(np.uint64)
    wanted = [
        Shingle(*one) for one in zip(types(numbers).tolist(), hashes(numbers).tolist(), strict=True)
    ]
    with open_reader(directory) as stored:
        totals = asyncio.run(stored.read(wanted, now))
    return ranks.sum(np.array([one[Window.FORTNIGHT][Metric.SEEN] for one in totals], float))


def _quiet(_text: str) -> None:
    """The map grows, the table goes: nothing to tell."""


def compare(said: Need, there: Need) -> Table:
    """Return the arithmetic beside a run."""
    shown = Table("", "arithmetic", "run", "run / arithmetic")
    for name, one, other in zip(Need._fields, said, there, strict=True):
        shown.add_row(
            name.replace("_", " "),
            f"{one:,.4g}",
            f"{other:,.4g}",
            f"{other / one:.3f}" if one else "",
        )
    return shown


def derive(tables_mib: list[float]) -> Table:
    """Return what stores of three sizes need, without a table of singletons and with some."""
    shown = Table(
        "shingles a day",
        "messages/s",
        "table",
        "records",
        "bytes each",
        "store GB",
        "spool MB/s",
        "lost",
    )
    for a_day in (1e7, 1e9, 13e9):
        for mib in (0.0, *tables_mib):
            one = need(a_day, flushes_a_day=FLUSHES_A_DAY, table_bytes=mib * MIB)
            shown.add_row(
                f"{a_day / 1e6:,.0f} M", f"{a_day / SHINGLES / DAY_S:,.0f}", f"{mib:g} MiB" if mib else "none", f"{one.records / 1e6:,.1f} M",
                f"{one.bytes_a_record:.0f}", f"{one.records * one.bytes_a_record / 1e9:,.2f}",
                f"{one.spool_bytes_a_day / DAY_S / 1e6:,.3f}", f"{one.lost:.2%}",
            )  # fmt: skip
    return shown


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--run", type=float, metavar="SHINGLES", help="a day, through a real store")
    parser.add_argument(
        "--doorkeeper",
        type=float,
        nargs="*",
        default=[],
        metavar="MIB",
        help="size of the table of singletons",
    )
    parser.add_argument(
        "--days", type=int, default=RUN_DAYS, help="of the run; default: %(default)s"
    )
    asked = parser.parse_args()
    console = Console(width=140)
    if not asked.run:
        console.print(derive(asked.doorkeeper or TABLES_MIB))
        return
    exact = None
    for mib in (0.0, *asked.doorkeeper):
        with tempfile.TemporaryDirectory(prefix="oborona-scaling-") as folder:
            there, sightings = run(
                Path(folder), int(asked.run), int(mib * MIB), days=asked.days, exact=exact
            )
        exact = exact if exact is not None else sightings
        page_fill = SETTLED if asked.days >= SETTLED_DAYS else GROWN
        said = need(
            asked.run, flushes_a_day=BUCKETS_A_DAY, table_bytes=mib * MIB, page_fill=page_fill
        )
        console.print(f"{asked.run:,.0f} shingles a day, {asked.days} days, table of {mib:g} MiB")
        console.print(compare(said, there))


if __name__ == "__main__":
    main()
