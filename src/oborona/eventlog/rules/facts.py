"""What the rows of a log say of a row and its person, as columns beside it.

    rows = with_facts(batch, log, needed_facts(rules), history=last_day, thresholds={"click": 300})

`policy.person_facts` says what each means.  "The day" is what is
handed in: the rows, and the history of the day before them.  Only what rules name is calculated.
Rows whose person is not known have no past: their counts are 0, their times none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Final

import ibis
import ibis.expr.types as ir

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules.columns import (
    EVENT,
    KEY,
    PERSON,
    ROW,
    SECOND,
    TIME,
    LogColumns,
    column_of,
    micros,
)

MINUTE: Final = 60 * SECOND
_AT: Final = "at_micros"
_BATCH: Final = "of_batch"
_DAY, _SINCE = "person.day", "person.since"
_DISTINCT, _THRESHOLD = "person.distinct", "threshold"
_NONE: Final[Mapping[str, float]] = MappingProxyType({})
WindowOf = Callable[[ir.Table], ir.Value]
"""A column of all rows that are known."""


def with_facts(
    rows: ir.Table,
    log: LogColumns,
    needed: Collection[str],
    *,
    history: ir.Table | None = None,
    thresholds: Mapping[str, float] = _NONE,
    scores: ir.Table | None = None,
    engine: TableEngine = TableEngine.DUCKDB,
) -> ir.Table:
    """Return the rows with a column for each fact of a person that is needed.

    Args:
        rows: with the columns `id` (of each another), `key`, `person`, `event`, `time` and those of
            the log.
        log: its columns and kinds of events.
        needed: facts as rules write them; others than those of persons are taken to be there.
        history: rows of the day before, with the same columns and other ids; None: there are none.
        thresholds: events in a day from which on a person is abnormal, by kind; kinds that are
            missing have none.
        scores: what a model says, columns `person` (each once) and `score`; None: there is none.
        engine: for which the statement is.

    No row is lost, added or changed.
    """
    asked = set(needed)
    if "person.abnormal" in asked:
        asked |= {f"{_DAY}[{event}]" for event in thresholds}
    windowed = _windowed(asked)
    counted = _counted(asked)
    known = _known(rows, history, asked, engine)
    made = rows.drop(*({column_of(label) for label in asked & _all(log)} & set(rows.columns)))
    if windowed:
        columns = {column_of(label): window(known) for label, window in windowed.items()}
        of_rows = known.mutate(**columns).filter(ibis._[_BATCH]).select(ROW, *columns)
        made = _joined(made, of_rows, ROW)
    if counted:
        columns = {column_of(label): count(known) for label, count in counted.items()}
        made = _joined(made, known.group_by(PERSON).agg(**columns), PERSON)
    if scores is not None and "person.score" in asked:
        of_persons = scores.select(PERSON, person_score=scores["score"])
        made = _joined(made, of_persons, PERSON)
    return made.mutate(**_plain(asked, made, thresholds))


def _all(log: LogColumns) -> set[str]:
    """Return all facts that are made here."""
    of_events = {f"{name}[{event}]" for name in (_DAY, _SINCE, _THRESHOLD) for event in log.events}
    of_columns = {f"{_DISTINCT}[{column}]" for column in log.columns}
    single = {"duplicate", "person.kinds", "person.abnormal", "person.gap", "person.minute"}
    return of_events | of_columns | single | {"person.score"}


def _known(
    rows: ir.Table, history: ir.Table | None, asked: Collection[str], engine: TableEngine
) -> ir.Table:
    """Return the rows and those before them, with the columns that facts are made of."""
    members = [_member(label) for label in asked if label.startswith(f"{_DISTINCT}[")]
    columns = [ROW, KEY, PERSON, EVENT, *members]
    known = rows.select(*columns, **{_AT: micros(rows[TIME], engine), _BATCH: True})
    if history is None:
        return known
    before = history.select(*columns, **{_AT: micros(history[TIME], engine), _BATCH: False})
    return known.union(before)


def _windowed(asked: Collection[str]) -> dict[str, WindowOf]:
    found: dict[str, WindowOf] = {}
    if "duplicate" in asked:
        found["duplicate"] = _duplicate
    if "person.gap" in asked:
        found["person.gap"] = lambda known: _gap(known, known[_AT].lag().over(_before(known)))
    if "person.minute" in asked:
        found["person.minute"] = _minute
    for label in asked:
        if label.startswith(f"{_SINCE}["):
            found[label] = _since(_member(label))
    return found


def _counted(asked: Collection[str]) -> dict[str, WindowOf]:
    found: dict[str, WindowOf] = {}
    for label in asked:
        if label.startswith(f"{_DAY}["):
            found[label] = _day(_member(label))
        elif label.startswith(f"{_DISTINCT}["):
            found[label] = _distinct(_member(label))
    if "person.kinds" in asked:
        found["person.kinds"] = lambda known: known[EVENT].nunique()
    return found


def _plain(
    asked: Collection[str], made: ir.Table, thresholds: Mapping[str, float]
) -> dict[str, ir.Value]:
    """Return what is no join: counts of nobody, thresholds, who is over one."""
    counts = {
        column_of(label): ibis.coalesce(made[column_of(label)], 0)
        for label in asked
        if label.startswith((f"{_DAY}[", f"{_DISTINCT}[")) or label == "person.kinds"
    }
    found: dict[str, ir.Value] = dict(counts)
    for label in asked:
        if label.startswith(f"{_THRESHOLD}["):
            line = thresholds.get(_member(label))
            found[column_of(label)] = (
                ibis.null("float64") if line is None else ibis.literal(float(line))
            )
    if "person.abnormal" in asked:
        over = [
            counts[column_of(f"{_DAY}[{event}]")] > float(line)
            for event, line in thresholds.items()
        ]
        found[column_of("person.abnormal")] = reduce(or_, over, ibis.literal(False))
    if "person.score" in asked and column_of("person.score") not in made.columns:
        found[column_of("person.score")] = ibis.null("float64")
    return found


def _joined(rows: ir.Table, others: ir.Table, on: str) -> ir.Table:
    """Return the rows with the columns of others, null where there are none."""
    renamed = others.rename({f"of_{on}": on})
    return rows.left_join(renamed, rows[on] == renamed[f"of_{on}"]).drop(f"of_{on}")


def _member(label: str) -> str:
    """Return what stands in the brackets of a fact."""
    return label[label.index("[") + 1 : -1]


def _order(known: ir.Table) -> list[ir.Value]:
    """By time, then id; rows without a time come last."""
    return [known[_AT].isnull(), known[_AT], known[ROW]]


def _before(known: ir.Table) -> ir.WindowBuilder:
    return ibis.window(group_by=known[PERSON], order_by=_order(known))


def _duplicate(known: ir.Table) -> ir.Value:
    place = ibis.row_number().over(ibis.window(group_by=known[KEY], order_by=_order(known)))
    return (place > 0) & known[KEY].notnull()


def _gap(known: ir.Table, before: ir.Value) -> ir.Value:
    """Return the seconds since a time; none where a time or the person is not known."""
    gap = (known[_AT] - before).cast("float64") / float(SECOND)
    return ibis.ifelse(known[PERSON].isnull(), ibis.null("float64"), gap)


def _since(event: str) -> WindowOf:
    def since(known: ir.Table) -> ir.Value:
        at = ibis.ifelse(known[EVENT] == event, known[_AT], ibis.null("int64"))
        window = ibis.window(group_by=known[PERSON], order_by=_order(known), preceding=(None, 1))
        return _gap(known, at.max().over(window))

    return since


def _minute(known: ir.Table) -> ir.Value:
    window = ibis.range_window(
        group_by=known[PERSON], order_by=known[_AT], preceding=MINUTE - 1, following=0
    )
    lone = known[PERSON].isnull() | known[_AT].isnull()
    return ibis.ifelse(lone, 1, known.count().over(window))


def _day(event: str) -> WindowOf:
    return lambda known: (known[EVENT] == event).sum()


def _distinct(column: str) -> WindowOf:
    return lambda known: known[column].nunique()
