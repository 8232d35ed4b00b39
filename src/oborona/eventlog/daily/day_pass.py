"""The pass over a whole day of a log, once it is over; each step may be repeated and comes to the
same.

    begin    the day, the version of the rules, the thresholds, and what is suppressed for whom are
             written down
    judge    all rules look at all rows of the day; who was caught, and which rows have more rules
             than they were given out with, is written into files of the day's name
    revise   the day is given out again, in one commit of its table under the number of the pass
    compare  it must have the rows that it had, and those changes, by number and checksum
    finish   the pass and who was caught are written down

Who is killed goes on: whether the day was given out again is asked of the table itself. Names stay
on the rows that they were given out with, and new ones come behind: a second pass over the same
rows changes nothing. What a pass changed of a day's checksum is written down before, so the merger
can tell a day that was revised from one that is damaged.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from oborona.errors import OboronaError
from oborona.eventlog.batch.rows import rule_counts
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.batch.threshold_book import ThresholdBook
from oborona.eventlog.daily.book import PERSONS_DAYS, CaughtDay, DayPassBook, PassedDay
from oborona.eventlog.daily.due_days import DueDays
from oborona.eventlog.daily.judged_day import RULE_LISTS, JudgedDay
from oborona.eventlog.daily.verdict import FraudPerson
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.log_metrics import count_pass
from oborona.eventlog.merge.book import MergeBook
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.person_scores import PersonScores
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.schema import RULES, LogSchema
from oborona.eventlog.slots import DAY_S
from oborona.eventlog.suppression.book import SuppressionBook
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum
from oborona.eventlog.tables.delta import REVISION, DeliveredTable
from oborona.eventlog.tables.parquet import read_table, write_table
from oborona.eventlog.tables.row_total import LARGEST, RowTotal, digits
from oborona.eventlog.tables.table_file import TableMismatch
from oborona.telemetry.log import event

MOST_TRIES: Final = 3
REST_S: Final = 600.0  # before a pass that failed is tried again
PERSONS: Final = pa.schema(
    [
        pa.field("person", pa.int64(), nullable=False),
        pa.field("events", pa.int64(), nullable=False),
        pa.field("marked", pa.int64(), nullable=False),
        pa.field("rules", RULE_LISTS, nullable=False),
    ]
)

_log = logging.getLogger("oborona.eventlog")


class DayPass:
    """Goes over the days of one log.

    Args:
        schema: of the log.
        folder: of the log.
        store: what is known of it.
        engine: what computes.
        rules: gives those of the policy over whole days.
        work: folder of files that are needed meanwhile.
        scores: of persons.
        clock: Unix seconds.
        renewed: thresholds that were made anew hold; else those that the log declares.
        daily: each day is gone over; else those that somebody asks for.
    """

    def __init__(
        self,
        schema: LogSchema,
        folder: LogFolder,
        store: LogStore,
        engine: EventEngine,
        *,
        rules: Callable[[], EventRules],
        work: Path,
        scores: PersonScores,
        clock: Callable[[], float],
        renewed: bool = True,
        daily: bool = True,
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._rules = rules
        self._clock = clock
        self._renewed = renewed
        self._book = DayPassBook(store, schema.name)
        self._thresholds = ThresholdBook(store, schema.name)
        self._suppressions = SuppressionBook(store, schema.name)
        self._due = DueDays(self._book, daily=daily, clock=clock)
        self._merged = MergeBook(store, schema.name, DAY.name)
        self._delivered = DeliveredTable(folder.delivered(DAY.name), DAY.column)
        self._scores = scores
        self._day = JudgedDay(schema, engine, work, scores)
        self._day.clear()  # what a process left that was killed
        self._rests_until = float("-inf")

    def step(self) -> bool:
        """Go over a day; return whether one was due.

        Raises:
            TableMismatch: the day is not what its tables gave, or would not be.
            StoreError: a file can't be read or written. The pass stays open, and is given up when
                it has failed three times.
        """
        if self._clock() < self._rests_until:
            return False
        one = self._resumed() or self._begun()
        if one is None:
            return False
        try:
            self._pass(one)
        except OboronaError:
            self._rests_until = self._clock() + REST_S
            raise
        finally:
            self._day.clear()
        return True

    def _resumed(self) -> PassedDay | None:
        """Return the pass that is open, if the same comes of it again."""
        one = self._book.unfinished()
        if one is None:
            return None
        changed = self._is_given_out(one)
        if one.rules != self._version() and not changed:
            self._folder.revisions(one.date, one.id).unlink(missing_ok=True)
            self._folder.person_scores(one.date, one.id).unlink(missing_ok=True)
            self._book.drop(one)
            return None
        if one.tries >= MOST_TRIES:
            why = f"the day could not be gone over, tried {one.tries + 1} times; the log says why"
            self._book.give_up(one, why, changed=changed)
            event(
                _log,
                logging.ERROR,
                "a day is given up",
                log=self._schema.name,
                day=one.date,
                why=why,
            )
            return None
        self._book.retry(one)
        return one

    def _begun(self) -> PassedDay | None:
        if self._merged.unfinished() is not None:
            return None
        due = self._due.first()
        if due is None:
            return None
        date, rows = due
        return self._book.begin(
            PassedDay(
                id=0,
                date=date,
                rules=self._version(),
                thresholds=self._thresholds.lines(self._schema, renewed=self._renewed, until=date),
                suppressed=self._suppressions.in_force_on(date),
                rows=rows,
                begun=self._clock(),
            ),
            above=self._delivered.last(REVISION),
        )

    def _version(self) -> str:
        """Return the version of all that judges: the rules, and the model of persons."""
        rules = self._rules()
        model = self._scores.model(rules)
        return rules.version if model is None else f"{rules.version} model {model.version}"

    def _pass(self, one: PassedDay) -> None:
        began = time.process_time()
        if not self._is_given_out(one):
            one = self._judge(one)
            self._book.judge(one)
            if one.revised:
                self._delivered.replace(one.id, one.date, self._given_out(one.date), REVISION)
        if self._found(one.date) != self._given(one.date):
            raise TableMismatch(
                f"{self._delivered.path}: {one.date} is not what its tables and passes gave"
            )
        persons = [
            CaughtDay(person=row["person"], events=row["events"], marked=row["marked"])
            for row in read_table(self._folder.fraud_persons(one.date), PERSONS).to_pylist()
        ]
        now = self._clock()
        kept = DAY.slot(now - PERSONS_DAYS * DAY_S)
        self._book.finish(one, persons, now, time.process_time() - began, kept)
        self._folder.keep_scores(one.date, one.id)
        count_pass(self._schema.name, one.revised, len(persons))
        event(
            _log,
            logging.INFO,
            "a day of events was gone over",
            log=self._schema.name,
            day=one.date,
            rows=one.rows,
            revised=one.revised,
            persons=len(persons),
        )

    def _is_given_out(self, one: PassedDay) -> bool:
        """Tell whether what a pass changes is in the day."""
        return self._delivered.last(REVISION) >= one.id

    def _judge(self, one: PassedDay) -> PassedDay:
        """Find what a pass changes, and write the files of it; return the pass with the numbers."""
        before, given = self._found(one.date), self._given(one.date)
        if before != given:
            raise TableMismatch(
                f"{self._delivered.path}: {one.date} has {before.rows} rows with checksum "
                f"{before.checksum}; its tables gave {given.rows} with {given.checksum}"
            )
        files = self._delivered.files(one.date)
        rules = self._rules()
        model = self._scores.model(rules)
        findings = self._day.compute(files, rules, one.thresholds, model, one.suppressed)
        revised, change, marked, fired = [self._revisions().empty_table()], 0, 0, Counter[str]()
        for was, now in self._day.pieces():
            other = pc.not_equal(
                pc.list_value_length(was.column(RULES)), pc.list_value_length(now.column(RULES))
            )
            given, changed = was.filter(other), now.filter(other)
            change += checksum(changed) - checksum(given)
            revised.append(
                changed.select(["id", "time", "event", "person"])
                .append_column("before", given.column(RULES))
                .append_column("after", changed.column(RULES))
                .cast(self._revisions())
            )
            number, counts = rule_counts(now.column(RULES))
            marked += number
            fired.update(counts)
        rows = pa.concat_tables(revised)
        write_table(self._folder.revisions(one.date, one.id), rows)
        if findings.scores is not None:
            write_table(self._folder.person_scores(one.date, one.id), findings.scores)
        write_table(self._folder.fraud_persons(one.date), _persons(findings.persons))
        return msgspec.structs.replace(
            one,
            change=digits(change & LARGEST),
            revised=rows.num_rows,
            marked=marked,
            persons=len(findings.persons),
            fired=dict(sorted(fired.items())) | dict(findings.unshown),
        )

    def _given_out(self, date: str) -> pa.RecordBatchReader:
        """Return the rows of a judged day, as they are given out from now on."""
        column = pa.field(DAY.column, pa.string())
        schema = self._day.columns.append(column)

        def batches() -> Iterator[pa.RecordBatch]:
            for _, after in self._day.pieces():
                dates = pa.array([date] * after.num_rows, pa.string())
                yield from after.append_column(column, dates).to_batches()

        return pa.RecordBatchReader.from_batches(schema, batches())

    def _found(self, date: str) -> RowTotal:
        """Return what the day is."""
        return self._delivered.total(self._delivered.files(date))

    def _given(self, date: str) -> RowTotal:
        """Return what the day is to be: what its tables gave and passes changed."""
        names = self._merged.merged(date)
        return self._merged.total({date: names}, self._delivered.last(REVISION))

    def _revisions(self) -> pa.Schema:
        arrow = arrow_schema(self._schema)
        return pa.schema(
            [
                *(arrow.field(name) for name in ("id", "time", "event", "person")),
                pa.field("before", RULE_LISTS, nullable=False),
                pa.field("after", RULE_LISTS, nullable=False),
            ]
        )


def _persons(persons: list[FraudPerson]) -> pa.Table:
    return pa.Table.from_pylist([msgspec.structs.asdict(one) for one in persons], schema=PERSONS)
