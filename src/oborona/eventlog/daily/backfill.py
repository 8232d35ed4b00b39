"""Days of a log as other rules judge them, laid beside: what a rule would have caught in March.

Nothing that was given out changes. A side table has the columns of the log, the rules that rows
would have, `rules`, and those that they have, `rules_given`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from oborona.atomic_file import atomic_writer
from oborona.errors import StoreError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.batch.threshold_book import ThresholdBook
from oborona.eventlog.daily.judged_day import RULE_LISTS, JudgedDay
from oborona.eventlog.daily.verdict import names_in
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.person_scores import PersonScores
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.rules.compare import EXAMPLES, ComparedRow, ComparedRule, RuleComparison
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.suppression.book import SuppressionBook
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.eventlog.transform import day

GIVEN: Final = "rules_given"
CHANGED: Final = pa.schema([("names_given", pa.string()), ("names_after", pa.string())])


class LogBackfill:
    """The delivered days of one log, to be judged once more.

    Args:
        schema: of the log.
        folder: of the log.
        store: what is known of it.
        engine: what computes.
        work: folder of files that are needed meanwhile.
        scores: of persons.
        renewed: thresholds that were made anew hold; else those that the log declares.
    """

    def __init__(
        self,
        schema: LogSchema,
        folder: LogFolder,
        store: LogStore,
        engine: EventEngine,
        *,
        work: Path,
        scores: PersonScores,
        renewed: bool = True,
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._engine = engine
        self._renewed = renewed
        self._thresholds = ThresholdBook(store, schema.name)
        self._erasures = ErasureBook(store, schema.name)
        self._suppressions = SuppressionBook(store, schema.name)
        self._scores = scores
        self._delivered = DeliveredTable(folder.delivered(DAY.name), DAY.column)
        self._day = JudgedDay(schema, engine, work, scores)

    def dates(self, since: str, until: str) -> list[str]:
        """Return the days that are delivered, from one to another.

        Raises:
            StoreError: they can't be read.
        """
        return sorted(one for one in self._delivered.counts() if since <= one <= until)

    def judge(
        self, date: str, rules: EventRules, name: str, examples: int = EXAMPLES
    ) -> RuleComparison:
        """Write a day as rules judge it in the light of all of its rows; return what is other.

        Thresholds are those of a pass over the day. The same again writes the
        same rows.

        Args:
            date: of a day that is delivered.
            rules: over whole days; those in shadow mode are judged as live ones.
            name: of the side table.
            examples: how many rows are shown.

        Raises:
            StoreError: the day can't be read, or not be written; or a person is being taken out of
                the log, who would come back.
        """
        rules = rules._replace(live=tuple(rules.columns))
        erasures = len(self._erasures.all())
        if self._erasures.open(begun=False) is not None:
            raise StoreError(f"a person is being taken out of {self._schema.name}; try again later")
        model = self._scores.model(rules)
        path = self._folder.side(name, date)
        try:
            self._day.compute(
                self._delivered.files(date),
                rules,
                self._thresholds.lines(self._schema, renewed=self._renewed, until=date),
                model,
                self._suppressions.in_force_on(date),
                afresh=True,
            )
            self._write(path)
            found = self._compared(rules, examples)
        finally:
            self._day.clear()
        if len(self._erasures.all()) != erasures:
            path.unlink(missing_ok=True)
            raise StoreError(f"a person was taken out of {self._schema.name} meanwhile; try again")
        return found

    def _write(self, path: Path) -> None:
        columns = self._day.columns.append(pa.field(GIVEN, RULE_LISTS, nullable=False))
        with (
            atomic_writer(path) as file,
            pq.ParquetWriter(file, columns, compression="zstd") as writer,
        ):
            for given, now in self._day.pieces("names_given"):
                lists = given.column(now.column_names[-1])
                writer.write_table(now.append_column(columns.field(GIVEN), lists))

    def _compared(self, rules: EventRules, examples: int) -> RuleComparison:
        final = self._day.final()
        kinds = [
            _RuledRows(
                frozenset(names_in(kind["names_given"])),
                frozenset(names_in(kind["names_after"])),
                kind["rows"],
                (kind["names_given"], kind["names_after"]),
            )
            for kind in self._engine.collect(day.compared_kinds(final)).to_pylist()
        ]
        changed = [kind for kind in kinds if kind.given != kind.now]
        texts = pa.Table.from_pylist(
            [dict(zip(CHANGED.names, kind.texts, strict=True)) for kind in changed], schema=CHANGED
        )
        other = self._engine.table("day_changed", texts)
        shown = self._engine.collect(day.changed_rows(final, other, examples)).to_pylist()
        persons = self._engine.collect(day.compared_persons(final)).to_pylist()
        return RuleComparison(
            rows=sum(kind.rows for kind in kinds),
            changed=sum(kind.rows for kind in changed),
            rules=tuple(_by_rule(kinds, rules)),
            persons_new=tuple(one["person"] for one in persons if one["marked"]),
            persons_lost=tuple(one["person"] for one in persons if not one["marked"]),
            examples=tuple(
                ComparedRow(
                    row["id"],
                    row["person"],
                    row["event"],
                    tuple(names_in(row["names_given"])),
                    tuple(names_in(row["names_after"])),
                )
                for row in shown
            ),
        )


class _RuledRows(NamedTuple):
    """Rows that have the same rules, and would have the same."""

    given: frozenset[str]
    now: frozenset[str]
    rows: int
    texts: tuple[str, str]  # both as the engine has them


def _by_rule(kinds: Sequence[_RuledRows], rules: EventRules) -> Iterator[ComparedRule]:
    """Yield the rows of each rule: of those of the policy, and of all that have any."""
    names = {*rules.live}.union(*(kind.given | kind.now for kind in kinds))
    for name in sorted(names):
        had = [kind for kind in kinds if name in kind.given]
        has = [kind for kind in kinds if name in kind.now]
        yield ComparedRule(
            name,
            before=sum(kind.rows for kind in had),
            after=sum(kind.rows for kind in has),
            gained=sum(kind.rows for kind in has if name not in kind.given),
            lost=sum(kind.rows for kind in had if name not in kind.now),
        )
