"""Made-up logs: persons, robots, events that come late, twice, without a time."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from oborona.config.eventlog import EventLogSettings, TableEngine
from oborona.eventlog.batch.run import LogChecker
from oborona.eventlog.batch.store import LogStore, SourceTable
from oborona.eventlog.engines.choice import open_engine
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.schema import LogColumn, LogSchema
from oborona.eventlog.slots import slot_name
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import read_table, write_table
from oborona.policy.event_columns import ColumnKind

START = 1_763_892_000  # 2025-11-23T10:00
SLOT_S = 300
CLICKS = LogSchema(
    name="clicks",
    columns=(LogColumn("page", ColumnKind.TEXT), LogColumn("amount", ColumnKind.NUMBER)),
    events=("click", "show"),
    thresholds={"click": 20.0},
    threshold=60.0,
)
NO_RULES = EventRules("none")
KINDS = ("click", "show", "read", "share")
ENGINE = TableEngine(os.environ.get("OBORONA_EVENT_ENGINE", "duckdb"))
"""All tests of event logs run on Spark, too, by OBORONA_EVENT_ENGINE=pyspark."""
SETTINGS = EventLogSettings(
    memory_mib=256 if ENGINE is TableEngine.DUCKDB else 1024,
    engine=ENGINE,
    spark_settings="spark.driver.host=127.0.0.1 spark.driver.bindAddress=127.0.0.1"
    " spark.sql.shuffle.partitions=1",
)
HASHER = EventHasher(b"a key of tests, no site's")


def made_rows(
    seed: int, slots: int, rows: int, *, every: int = 1
) -> dict[str, list[dict[str, Any]]]:
    """Return tables of made-up events by name: `rows` of them in `slots` tables.

    Args:
        seed: of chance.
        slots: tables.
        rows: of all of them.
        every: there is a table in one of so many slots.
    """
    chance = random.Random(seed)
    tables: dict[str, list[dict[str, Any]]] = {
        slot_name(START + n * every * SLOT_S): [] for n in range(slots)
    }
    told: list[dict[str, Any]] = []
    for number in range(rows):
        slot = chance.randrange(slots)
        arrived = START + slot * every * SLOT_S
        if (
            told and chance.random() < 0.03
        ):  # told again, with the same time, an earlier or a later one
            row = dict(chance.choice(told))
            shift = chance.choice((0, 0, -30, 30))
            if row["time"] is not None:
                row["time"] = datetime.fromtimestamp(row["time"].timestamp() + shift, UTC)
        else:
            row = _made_row(chance, arrived)
        row["id"] = number
        told.append(row)
        tables[slot_name(arrived)].append(row)
    return tables


def _made_row(chance: random.Random, arrived: int) -> dict[str, Any]:
    robot = chance.random() < 0.05
    who = f"robot {chance.randrange(5)}" if robot else f"person {int(chance.paretovariate(0.6))}"
    person = None if chance.random() < 0.02 else HASHER.person(who)
    event = "click" if robot else chance.choice(KINDS)
    page = f"page {chance.randrange(10_000)} \u043a\u0438\u0440"
    time: datetime | None = datetime.fromtimestamp(arrived + chance.randrange(SLOT_S), UTC)
    odd = chance.random()
    if odd < 0.01:
        time = None
    elif odd < 0.02:
        time = datetime.fromtimestamp(chance.choice((3600, 4_102_444_800)), UTC)  # 1970, 2100
    elif odd < 0.05:
        time = datetime.fromtimestamp(arrived - chance.randrange(10_800), UTC)
    return {
        "time": time,
        "event": event,
        "person": person,
        "key": None if person is None else HASHER.event(event, person, (page,)),
        "page": None if chance.random() < 0.1 else page,
        "amount": chance.choice((None, 0.0, -1.5, float("nan"), chance.random())),
    }


def as_table(rows: Sequence[Mapping[str, Any]], schema: LogSchema = CLICKS) -> pa.Table:
    """Return rows as a table of a log."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(schema))


class CheckedLog:
    """A log in a folder, with what checks it."""

    def __init__(
        self,
        root: Path,
        store: LogStore,
        engine: EventEngine,
        *,
        most: int = 12,
        rules: Callable[[], EventRules] = lambda: NO_RULES,
        schema: LogSchema = CLICKS,
        renewed: bool = True,
    ) -> None:
        self.store = store
        self.engine = engine
        self.schema = schema
        self.folder = LogFolder(root, schema.name)
        self.checker = LogChecker(
            schema,
            self.folder,
            store,
            engine,
            rules=rules,
            most=most,
            clock=lambda: START + 1e6,
            renewed=renewed,
        )

    def deliver(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put a table there, as a source does."""
        table = as_table(rows, self.schema)
        write_table(self.folder.source(name), table)
        self.store.deliver(
            self.schema.name,
            SourceTable(
                name=name,
                delivered=START + 1e6,
                rows=table.num_rows,
                checksum=checksum_text(table),
            ),
        )

    def check(self) -> int:
        """Check all that is due; return how many batches it took."""
        steps = 0
        while self.checker.step():
            steps += 1
        return steps

    def rules(self, name: str) -> list[list[str]]:
        """Return the rules of each row of a checked table."""
        fired: list[list[str]] = read_table(self.folder.checked(name)).column("rules").to_pylist()
        return fired


@contextmanager
def opened_log(
    state: Path, *, engine: EventEngine | None = None, **options: Any
) -> Iterator[CheckedLog]:
    """Open a log in a state folder, with an engine that is there or one of its own."""
    with ExitStack() as closings:
        root, work = state / "logs", state / "work"
        for folder in (root, work):
            folder.mkdir(parents=True, exist_ok=True)
        store = closings.enter_context(LogStore(state / "eventlog.db"))
        found = engine or closings.enter_context(open_engine(SETTINGS, root, work))
        yield CheckedLog(root, store, found, **options)


def tree(root: Path) -> dict[str, bytes]:
    """Return all files below a folder with what they hold."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
