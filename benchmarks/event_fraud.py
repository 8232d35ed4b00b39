"""What event rules catch of fraud in a made-up day, and whom they take along.

    python benchmarks/event_fraud.py               two seeds, a table each half hour
    python benchmarks/event_fraud.py --seeds 7 8 9 --every 12

Rows of `event_kinds.py` are dropped as files of JSON lines, taken, checked by the rules of
`events/policy.d` and merged, as those of any other log, and the day is gone over once it is over.
*Caught* is a row that any rule marked; a person is caught who has one. Prints a table of Markdown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.event_kinds import MadeEvent, made_day  # noqa: E402
from oborona.config.eventlog import PersonModelMode  # noqa: E402
from oborona.eventlog.batch.run import LogChecker  # noqa: E402
from oborona.eventlog.batch.store import LogStore  # noqa: E402
from oborona.eventlog.daily.day_pass import DayPass  # noqa: E402
from oborona.eventlog.declared_log import DeclaredLog, read_logs  # noqa: E402
from oborona.eventlog.engines.local import LocalEngine  # noqa: E402
from oborona.eventlog.export.dropped_files import DroppedFiles  # noqa: E402
from oborona.eventlog.folder import LogFolder  # noqa: E402
from oborona.eventlog.keys import EventHasher  # noqa: E402
from oborona.eventlog.merge.merger import LogMerger  # noqa: E402
from oborona.eventlog.persons.person_scores import PersonScores  # noqa: E402
from oborona.eventlog.policy_rules import PolicyRules  # noqa: E402
from oborona.eventlog.slots import DAY_S, SLOT_S, slot_name  # noqa: E402
from oborona.eventlog.tables.delta import DeliveredTable  # noqa: E402
from oborona.policy.folders import PolicyFolders  # noqa: E402

EVENTS: Final = ROOT / "benchmarks/events"
START: Final = 1_795_392_000  # 2026-11-23, Unix seconds
READERS: Final = "(readers)"


class Caught(msgspec.Struct):
    """Of one kind: rows and persons, and those that a rule marked."""

    rows: int = 0
    caught: int = 0
    late: int = 0  # caught when the day was gone over, or before
    persons: set[str] = msgspec.field(default_factory=set)
    marked: set[str] = msgspec.field(default_factory=set)
    rules: set[str] = msgspec.field(default_factory=set)


def drop(day: Sequence[MadeEvent], folder: Path, every: int) -> None:
    """Write the rows of a day as files, one for so many slots of five minutes."""
    files: defaultdict[int, list[bytes]] = defaultdict(list)
    for number, row in enumerate(day):
        told = {
            name: value for name, value in row._asdict().items() if name not in ("kind", "told")
        }
        at = None if row.at is None else START + row.at
        line = msgspec.json.encode({**told, "id": number, "at": at})
        files[int(row.told) // (SLOT_S * every) * SLOT_S * every].append(line)
    old = START - 60
    for begin, lines in files.items():
        path = folder / f"{slot_name(START + begin)}.jsonl"
        path.write_bytes(b"\n".join(lines) + b"\n")
        os.utime(path, (old, old))


def check(log: DeclaredLog, state: Path) -> list[tuple[list[str], list[str]]]:
    """Return the rules of each row that was dropped, by its number: when it was checked, and when
    its day was gone over.
    """
    name, clock = log.schema.name, lambda: START + 2.0 * DAY_S
    with ExitStack() as closings:
        for part in ("logs", "work"):
            (state / part).mkdir()
        store = closings.enter_context(LogStore(state / "eventlog.db"))
        engine = closings.enter_context(LocalEngine(state / "logs", state / "work", memory_mib=512))
        folder = LogFolder(state / "logs", name)
        rules = PolicyRules(PolicyFolders(own=EVENTS / "policy.d", shipped=None), (log.schema,))
        checker = LogChecker(
            log.schema,
            folder,
            store,
            engine,
            rules=lambda: rules.of(name),
            most=12,
            clock=clock,
            renewed=False,
        )
        model = PersonModelMode.SHADOW
        scores = PersonScores(log.schema, folder, engine, state / "none", model, clock=clock)
        hasher = EventHasher(b"a made-up day, no secret")
        taker = DroppedFiles(log, folder, store, hasher, most_rows=1_000_000, clock=clock)
        merger = LogMerger(name, folder, store, ready_s=0, clock=clock)
        for step in (taker, checker, merger):
            while step.step():
                pass
        day = DeliveredTable(folder.delivered("1d"), "date")
        before = rules_by_id(day)
        passes = DayPass(
            log.schema,
            folder,
            store,
            engine,
            rules=lambda: rules.of_day(name),
            work=state / "work",
            scores=scores,
            clock=clock,
            renewed=False,
        )
        while passes.step():
            pass
        after = rules_by_id(day)
        return [(before[number], rules) for number, rules in sorted(after.items())]


def rules_by_id(day: DeliveredTable) -> dict[int, list[str]]:
    """Return the rules of each row of all days, by its id."""
    rows = day.rows(day.files())
    if rows is None:
        raise RuntimeError("no row is in a day")
    return dict(zip(rows.column("id").to_pylist(), rows.column("rules").to_pylist(), strict=True))


def judged(seed: int, every: int) -> dict[str, Caught]:
    """Return what was caught of each kind in one day."""
    day = made_day(seed)
    found: defaultdict[str, Caught] = defaultdict(Caught)
    with tempfile.TemporaryDirectory(prefix="oborona-events-") as place:
        state, dropped = Path(place), Path(place) / "dropped"
        dropped.mkdir()
        shutil.copytree(EVENTS / "eventlog.d", state / "eventlog.d")
        (log,) = read_logs(state / "eventlog.d", frozenset())
        drop(day, dropped, every)
        log = msgspec.structs.replace(log, folder=dropped)
        for row, (first, rules) in zip(day, check(log, state), strict=True):
            kind = found[row.kind or READERS]
            kind.rows += 1
            kind.persons.add(row.user)
            kind.caught += bool(first)
            if rules:
                kind.late += 1
                kind.marked.add(row.user)
                kind.rules.update(rules)
    return dict(found)


def table(days: Sequence[dict[str, Caught]]) -> str:
    """Return the sums of several days as a table of Markdown."""
    lines = [
        "| kind | rows | caught at once | and over the day | persons | caught | by |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(name for day in days for name in sorted(day)):
        of_days = [day[name] for day in days if name in day]
        rows, caught, late = (sum(getattr(kind, part) for kind in of_days) for part in ("rows", "caught", "late"))  # fmt: skip
        persons, marked = (sum(len(getattr(kind, part)) for kind in of_days) for part in ("persons", "marked"))  # fmt: skip
        rules = ", ".join(sorted({rule for kind in of_days for rule in kind.rules})) or "-"
        lines.append(
            f"| {name} | {rows} | {caught} ({caught / rows:.1%}) | {late} ({late / rows:.1%}) |"
            f" {persons} | {marked} | {rules} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Make days, have them checked, print what was caught."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="a day of each")
    parser.add_argument("--every", type=int, default=6, help="slots of five minutes to a table")
    asked = parser.parse_args()
    print(table([judged(seed, asked.every) for seed in asked.seeds]))


if __name__ == "__main__":
    main()
