"""What was counted in each ten minutes, and each day."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.call import CallError, ask
from oborona.desk.site import Site
from oborona.errors import StoreAbsent
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.charts.reader import ChartReader, ChartSeries, ChartStep
from oborona.stores.charts.sources import OTHER

MOST_VALUES: Final = 300_000  # of one answer: a day of all rules that there is room for
MOST_NAMES: Final = 200  # that are asked for
LENGTHS: Final = {ChartStep.TEN_MINUTES: 86_400.0, ChartStep.DAY: 30 * 86_400.0}
"""How far an ask looks back that does not say."""


class ChartKind(StrEnum):
    """What the values of a series are."""

    SUM = "sum"  # how many
    MOST = "most"  # the largest that was seen


class ChartQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which charts.

    Args:
        series: names, or what they begin with before a slash: `rules/live`, `verdicts`.
        since: Unix seconds; 0 = a day before the end, for days thirty of them.
        until: Unix seconds; 0 = now.
        step: how long each time is; days are those of UTC.
    """

    series: list[str]
    since: float = 0.0
    until: float = 0.0
    step: ChartStep = ChartStep.TEN_MINUTES


class ChartLine(msgspec.Struct, kw_only=True):
    """One series.

    Args:
        name: of it.
        kind: of its values.
        total: their sum, or the largest.
        values: one for each time; None = not known. Of a sum, where nothing is there, it is 0.
    """

    name: str
    kind: ChartKind
    total: int
    values: list[int | None]


class Chart(msgspec.Struct, kw_only=True):
    """Series over the same times.

    Args:
        first: when the first time begins, Unix seconds.
        step: seconds of each.
        times: how many.
        series: by name.
        unknown: what was asked for and is not there.
        begins: when the first day began of which anything of them is known, Unix seconds; None =
            of none.
    """

    first: int
    step: int
    times: int
    series: list[ChartLine]
    unknown: list[str]
    begins: int | None


class SeriesQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which series there are.

    Args:
        prefix: what their names begin with; empty = all.
    """

    prefix: str = ""


class SeriesDescription(msgspec.Struct, kw_only=True):
    """One series that there is."""

    name: str
    kind: ChartKind


class SeriesList(msgspec.Struct, kw_only=True):
    """The series that there are.

    Args:
        series: by name.
        summed: those of them that are the sum of what there was no room for.
        begins: when the first day began of which anything is known; as of `Chart`.
    """

    series: list[SeriesDescription]
    summed: list[str]
    begins: int | None


@ask("charts.read", Right.STATUS)
def read_charts(site: Site, caller: Caller, asked: ChartQuestion) -> Chart:
    """Read some series.

    Raises:
        StoreAbsent: there are no charts yet.
        CallError: it can't be asked so, or is more than an answer holds.
        StoreError: the file can't be read.
    """
    if not 0 < len(asked.series) <= MOST_NAMES:
        raise CallError(f"name one to {MOST_NAMES} series, or what they begin with")
    first, last = _range(asked)
    with _reader(site) as reader:
        found: dict[str, ChartSeries] = {}
        unknown = []
        for name in asked.series:
            named = reader.named(name)
            found |= {one.name: one for one in named}
            if not named:
                unknown.append(name)
        if len(found) * (last - first + 1) > MOST_VALUES:
            raise CallError(
                f"{len(found)} series of {last - first + 1} times are more than"
                f" {MOST_VALUES:,} values: ask for fewer"
            )
        values = reader.values(list(found), asked.step, first, last)
        return Chart(
            first=first * asked.step.seconds,
            step=asked.step.seconds,
            times=last - first + 1,
            series=[
                _line(found[name], values.get(name, {}), first, last) for name in sorted(found)
            ],
            unknown=unknown,
            begins=reader.begins(list(found)),
        )


@ask("charts.series", Right.STATUS)
def list_series(site: Site, caller: Caller, asked: SeriesQuestion) -> SeriesList:
    """Return the series that there are.

    Raises:
        StoreAbsent: there are no charts yet.
        StoreError: the file can't be read.
    """
    with _reader(site) as reader:
        series = reader.series(asked.prefix)
        return SeriesList(
            series=[SeriesDescription(name=one.name, kind=_kind(one)) for one in series],
            summed=[one.name for one in series if one.name.endswith(f"/{OTHER}")],
            begins=reader.begins(),
        )


def _reader(site: Site) -> ChartReader:
    path = site.state / state_files.CHARTS
    if not path.exists():
        raise StoreAbsent(
            "there are no charts yet: the keeper begins them when it starts", path.name
        )
    return ChartReader(path)


def _range(asked: ChartQuestion) -> tuple[int, int]:
    """Return the numbers of the first and of the last time since 1970."""
    until = asked.until or time.time()
    since = asked.since or until - LENGTHS[asked.step]
    if not 0 <= since < until < 1 << 40:
        raise CallError("the beginning has to be before the end, both since 1970")
    width = asked.step.seconds
    # a time that only begins at the end is none of it
    return int(since // width), max(int(since // width), int(-(-until // width)) - 1)


def _kind(series: ChartSeries) -> ChartKind:
    return ChartKind.MOST if series.most else ChartKind.SUM


def _line(series: ChartSeries, values: dict[int, int], first: int, last: int) -> ChartLine:
    nothing = None if series.most else 0
    total = max if series.most else sum
    return ChartLine(
        name=series.name,
        kind=_kind(series),
        total=total(values.values()) if values else 0,
        values=[values.get(number, nothing) for number in range(first, last + 1)],
    )
