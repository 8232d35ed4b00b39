"""What a model of persons is told of each person: numbers of a day of theirs.

Nothing is told of which rules fired, nor of what verdicts on persons have a part in: a model would
learn its own outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import ibis
from ibis.expr import types as ir

from oborona.eventlog.rules.columns import SECOND, LogColumns

MINUTE: Final = 60 * SECOND
HOUR: Final = 3600 * SECOND
_Counted = Callable[[ir.Table], ir.Value]

_OF_DAY: Final[Mapping[str, _Counted]] = {
    "events": lambda rows: rows.count(),
    "kinds": lambda rows: rows["event"].nunique(),
    "hours": lambda rows: rows["hour"].nunique(),
    "seconds from first to last": lambda rows: (
        (rows["moment"].max() - rows["moment"].min()) / float(SECOND)
    ),
    "distinct keys": lambda rows: rows["key"].nunique(),
    "least gap": lambda rows: rows["gap"].min(),
    "median gap": lambda rows: rows["gap"].median(),
    "most in a minute": lambda rows: rows["minute"].max(),
}


def feature_names(log: LogColumns, counted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the numbers, as `person_features` gives them.

    Args:
        log: kinds of events.
        counted: columns whose distinct values are counted.
    """
    days = (f"person.day[{event}]" for event in log.events)
    return (*_OF_DAY, *days, *(f"person.distinct[{column}]" for column in counted))


def person_features(rows: ir.Table, log: LogColumns, counted: tuple[str, ...]) -> ir.Table:
    """Return the numbers of each person of a day.

    Args:
        rows: `person`, `event`, `key`, `place`, `moment` and the counted columns.
        log: kinds of events.
        counted: columns whose distinct values are counted.

    Returns:
        `person`, and `n0`, `n1` ... in the order of `feature_names`, in order of person.
    """
    known = rows.filter(rows.person.notnull())
    own = ibis.window(group_by=known.person, order_by=known.place)
    around = ibis.range_window(
        group_by=known.person, order_by=known.moment, preceding=MINUTE - 1, following=0
    )
    timed = known.mutate(
        gap=(known.moment - known.moment.lag().over(own)) / float(SECOND),
        minute=known.count().over(around),
        hour=(known.moment / float(HOUR)).floor(),
    ).view()
    numbers = [count(timed) for count in _OF_DAY.values()]
    numbers += [(timed.event == event).sum() for event in log.events]
    numbers += [timed[column].nunique() for column in counted]
    named = {f"n{place}": number.cast("float64") for place, number in enumerate(numbers)}
    return timed.group_by("person").agg(**named).order_by("person")
