"""Asks about what speaks against events: rules of antifraud, and how many reports are normal."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.desk.asks.events import Rows
from oborona.desk.call import ask
from oborona.desk.events.event_log import open_event_log, rule_refusals, thresholds
from oborona.desk.site import Site
from oborona.feedback.antifraud.model import DailyThresholds
from oborona.feedback.antifraud.rules import RULES
from oborona.feedback.antifraud.thresholds import FLOORS
from oborona.people.caller import Caller
from oborona.people.rights import Right

OTHERS: Final = {
    "OPPOSITE": "what the same person reports the opposite of later",
    "REVISED": "what later reports of the campaign speak against",
    "UNREADABLE": "a report that does not show which message it is about",
    "TAKEN_BACK": "what an admin took back",
}
"""Names of decisions that no rule makes."""


class RefusalsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Since when refusals are counted."""

    since: float = 0.0  # Unix seconds


class RuleRefusals(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of antifraud, and how many events it spoke against."""

    rule: str
    events: int
    about: str


class RefusalFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What spoke against events, and how often."""

    rules: tuple[RuleRefusals, ...]


class ThresholdsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Of how many days."""

    most: Rows = 14


class ThresholdsOfDay(msgspec.Struct, frozen=True, kw_only=True):
    """How many reports of one person are accepted on a day."""

    day: str  # 2026-11-23
    complaints: float
    pardons: float
    people: int  # from whose reports of the day before


class ThresholdHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The thresholds of the last days, the newest first; none = the floors hold."""

    days: tuple[ThresholdsOfDay, ...]
    floors: DailyThresholds


@ask("events.rules", Right.TRACK)
def show_refusals(site: Site, _caller: Caller, asked: RefusalsQuestion) -> RefusalFigures:
    """Return how many events each rule of antifraud spoke against."""
    with open_event_log(site) as log:
        refusals = rule_refusals(log, asked.since)
    rows = [(rule.name, refusals.pop(rule.name, 0), rule.about) for rule in RULES]
    rows += [(name, number, OTHERS.get(name, "")) for name, number in sorted(refusals.items())]
    return RefusalFigures(
        rules=tuple(
            RuleRefusals(rule=name, events=number, about=about) for name, number, about in rows
        )
    )


@ask("events.thresholds", Right.TRACK)
def show_thresholds(site: Site, _caller: Caller, asked: ThresholdsQuestion) -> ThresholdHistory:
    """Return how many reports of one person were normal on each of the last days."""
    with open_event_log(site) as log:
        days = [
            ThresholdsOfDay(
                day=day, complaints=most.complaints, pardons=most.pardons, people=most.people
            )
            for day, most in thresholds(log, asked.most)
        ]
    return ThresholdHistory(days=tuple(days), floors=FLOORS)
