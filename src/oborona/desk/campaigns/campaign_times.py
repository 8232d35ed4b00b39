"""How many messages of a campaign came when, and when people spoke of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.counters.window import BUCKET_S, DAY_S, Timeline
from oborona.desk.site import Site
from oborona.errors import ConfigError, StoreError
from oborona.feedback.events.model import EventKind, StoredEvent
from oborona.stores.counters import open_readonly
from oborona.types import Metric, Shingle

HOUR: Final = 6  # buckets
HOUR_S: Final = HOUR * BUCKET_S


class CampaignBar(msgspec.Struct, frozen=True, kw_only=True):
    """An hour or a day of a campaign.

    Args:
        time: Unix seconds, when it begins.
        copies: messages; 0 where the counters can't be read.
        complaints: of people and traps.
        pardons: of people.
    """

    time: float
    copies: int
    complaints: int
    pardons: int


class CampaignTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that had the commonest piece of a campaign, the current hour and day last."""

    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()

    @property
    def copies(self) -> int:
        """Messages of the last two weeks."""
        return sum(self.days)


def lines_of(
    site: Site, pieces: Sequence[Sequence[Shingle]], now: float
) -> list[CampaignTimes | None]:
    """Return when messages of campaigns came; None where the counters can't be read.

    Args:
        site: whose.
        pieces: of each campaign.
        now: Unix seconds.
    """
    try:
        with open_readonly(site.loaded.settings, site.state) as store:
            asked = list(dict.fromkeys(piece for some in pieces for piece in some))
            lines = dict(zip(asked, asyncio.run(store.timelines(asked, now)), strict=True))
    except (StoreError, ConfigError) as error:
        site.notice(f"{error}; how many copies came is not known")
        return [None] * len(pieces)
    return [
        max((_seen(lines[piece]) for piece in some), key=_copies, default=CampaignTimes())
        for some in pieces
    ]


def campaign_bars(
    line: CampaignTimes | None, events: Sequence[StoredEvent], now: float, *, by_hour: bool
) -> tuple[CampaignBar, ...]:
    """Return the bars of a campaign, oldest first.

    Args:
        line: when its messages came; None = not known.
        events: what was said of it.
        now: Unix seconds.
        by_hour: the last 24 hours; else the last 14 days.
    """
    step, number, unit = (HOUR_S, 24, BUCKET_S) if by_hour else (DAY_S, 14, DAY_S)
    begin = (int(now // unit) + 1) * unit - number * step
    seen = () if line is None else line.hours if by_hour else line.days
    copies = ([0] * number + list(seen))[-number:]
    said = {kind: [0] * number for kind in (EventKind.COMPLAINT, EventKind.PARDON)}
    for event in events:
        kind = EventKind.COMPLAINT if event.what is EventKind.TRAP else event.what
        place = int((event.time - begin) // step)
        if kind in said and 0 <= place < number:
            said[kind][place] += 1
    return tuple(
        CampaignBar(
            time=begin + place * step,
            copies=copies[place],
            complaints=said[EventKind.COMPLAINT][place],
            pardons=said[EventKind.PARDON][place],
        )
        for place in range(number)
    )


def _copies(times: CampaignTimes) -> int:
    return times.copies


def _seen(line: Timeline) -> CampaignTimes:
    # an hour ends with the bucket of now, and not where one of a clock does
    seen = [bucket[Metric.SEEN] for bucket in line.buckets]
    return CampaignTimes(
        hours=tuple(sum(seen[at : at + HOUR]) for at in range(0, len(seen), HOUR)),
        days=tuple(day[Metric.SEEN] for day in line.days),
    )
