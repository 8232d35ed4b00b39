"""Half a year of a shop's events that others made up, taken as any site would bring them.

Source: `datasets/ecom.csv.gz` of retentioneering 5.2.4 (PyPI, Apache-2.0): 31,106 events of 600
people, some of them told twice.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter, defaultdict
from pathlib import Path

from oborona.eventlog.batch.run import LogChecker
from oborona.eventlog.batch.store import DropState, LogStore
from oborona.eventlog.declared_log import read_logs
from oborona.eventlog.engines.local import LocalEngine
from oborona.eventlog.export.dropped_files import DroppedFiles
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.merge.merger import LogMerger
from oborona.eventlog.tables.delta import DeliveredTable
from tests.eventlog.worlds import HASHER, NO_RULES

EVENTS = Path(__file__).parents[1] / "corpus/events/ecom.csv.gz"
SHOP = """
folder = "{folder}"
time = "timestamp"
event = "event"
person = ["user_id"]
info = ["session_id", "timestamp"]
[columns]
timestamp = "time"
event = "text"
user_id = "text"
session_id = "text"
platform = "text"
[thresholds]
others = 50
"""


def test_each_event_is_in_its_day_once_and_what_was_told_twice_is_marked(tmp_path: Path) -> None:
    with gzip.open(EVENTS, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 31_106
    dropped = tmp_path / "dropped"
    by_day: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_day[row["timestamp"][:10]].append(row)
    dropped.mkdir()
    for day, told in by_day.items():
        path = dropped / f"{day}T23:55.csv"
        with path.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(told[0]))
            writer.writeheader()
            writer.writerows(told)
        os.utime(path, (1, 1))
    for name in ("logs", "work", "eventlog.d"):
        (tmp_path / name).mkdir()
    (tmp_path / "eventlog.d/shop.toml").write_text(SHOP.format(folder=dropped))
    (log,) = read_logs(tmp_path / "eventlog.d", frozenset())
    folder = LogFolder(tmp_path / "logs", "shop")
    with (
        LogStore(tmp_path / "eventlog.db") as store,
        LocalEngine(tmp_path / "logs", tmp_path / "work", memory_mib=256) as engine,
    ):
        taker = DroppedFiles(log, folder, store, HASHER, most_rows=10_000, clock=clock)
        while taker.step():
            pass
        assert {file.state for file in store.files("shop").values()} == {DropState.TAKEN}
        assert not sum(file.broken for file in store.files("shop").values())
        checker = LogChecker(
            log.schema, folder, store, engine, rules=lambda: NO_RULES, most=30, clock=clock
        )
        while checker.step():
            pass
        merger = LogMerger("shop", folder, store, ready_s=0, clock=clock)
        while merger.step():
            pass
    days = DeliveredTable(folder.delivered("1d"), "date")
    assert days.counts() == Counter(row["timestamp"][:10] for row in rows)
    table = days.rows(days.files())
    assert table is not None
    marked = Counter(rule for fired in table.column("rules").to_pylist() for rule in fired)
    copies = Counter(
        (row["user_id"], row["session_id"], row["event"], row["timestamp"]) for row in rows
    )
    assert marked["DUPLICATE"] == sum(copies.values()) - len(copies) == 30
    busy = Counter((row["user_id"], row["event"], row["timestamp"][:10]) for row in rows)
    assert marked["ABNORMAL"] == sum(count for count in busy.values() if count > 50)
    assert len(set(table.column("person").to_pylist())) == len({row["user_id"] for row in rows})


def clock() -> float:
    """Return a time behind all of them."""
    return 1_795_392_000.0
