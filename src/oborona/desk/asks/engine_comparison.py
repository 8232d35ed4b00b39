"""An ask of the engines beside ours: where their verdicts and ours differ."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.desk.call import ask
from oborona.desk.policy.engine_tally import EngineTally, VerdictCell, VerdictDay
from oborona.desk.policy.statistics import read_newest
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right

ASK_S: Final = 1.5  # of the two seconds that an ask has, for reading the journal


class EngineComparisonQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which engine, and since when.

    Args:
        engine: beside ours.
        since_s: so many seconds back.
        examples: messages that are named of each pair of verdicts that differ.
    """

    engine: Literal["rspamd", "spamd", "clamd"] = "rspamd"
    since_s: Annotated[float, Meta(gt=0, le=40_000_000)] = 14 * 86_400.0
    examples: Annotated[int, Meta(ge=0, le=200)] = 10


class EngineComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Both verdicts on the same messages.

    Args:
        engine: beside ours.
        messages: on which it said something.
        unknown: on which it was asked and said nothing.
        unasked: about which it was not asked, or of which the evidence is dropped.
        damaged: that can't be read.
        cells: by our verdict and theirs.
        days: what came on each, the oldest first; days are those of UTC.
        complete: all of the time was read, and not only the newest of it.
    """

    engine: str
    messages: int
    unknown: int
    unasked: int
    damaged: int
    cells: list[VerdictCell]
    days: list[VerdictDay]
    complete: bool


@ask("engines.compare", Right.TRACK)
def compare_engine(site: Site, caller: Caller, asked: EngineComparisonQuestion) -> EngineComparison:
    """Return how often another engine's verdict and ours agree, and where they do not.

    Raises:
        StoreError: the journal can't be read.
    """
    tally = EngineTally(site.policy(), asked.engine, asked.examples)
    complete = asyncio.run(read_newest(tally, site.state, asked.since_s, ASK_S))
    return comparison_of(tally, complete=complete)


def comparison_of(tally: EngineTally, *, complete: bool) -> EngineComparison:
    """Return what was added up.

    Args:
        tally: it.
        complete: all of the time was read.
    """
    return EngineComparison(
        engine=tally.engine,
        messages=sum(cell.messages for cell in tally.cells.values()),
        unknown=tally.unknown,
        unasked=tally.unasked,
        damaged=tally.damaged,
        cells=[tally.cells[key] for key in sorted(tally.cells)],
        days=[tally.days[key] for key in sorted(tally.days)],
        complete=complete,
    )
