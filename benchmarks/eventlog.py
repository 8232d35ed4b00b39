"""What the checked event log costs: a batch of five minutes against the events of a day.

    python benchmarks/eventlog.py                  10 million events a day: 35,000 in five minutes
    python benchmarks/eventlog.py --events 1000000
    python benchmarks/eventlog.py --keep DIR       the same day again, where it was made before

A day of tables is checked, twelve at a time, as after an outage; then three more tables, each for
itself, as they come: that is the batch that everything else waits for. Then all is delivered by
half hours and days, and the day is gone over. CPU and memory are of this
process, the engine within it. Persons are half a million with few who do most, one event in a
hundred is told again, twenty robots click without end.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona.config.eventlog import PersonModelMode
from oborona.eventlog.batch.run import LogChecker
from oborona.eventlog.batch.store import LogStore, SourceTable
from oborona.eventlog.daily.book import DayPassBook
from oborona.eventlog.daily.day_pass import DayPass
from oborona.eventlog.engines.local import LocalEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.logs import LogStep
from oborona.eventlog.merge.merger import LogMerger
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.person_scores import PersonScores
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.schema import LogColumn, LogSchema
from oborona.eventlog.slots import SLOT_S, slot_name
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import write_table
from oborona.policy.event_columns import ColumnKind

SLOTS = 288  # of a day
START = 1_763_856_000
PERSONS = 500_000
HOUR_S = 3600.0
ROBOTS = 20
EVENTS = np.array([f"event{number}" for number in range(12)])
AT_ONCE = 12  # tables of a batch after an outage
MORE = 3  # tables that come one by one
SCHEMA = LogSchema(
    name="bench",
    columns=(LogColumn("page", ColumnKind.INTEGER), LogColumn("agent", ColumnKind.TEXT)),
    threshold=100_000.0,
)


def made_table(slot: int, rows: int) -> pa.Table:
    """Return the events of a slot."""
    draw = np.random.default_rng(slot)
    person = (draw.zipf(1.3, rows) % PERSONS).astype(np.int64)
    person[draw.random(rows) < 0.01] = PERSONS + draw.integers(0, ROBOTS)
    page = draw.integers(0, 1 << 40, rows)
    event = draw.integers(0, len(EVENTS), rows)
    begin = START + slot * SLOT_S
    late = np.where(draw.random(rows) < 0.02, draw.integers(0, 10_800, rows), 0)
    moment = (begin + draw.integers(0, SLOT_S, rows) - late) * 1_000_000
    again = np.flatnonzero(draw.random(rows) < 0.01)
    for column in (person, page, event):
        column[again] = column[again - 1]
    key = (person * 0x9E3779B1 + event * 0x85EBCA6B) ^ (page << 17)
    return pa.table(
        [
            pa.array(np.arange(rows, dtype=np.int64) + slot * rows),
            pa.array(moment).cast(pa.timestamp("us", "UTC")),
            pa.array(EVENTS[event]),
            pa.array(person * 0x5851F42D),
            pa.array(key),
            pa.array(page),
            pa.array(np.array(["a browser", "another browser", "curl"])[event % 3]),
        ],
        schema=arrow_schema(SCHEMA),
    )


def _merged(folder: LogFolder, store: LogStore) -> tuple[float, float]:
    """Deliver all that is checked; return CPU and seconds."""
    merger = LogMerger(SCHEMA.name, folder, store, ready_s=0, clock=lambda: time.time() + HOUR_S)
    return _worked(merger)


def _passed(
    folder: LogFolder, store: LogStore, engine: LocalEngine, work: Path
) -> tuple[float, float]:
    """Go over the first day; return CPU and seconds."""
    DayPassBook(store, SCHEMA.name).request(DAY.slot(START))
    scores = PersonScores(
        SCHEMA, folder, engine, work / "no.model", PersonModelMode.SHADOW, clock=time.time
    )
    return _worked(
        DayPass(
            SCHEMA,
            folder,
            store,
            engine,
            rules=lambda: EventRules("none"),
            work=work,
            scores=scores,
            clock=time.time,
            daily=False,
        )
    )


def _worked(step: LogStep) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.monotonic()
    while step.step():
        pass
    return time.process_time() - cpu, time.monotonic() - wall


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000, help="of a day")
    parser.add_argument("--memory", type=int, default=512, help="MiB of the engine")
    parser.add_argument("--keep", type=Path, help="folder in which the day is kept")
    arguments = parser.parse_args()
    rows = arguments.events // SLOTS
    with ExitStack() as closings:
        state = arguments.keep or Path(closings.enter_context(tempfile.TemporaryDirectory()))
        for name in ("logs", "work"):
            (state / name).mkdir(parents=True, exist_ok=True)
        store = closings.enter_context(LogStore(state / "eventlog.db"))
        folder = LogFolder(state / "logs", SCHEMA.name)
        engine = closings.enter_context(
            LocalEngine(state / "logs", state / "work", memory_mib=arguments.memory)
        )

        def deliver(slots: range) -> None:
            for slot in slots:
                table, name = made_table(slot, rows), slot_name(START + slot * SLOT_S)
                write_table(folder.source(name), table)
                source = SourceTable(
                    name=name, delivered=0.0, rows=rows, checksum=checksum_text(table)
                )
                store.deliver(SCHEMA.name, source)

        def check(most: int) -> tuple[float, float, int]:
            checker = LogChecker(
                SCHEMA,
                folder,
                store,
                engine,
                rules=lambda: EventRules("none"),
                most=most,
                clock=time.time,
            )
            cpu, wall, batches = time.process_time(), time.monotonic(), 0
            while checker.step():
                batches += 1
            return time.process_time() - cpu, time.monotonic() - wall, batches

        first = len(store.sources(SCHEMA.name))
        deliver(range(first, SLOTS))
        day = check(AT_ONCE) if first < SLOTS else None
        begin = len(store.sources(SCHEMA.name))
        batches = []
        for slot in range(begin, begin + MORE):
            deliver(range(slot, slot + 1))
            batches.append(check(1))
        report = Table(title=f"{rows} events in five minutes, {rows * SLOTS} in a day")
        for name in ("what", "CPU", "wall"):
            report.add_column(name, justify="right")
        if day is not None:
            report.add_row(
                f"the day, {AT_ONCE} tables at a time", f"{day[0]:.1f} s", f"{day[1]:.1f} s"
            )
        for cpu, wall, _ in batches:
            report.add_row("a batch against the day", f"{cpu:.2f} s", f"{wall:.2f} s")
        for what, (cpu, wall) in {
            "merged into half hours and days": _merged(folder, store),
            "the pass over the day": _passed(folder, store, engine, state / "work"),
        }.items():
            report.add_row(what, f"{cpu:.1f} s", f"{wall:.1f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        report.add_row("highest memory", f"{peak:.0f} MiB", "")
        for part in ("stream", "checked", "history"):
            size = sum(path.stat().st_size for path in (folder.path / part).rglob("*.parquet"))
            report.add_row(f"{part} on the disk", f"{size / 1e6:.0f} MB", "")
        checked = store.checked(SCHEMA.name)
        for rule in ("DUPLICATE", "ABNORMAL"):
            fired = sum(table.fired.get(rule, 0) for table in checked)
            report.add_row(f"rows with {rule}", str(fired), "")
        Console().print(report)


if __name__ == "__main__":
    main()
