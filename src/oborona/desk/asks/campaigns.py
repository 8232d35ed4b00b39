"""Asks about campaigns: which need a person, and what is known of one."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import msgspec

from oborona.desk.call import NotFoundError, ask
from oborona.desk.campaigns.campaign_mail import (
    CampaignMail,
    campaign_mail,
    journaled,
    whole_pieces,
)
from oborona.desk.campaigns.campaign_times import CampaignBar, campaign_bars, lines_of
from oborona.desk.campaigns.case_book import CaseBook, open_cases, read_cases
from oborona.desk.campaigns.case_queue import (
    CampaignSummary,
    CaseUrgency,
    campaign_summaries,
)
from oborona.desk.events.event_log import open_event_log
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.cases.store import CaseDecision, CaseLock, CaseNote
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import StoredEvent
from oborona.ident import to_text
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.types import Action

DAY_S: Final = 86_400.0
MOST_EVENTS: Final = 1_000  # of a campaign
SAMPLES: Final = 5  # messages of which a report has kept the text
CampaignId = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]


class CampaignsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which campaigns are asked for.

    Args:
        since: Unix seconds; those of which anything was said from then on.
        settled: also those that need nobody, and those that are put off.
        after: how many to leave out: the next page.
        most: at most so many.
    """

    since: float = 0.0
    settled: bool = False
    after: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50


class CampaignCase(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign, and how soon it needs a person.

    Args:
        summary: what was said of it.
        urgency: the smaller, the sooner: `CaseUrgency`.
        why: that in a word: false-positive, contested, unsettled, settled.
        copies: messages of two weeks; None = the counters can't be read.
        sample: id of a message, as in X-Mras-Id; empty = none is known.
        lock: who looks at it; None = nobody does.
        decision: that stands; None = there is none.
        snooze: until when nobody needs to see it, and who says so; None = it is not put off.
    """

    summary: CampaignSummary
    urgency: CaseUrgency
    why: str
    copies: int | None
    sample: str
    lock: CaseLock | None
    decision: CaseDecision | None
    snooze: CaseLock | None


class CampaignList(msgspec.Struct, frozen=True, kw_only=True):
    """Campaigns, those that need a person soonest first, of these the loudest."""

    campaigns: tuple[CampaignCase, ...]
    more: bool


class CampaignQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A campaign by its number."""

    id: CampaignId


class CampaignDetails(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a campaign.

    Args:
        case: what was said of it, and how soon it needs a person.
        mail: messages of it that were found.
        events: what was said, the last ones, in order.
        samples: ids of events that have kept their message.
        notes: what people wrote beside it, in order.
        bars: messages and what was said of them, by hours of the last day, or by days.
        by_hour: which of both.
    """

    case: CampaignCase
    mail: CampaignMail
    events: tuple[StoredEvent, ...]
    samples: tuple[int, ...]
    notes: tuple[CaseNote, ...]
    bars: tuple[CampaignBar, ...]
    by_hour: bool


@ask("campaigns.list", Right.TRACK)
def list_campaigns(site: Site, _caller: Caller, asked: CampaignsQuestion) -> CampaignList:
    """Return campaigns in the order in which they need a person."""
    now = time.time()
    with open_event_log(site) as log:
        summaries = campaign_summaries(log, asked.since)
        junk = _in_junk(site, summaries)
        cases = read_cases(site, log.origin(), now)
        order = sorted(summaries, key=lambda summary: _place(summary, junk, cases))
        wanted = [
            summary for summary in order if asked.settled or cases.needs_person(summary, junk)
        ]
        page = wanted[asked.after : asked.after + asked.most]
        pieces = [whole_pieces(log, summary.id) for summary in page]
    copies = [None if line is None else line.copies for line in lines_of(site, pieces, now)]
    return CampaignList(
        campaigns=tuple(
            _case(summary, junk, number, cases)
            for summary, number in zip(page, copies, strict=True)
        ),
        more=len(wanted) > asked.after + asked.most,
    )


@ask("campaigns.show", Right.TRACK)
def show_campaign(site: Site, _caller: Caller, asked: CampaignQuestion) -> CampaignDetails:
    """Return all that is known of a campaign."""
    now = time.time()
    with open_event_log(site) as log:
        summary = find_campaign(log, asked.id)
        events = log.of_campaign(asked.id, MOST_EVENTS)
        pieces = whole_pieces(log, asked.id)
        samples = [event.id for event in events if log.raw(event.id)][-SAMPLES:]
        origin = log.origin()
        cases = read_cases(site, origin, now)
        with open_cases(site) as store:
            notes = [] if store is None else store.notes(origin, asked.id)
    junk = _in_junk(site, [summary])
    (line,) = lines_of(site, [pieces], now)
    by_hour = summary.first > now - DAY_S
    known = list(dict.fromkeys(event.ident for event in events if event.ident is not None))
    return CampaignDetails(
        case=_case(summary, junk, None if line is None else line.copies, cases),
        mail=campaign_mail(site, pieces, known, summary.first),
        events=tuple(events),
        samples=tuple(samples),
        notes=tuple(notes),
        bars=campaign_bars(line, events, now, by_hour=by_hour),
        by_hour=by_hour,
    )


def find_campaign(log: EventLog, ident: int) -> CampaignSummary:
    """Return what was said of a campaign.

    Raises:
        NotFoundError: there is none of this number.
    """
    found = campaign_summaries(log, 0.0, ident)
    if not found:
        raise NotFoundError(f"there is no campaign {ident}, or no longer")
    return found[0]


def _in_junk(site: Site, summaries: list[CampaignSummary]) -> set[int]:
    """Return the samples that were judged to be spam."""
    samples = [one.sample for one in summaries if one.sample is not None and one.pardons.proven]
    if not samples:
        return set()
    try:
        entries = asyncio.run(journaled(site, samples))
    except StoreError as error:
        site.notice(f"{error}; what lies in Junk is not known")
        return set()
    return {ident for ident, entry in entries.items() if entry.verdict is not Action.ACCEPT}


def _place(summary: CampaignSummary, junk: set[int], cases: CaseBook) -> tuple[int, float, float]:
    weight = summary.complaints.weight + summary.pardons.weight
    return (cases.urgency(summary, junk), -weight, -summary.last)


def _case(
    summary: CampaignSummary, junk: set[int], copies: int | None, cases: CaseBook
) -> CampaignCase:
    urgency = cases.urgency(summary, junk)
    return CampaignCase(
        summary=summary,
        urgency=urgency,
        why=urgency.name.lower().replace("_", "-"),
        copies=copies,
        sample="" if summary.sample is None else to_text(summary.sample),
        lock=cases.locks.get(summary.id),
        decision=cases.decisions.get(summary.id),
        snooze=cases.snoozed.get(summary.id),
    )
