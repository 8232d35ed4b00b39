"""The first page: is all well, and what needs a person."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import sqrt
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.asks.status import StatusAnswer, StatusQuestion, read_status
from oborona.desk.call import ask
from oborona.desk.overview.needs import (
    MOST,
    NeededPerson,
    count_proposals,
    count_unended,
    moves_are_paused,
    read_contested,
)
from oborona.desk.site import Site
from oborona.errors import OboronaError
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.charts.reader import ChartReader, ChartStep
from oborona.stores.charts.schema import DAY_S, TEN_S
from oborona.telemetry import status
from oborona.telemetry.alert import CampaignSighting

BARS: Final = DAY_S // TEN_S
WEEK: Final = 7 * BARS
RULE_BARS: Final = 18  # three hours: one alone says little of a rule that seldom hits
HOUR_BARS: Final = 6
_AT_DOOR: Final = ("connect", "sender", "recipient")
_BARS: Final = {
    "refused-at-door": [
        f"verdicts/{stage}/{action}" for stage in _AT_DOOR for action in ("reject", "tempfail")
    ],
    "refused": ["verdicts/content/reject", "verdicts/content/tempfail"],
    "junk": ["verdicts/content/spam"],
    "inbox": ["verdicts/content/accept"],
}
"""What a bar is made of, from below."""


class OverviewQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Is all well?"""


class VerdictBars(msgspec.Struct, kw_only=True):
    """Verdicts of one kind, of each ten minutes of a day.

    Args:
        kind: refused-at-door, refused, junk, inbox.
        values: the oldest first.
        before: the same hours a week ago.
    """

    kind: str
    values: list[int]
    before: list[int]


class RuleHitChange(msgspec.Struct, kw_only=True):
    """A rule that hits more or less than a week ago, an hour."""

    rule: str
    now: float
    before: float


class HourlyEvents(msgspec.Struct, kw_only=True):
    """What people said in each hour of a day, the oldest first."""

    complaints: list[int]
    pardons: list[int]


class Overview(msgspec.Struct, kw_only=True):
    """The first page.

    Args:
        status: as of `status.read`.
        first: when the first bar begins, Unix seconds.
        step: seconds of a bar.
        bars: verdicts of a day.
        waves: campaigns that workers see now, the largest first.
        rules: those that changed most against last week.
        events: complaints and pardons.
        moves: copies of a day, by outcome.
        needs: what waits for a person.
        missing: what can't be told, and why.
    """

    status: StatusAnswer
    first: int
    step: int = TEN_S
    bars: list[VerdictBars] = []
    waves: list[CampaignSighting] = []
    rules: list[RuleHitChange] = []
    events: HourlyEvents
    moves: dict[str, int] = {}
    needs: NeededPerson
    missing: list[str] = []


@ask("overview.read", Right.STATUS)
def read_overview(site: Site, caller: Caller, asked: OverviewQuestion) -> Overview:
    """Read what the first page shows; a store that can't be read hides nothing else.

    Raises:
        StoreError: the folder of the processes' words can't be read.
    """
    now = time.time()
    last = int(now // TEN_S)
    overview = Overview(
        status=read_status(site, caller, StatusQuestion()),
        first=(last - BARS + 1) * TEN_S,
        waves=_waves(status.read_workers(site.state, now)),
        events=HourlyEvents(complaints=[], pardons=[]),
        needs=NeededPerson(paused=moves_are_paused(site, now)),
    )
    for subject, file, look in (
        ("charts", state_files.CHARTS, lambda: _draw(site, overview, last)),
        ("campaigns", state_files.EVENTS, lambda: read_contested(site, overview.needs, now)),
        ("proposals", state_files.SIGNATURES, lambda: count_proposals(site, overview.needs)),
        (
            "acts without an end",
            state_files.AUDIT,
            lambda: count_unended(site, overview.needs, now),
        ),
    ):
        _try(site, overview.missing, subject, file, look)
    return overview


def _try(site: Site, missing: list[str], subject: str, file: str, look: Callable[[], None]) -> None:
    if not (site.state / file).exists():
        if file == state_files.CHARTS:
            missing.append("charts: there are none yet")
        return
    try:
        look()
    except OboronaError as error:
        missing.append(f"{subject}: {error}")


def _waves(workers: Iterable[status.WorkerStatus]) -> list[CampaignSighting]:
    """Return the campaigns that any worker sees, each by its largest sighting."""
    largest: dict[str, CampaignSighting] = {}
    for sighting in (sighting for worker in workers for sighting in worker.campaigns):
        if sighting.name not in largest or sighting.hour > largest[sighting.name].hour:
            largest[sighting.name] = sighting
    return sorted(largest.values(), key=lambda one: -one.hour)[:MOST]


def _draw(site: Site, overview: Overview, last: int) -> None:
    first = last - BARS + 1
    with ChartReader(site.state / state_files.CHARTS) as reader:
        for kind, names in _BARS.items():
            overview.bars.append(
                VerdictBars(
                    kind=kind,
                    values=_sum(reader, names, first, last),
                    before=_sum(reader, names, first - WEEK, last - WEEK),
                )
            )
        told = {}
        for what in ("complaint", "pardon"):
            names = [one.name for one in reader.series(f"events/{what}/")]
            tens = _sum(reader, names, first, last)
            told[what] = [sum(tens[at : at + HOUR_BARS]) for at in range(0, BARS, HOUR_BARS)]
        overview.events = HourlyEvents(complaints=told["complaint"], pardons=told["pardon"])
        overview.rules = _changes(
            reader.sums("rules/live/", ChartStep.TEN_MINUTES, last - RULE_BARS + 1, last),
            reader.sums(
                "rules/live/", ChartStep.TEN_MINUTES, last - RULE_BARS + 1 - WEEK, last - WEEK
            ),
        )
        moves = reader.sums("moves/", ChartStep.TEN_MINUTES, first, last)
        overview.moves = {name.partition("/")[2]: count for name, count in moves.items()}


def _sum(reader: ChartReader, names: list[str], first: int, last: int) -> list[int]:
    values = [0] * (last - first + 1)
    for found in reader.values(names, ChartStep.TEN_MINUTES, first, last).values():
        for number, value in found.items():
            values[number - first] += value
    return values


def _changes(now: dict[str, int], before: dict[str, int]) -> list[RuleHitChange]:
    """Return the rules whose hits changed most, against what chance does to such numbers."""

    def weight(name: str) -> float:
        counts = now.get(name, 0), before.get(name, 0)
        return abs(counts[0] - counts[1]) / sqrt(sum(counts) + 1)

    hours = RULE_BARS / HOUR_BARS
    return [
        RuleHitChange(
            rule=name.rpartition("/")[2],
            now=round(now.get(name, 0) / hours, 1),
            before=round(before.get(name, 0) / hours, 1),
        )
        for name in sorted({*now, *before}, key=lambda name: (-weight(name), name))[:MOST]
        if weight(name) >= 1
    ]
