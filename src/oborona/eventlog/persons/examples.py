"""Persons of checked days as a model is trained on them.

    fraud   an admin says so; else the line of the log is crossed on the day by rows that rules
            marked which do not rest on what a model said, nor on what verdicts on persons have a
            part in
    good    an admin says so; else none of the person's rows is marked by such a rule

Who is neither is left out, and for whom rules were suppressed on the day. So no model is trained
on its own outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from ibis.expr import types as ir

from oborona.eventlog.daily.verdict import is_caught, names_in
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.persons.model import counted_columns
from oborona.eventlog.persons.word_book import PersonWord
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.rule_names import ABNORMAL
from oborona.eventlog.rules.compile import columns_named
from oborona.eventlog.schema import RULES, LogSchema
from oborona.eventlog.suppression.book import SuppressionBook
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.eventlog.transform import day
from oborona.eventlog.transform.person_features import person_features
from oborona.policy.event_logs import RuledLog
from oborona.policy.models.final.examples import FinalExample

MOST_GOOD: Final = 20_000  # persons of a day: of millions these tell as much
SCORE: Final = "person_score"
ADMIN_WEIGHT: Final = 10.0  # of an admin's word, beside that of a rule


def independent_rules(rules: EventRules, schema: LogSchema) -> frozenset[str]:
    """Return the names of rules that say something that no verdict on persons has a part in."""
    outcomes = {SCORE, *schema.outcomes}
    named = columns_named(rules.columns, rules.log) if rules.log is not None else {}
    return frozenset({ABNORMAL, *(name for name in rules.live if not named[name] & outcomes)})


class PersonExamples:
    """The examples of one log.

    Args:
        schema: of the log.
        log: as a policy declares it.
        independent: names of the rules that make labels.
        words: of an admin, by person.
        suppressions: of the log.
        engine: what computes.
        work: folder of a file that is needed meanwhile.
    """

    def __init__(
        self,
        schema: LogSchema,
        log: RuledLog,
        independent: frozenset[str],
        words: Mapping[int, PersonWord],
        suppressions: SuppressionBook,
        engine: EventEngine,
        work: Path,
    ) -> None:
        self._schema = schema
        self._log = log
        self._independent = independent
        self._words = words
        self._suppressions = suppressions
        self._engine = engine
        self._path = work / "persons.placed.parquet"

    def of_days(self, days: DeliveredTable, dates: Iterable[str]) -> Iterator[FinalExample]:
        """Yield the examples of some days, in their order.

        Raises:
            StoreError: a day can't be read.
        """
        for date in dates:
            yield from self._of_day(date, sorted(days.files(date)))
        self._path.unlink(missing_ok=True)

    def _of_day(self, date: str, files: Sequence[str]) -> Iterator[FinalExample]:
        columns = arrow_schema(self._schema).append(pa.field(RULES, pa.list_(pa.string())))
        rows = self._engine.files("person_rows", list(map(Path, files)), columns)
        self._engine.write(day.placed_rows(rows, self._engine.dialect), self._path)
        placed = self._engine.files("person_placed", [self._path], columns)
        labels = self._labels(placed.select("person", "names_before"))
        # nothing is held against them: nobody knows whether they are good
        labels.update(dict.fromkeys(one.person for one in self._suppressions.in_force_on(date)))
        counted = counted_columns(self._schema, self._log.counted)
        features = self._engine.collect(person_features(placed, self._log, counted))
        width = len(features.column_names) - 1
        persons = features.column("person").to_pylist()
        numbers = np.column_stack(
            [features.column(f"n{n}").to_numpy().astype(np.float32) for n in range(width)]
        ).reshape(-1, width)
        start = datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
        good = 0
        for person, vector in zip(persons, numbers, strict=True):
            word, found = self._words.get(person), labels.get(person)
            fraud = found if word is None else word.fraud
            if fraud is None or (good >= MOST_GOOD and word is None and not fraud):
                continue
            good += not fraud
            yield FinalExample(
                name=f"{date} {person}",
                time=start,
                spam=fraud,
                score=float(vector[0]),  # what the number of events alone would say
                numbers=vector,
                marks=frozenset(),
                weight=1.0 if word is None else ADMIN_WEIGHT,
            )

    def _labels(self, rows: ir.Table) -> dict[int, bool | None]:
        """Return who is fraud, and who is good, by what rules marked; None: neither."""
        kinds = self._engine.collect(day.names_of_persons(rows)).to_pylist()
        events: dict[int, int] = {}
        marked: dict[int, int] = {}
        for kind in kinds:
            person = kind["person"]
            events[person] = events.get(person, 0) + kind["rows"]
            if self._independent.intersection(names_in(kind["names_before"])):
                marked[person] = marked.get(person, 0) + kind["rows"]
        return {
            person: is_caught(number, marked[person], self._schema.fraud) or None
            if person in marked
            else False
            for person, number in events.items()
        }
