"""Figures of incidents: how often each limit was right, and how many there were."""

from __future__ import annotations

import time

import msgspec

from oborona.accounts.incidents.store import IncidentStore

DAY_S = 86_400.0


class LimitFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What people said of the incidents of one limit."""

    incidents: int
    spam: int
    not_spam: int  # the limit was wrong


class IncidentFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of some days."""

    limits: dict[str, LimitFigures]  # by name
    lines: dict[str, int]  # by what was decided
    metrics: dict[str, int]
    days: dict[str, int]  # by day, UTC, such as 2026-11-26
    ratings: dict[str, int]  # accounts, by tens of their rating


def incident_figures(store: IncidentStore, days: int) -> IncidentFigures:
    """Return the figures of incidents that were opened in so many days.

    Raises:
        StoreError: they can't be read.
    """
    since = (time.time() - days * DAY_S,)
    limits = store.rows(
        "SELECT \"limit\", count(*), sum(verdict = 'spam'), sum(verdict = 'not-spam')"
        " FROM incident WHERE opened > ? GROUP BY 1 ORDER BY 2 DESC, 1",
        since,
    )
    by = "SELECT {}, count(*) FROM incident WHERE opened > ? GROUP BY 1 ORDER BY 1"
    lines, metrics, by_day = (
        dict(store.rows(by.format(column), since))
        for column in ("line", "metric", "date(opened, 'unixepoch')")
    )
    ratings = store.rows("SELECT min(rating / 10, 9), count(*) FROM account GROUP BY 1 ORDER BY 1")
    return IncidentFigures(
        limits={
            limit: LimitFigures(incidents=number, spam=spam, not_spam=not_spam)
            for limit, number, spam, not_spam in limits
        },
        lines=lines,
        metrics=metrics,
        days=by_day,
        ratings={f"{tens * 10}-{100 if tens == 9 else tens * 10 + 9}": of for tens, of in ratings},
    )
