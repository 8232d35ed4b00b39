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

from oborona.eventlog.rules.arithmetic import Number, floor
from oborona.eventlog.rules.columns import EARLIEST, LATEST
from oborona.policy.expression.clock import zone

_DAY: Final = 86_400
_HOUR: Final = 3_600.0
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_THURSDAY: Final = 3  # days from Monday to the first day of 1970


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


def _local(now: Number, name: str) -> Number:
    of = spans(name)
    return now + _of_spans(now, of)


def _of_spans(now: Number, of: tuple[ZoneSpan, ...]) -> ir.Value:
    if len(of) == 1:
        return ibis.literal(float(of[0].offset))
    half = len(of) // 2
    return ibis.ifelse(
        now < float(of[half].begins), _of_spans(now, of[:half]), _of_spans(now, of[half:])
    )


def hour(now: Number, name: str) -> Number:
    """Return the hour, 0 to 23.

    Args:
        now: seconds since 1970, up to 2100, or none.
        name: of the zone.
    """
    local = _local(now, name)
    return floor((local % float(_DAY)) / _HOUR)


def weekday(now: Number, name: str) -> Number:
    """Return the day of the week, 1 for Monday to 7 for Sunday; arguments as of `hour`."""
    local = _local(now, name)
    return (floor(local / float(_DAY)) + float(_THURSDAY) + 7.0) % 7.0 + 1.0
