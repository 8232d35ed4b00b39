"""A day in the light of all of its rows: computed into files of work, read back piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from ibis.expr import types as ir

from oborona.eventlog.batch.rows import rule_lists
from oborona.eventlog.batch.run import COUNTS, KEYS
from oborona.eventlog.batch.store import OTHERS, SHADOW
from oborona.eventlog.daily.verdict import (
    FraudPerson,
    fraud_persons,
    is_caught,
    meanings,
    names_in,
    offending,
    suppressed_counts,
)
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.persons.model import PersonModel
from oborona.eventlog.persons.person_scores import PersonScores
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.rule_names import FRAUD_PERSON
from oborona.eventlog.schema import RULES, LogSchema
from oborona.eventlog.suppression.names import SUPPRESSED, is_quiet, quiet_table, told_apart
from oborona.eventlog.suppression.quiet_rule import QuietRule
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.parquet import ROW_GROUP
from oborona.eventlog.transform import day
from oborona.eventlog.transform.check import QUIET, fired_rules

RULE_LISTS: Final = pa.list_(pa.string())
_EVER: Final = (float("-inf"), float("inf"))


class DayFindings(NamedTuple):
    """What all rows of a day say together."""

    persons: list[FraudPerson]  # who were caught, by their hashes
    unshown: Mapping[str, int]  # rows that rules in shadow mode, or suppressed, would mark
    scores: pa.Table | None  # what a model says of persons; None = there is none


class JudgedDay:
    """The rows of one day of a log, judged.

    Args:
        schema: of the log.
        engine: what computes.
        work: folder of files that are needed meanwhile.
        scores: of persons.
    """

    def __init__(
        self, schema: LogSchema, engine: EventEngine, work: Path, scores: PersonScores
    ) -> None:
        self._scores = scores
        self._schema = schema
        self._engine = engine
        self._placed, self._judged, self._final = (
            work / f"day.{name}.parquet" for name in ("placed", "judged", "final")
        )
        self.columns = arrow_schema(schema).append(pa.field(RULES, RULE_LISTS, nullable=False))

    def compute(
        self,
        files: Collection[str],
        rules: EventRules,
        thresholds: Mapping[str, float],
        model: PersonModel | None,
        suppressed: Sequence[QuietRule] = (),
        *,
        afresh: bool = False,
    ) -> DayFindings:
        """Judge rows; `pieces` gives them back.

        Args:
            files: Parquet files of the day, as they were given out.
            rules: of the policy, over whole days.
            thresholds: by event; `OTHERS`.
            model: of persons; None = there is none.
            suppressed: what is not held against whom on this day.
            afresh: rows have what these rules say alone, whatever they were given out with.

        Raises:
            EngineMemoryError: the memory does not suffice.
            StoreError: a file can't be read or written.
        """
        engine = self._engine
        rows = engine.files("day_rows", [Path(file) for file in sorted(files)], self.columns)
        begun = day.placed_rows(rows, engine.dialect)
        engine.write(day.afresh(begun) if afresh else begun, self._placed)
        placed = engine.files("day_placed", [self._placed], self.columns)
        scores = None
        if model is not None:
            scores = self._scores.of_day(model, rules, placed)
            rules = self._scores.heeding(rules, scores)
        known = dict(thresholds)
        threshold = known.pop(OTHERS)
        quiet = quiet_table(suppressed, [_EVER])
        fired = fired_rules(
            day.one_table(placed),
            engine.table("no_keys", KEYS.empty_table()),
            engine.table("no_counts", COUNTS.empty_table()),
            known,
            threshold,
            rules,
            engine.table("no_day", arrow_schema(self._schema).empty_table()),
            engine.table("suppressed", quiet) if quiet.num_rows else None,
        )
        engine.write(day.judged_rows(placed, fired), self._judged)
        judged = engine.files("day_judged", [self._judged], self.columns)
        kinds = engine.collect(day.kinds_of_rows(judged)).to_pylist()
        offences = engine.table("day_offences", offending(kinds))
        counts = [
            one
            for one in engine.collect(day.marked_persons(judged, offences)).to_pylist()
            if is_caught(one["events"], one["marked"], self._schema.fraud)
        ]
        names = dict(
            zip(*(quiet.column(one).to_pylist() for one in ("person", QUIET)), strict=True)
        )
        spared = [one for one in counts if is_quiet(FRAUD_PERSON, names.get(one["person"], ""))]
        counts = [one for one in counts if not is_quiet(FRAUD_PERSON, names.get(one["person"], ""))]
        caught = engine.table(
            "day_caught",
            pa.table({"person": pa.array([one["person"] for one in counts], pa.int64())}),
        )
        found = engine.collect(day.kinds_of_persons(judged, caught)).to_pylist()
        meant = engine.table("day_meanings", meanings(kinds))
        engine.write(day.final_rows(placed, judged, caught, meant), self._final)
        shadow = Counter[str]()
        for kind in kinds:
            for name in names_in(told_apart(kind["names_shadow"], kind[QUIET])[0]):
                shadow[f"{name}{SHADOW}"] += kind["rows"]
        gone = suppressed_counts(kinds)
        gone[FRAUD_PERSON] += sum(one["events"] for one in spared)
        unshown = shadow | Counter({f"{name}{SUPPRESSED}": rows for name, rows in (+gone).items()})
        return DayFindings(fraud_persons(counts, found), dict(sorted(unshown.items())), scores)

    def final(self) -> ir.Table:
        """Return the judged rows as a table of the engine: those of `transform.day.final_rows`."""
        return self._engine.files("day_final", [self._final], self.columns)

    def pieces(self, given: str = "names_before") -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield the rows, as they were given out and as they are from now on, some at a time.

        Args:
            given: the column of what they were given out with: `names_given` where they were judged
                afresh.
        """
        with pq.ParquetFile(self._final) as file:
            for batch in file.iter_batches(ROW_GROUP):
                piece = pa.Table.from_batches([batch])
                plain = piece.select(arrow_schema(self._schema).names)
                before, after = (
                    plain.append_column(RULES, rule_lists(piece.column(name))).cast(self.columns)
                    for name in (given, "names_after")
                )
                yield before, after

    def clear(self) -> None:
        """Remove the files of work."""
        for path in (self._placed, self._judged, self._final):
            path.unlink(missing_ok=True)
