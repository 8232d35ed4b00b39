"""The hour and the day of the week in a time zone, by arithmetic alone.

Engines have time zones of their own, of another year than Python's, or none.  So the offsets of a
zone from 1970 to 2100 are taken from Python's, and stand in the statement as a tree of questions:
every engine tells the hour that the function of one row tells.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple

import ibis
import ibis.expr.types as ir

from oborona.eventlog.rules.columns import EARLIEST, LATEST, SECOND
from oborona.policy.expression.clock import zone

_DAY: Final = 86_400
_HOUR: Final = 3_600
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEDNESDAY: Final = 2  # days from Monday to the last day of 1969


class ZoneSpan(NamedTuple):
    """A time in which a zone keeps one offset."""

    begins: int  # seconds since 1970
    offset: int  # seconds east of Greenwich


@lru_cache(maxsize=64)
def spans(name: str) -> tuple[ZoneSpan, ...]:
    """Return the offsets of a zone from 1970 to 2100, in order.

    Args:
        name: of the IANA database; one that is there.
    """
    where = zone(name)
    found = [ZoneSpan(EARLIEST, _offset(where, EARLIEST))]
    for day in range(EARLIEST, LATEST, _DAY):
        end = day + _DAY
        while (last := found[-1].offset) != _offset(where, end):
            low, high = max(day, found[-1].begins), end
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(where, middle) == last else (low, middle)
            found.append(ZoneSpan(high, _offset(where, high)))
    return tuple(found)


def _offset(where: tzinfo, at: int) -> int:
    offset = (_EPOCH + timedelta(seconds=at)).astimezone(where).utcoffset()
    assert offset is not None, "a zone of the database always has one"
    return round(offset.total_seconds())


def hour(micros: ir.IntegerValue, name: str) -> ir.FloatingValue:
    """Return the hour, 0 to 23, as a double.

    Args:
        micros: microseconds since 1970, up to 2100, or none.
        name: of the zone.
    """
    return ((_local(micros, name) % _DAY) // _HOUR).cast("float64")


def weekday(micros: ir.IntegerValue, name: str) -> ir.FloatingValue:
    """Return the day of the week, 1 for Monday to 7 for Sunday; arguments as of `hour`."""
    return ((_local(micros, name) // _DAY + _WEDNESDAY) % 7 + 1).cast("float64")


def _local(micros: ir.IntegerValue, name: str) -> ir.IntegerValue:
    """Return the seconds since the last day of 1969 in a zone, which are never below 0."""
    return micros // SECOND + _of_spans(micros, spans(name)) + _DAY


def _of_spans(micros: ir.IntegerValue, of: tuple[ZoneSpan, ...]) -> ir.Value:
    if len(of) == 1:
        return ibis.literal(of[0].offset, type="int64")
    half = len(of) // 2
    return ibis.ifelse(
        micros < of[half].begins * SECOND,
        _of_spans(micros, of[:half]),
        _of_spans(micros, of[half:]),
    )
