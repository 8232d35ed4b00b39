"""The ask about one campaign: its mail, what was said of it, and what was decided."""

from __future__ import annotations

import time
from typing import Final

import msgspec

from oborona.desk.asks.campaigns import (
    MOST_EVENTS,
    CampaignCase,
    CampaignId,
    case_of,
    find_campaign,
    samples_in_junk,
)
from oborona.desk.call import ask
from oborona.desk.campaigns.campaign_mail import CampaignMail, campaign_mail, whole_pieces
from oborona.desk.campaigns.campaign_times import CampaignBar, campaign_bars, lines_of
from oborona.desk.campaigns.case_book import open_cases, read_cases
from oborona.desk.campaigns.further_effects import ShownEffect, shown_effect
from oborona.desk.events.event_log import open_event_log
from oborona.desk.site import Site
from oborona.feedback.cases.effects import EffectLedger
from oborona.feedback.cases.store import CaseNote
from oborona.feedback.events.model import StoredEvent
from oborona.people.caller import Caller
from oborona.people.rights import Right

DAY_S: Final = 86_400.0
SAMPLES: Final = 5  # messages of which a report has kept the text


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
        effects: of the decision that stands, beside labels and reports.
    """

    case: CampaignCase
    mail: CampaignMail
    events: tuple[StoredEvent, ...]
    samples: tuple[int, ...]
    notes: tuple[CaseNote, ...]
    bars: tuple[CampaignBar, ...]
    by_hour: bool
    effects: tuple[ShownEffect, ...] = ()


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
            decision = cases.decisions.get(asked.id)
            effects = []
            if store is not None and decision is not None:
                effects = EffectLedger(store).of(decision.id)
    junk = samples_in_junk(site, [summary])
    (line,) = lines_of(site, [pieces], now)
    by_hour = summary.first > now - DAY_S
    known = list(dict.fromkeys(event.ident for event in events if event.ident is not None))
    return CampaignDetails(
        case=case_of(summary, junk, None if line is None else line.copies, cases),
        mail=campaign_mail(site, pieces, known, summary.first),
        events=tuple(events),
        samples=tuple(samples),
        notes=tuple(notes),
        bars=campaign_bars(line, events, now, by_hour=by_hour),
        by_hour=by_hour,
        effects=tuple(map(shown_effect, effects)),
    )
