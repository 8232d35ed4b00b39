"""The ask about campaigns which need a person, and what asks about one share with it."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import msgspec

from oborona.desk.call import NotFoundError, ask
from oborona.desk.campaigns.campaign_mail import (
    journaled,
    whole_pieces,
)
from oborona.desk.campaigns.campaign_times import lines_of
from oborona.desk.campaigns.case_book import CaseBook, read_cases
from oborona.desk.campaigns.case_queue import (
    CampaignSummary,
    CaseUrgency,
    campaign_summaries,
)
from oborona.desk.events.event_log import open_event_log
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.cases.store import CaseDecision, CaseLock
from oborona.feedback.events.log import EventLog
from oborona.ident import to_text
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.types import Action

MOST_EVENTS: Final = 1_000  # of a campaign
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


@ask("campaigns.list", Right.TRACK)
def list_campaigns(site: Site, _caller: Caller, asked: CampaignsQuestion) -> CampaignList:
    """Return campaigns in the order in which they need a person."""
    now = time.time()
    with open_event_log(site) as log:
        summaries = campaign_summaries(log, asked.since)
        junk = samples_in_junk(site, summaries)
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
            case_of(summary, junk, number, cases)
            for summary, number in zip(page, copies, strict=True)
        ),
        more=len(wanted) > asked.after + asked.most,
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


def samples_in_junk(site: Site, summaries: list[CampaignSummary]) -> set[int]:
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


def case_of(
    summary: CampaignSummary, junk: set[int], copies: int | None, cases: CaseBook
) -> CampaignCase:
    """Return a campaign with what people do about it."""
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
