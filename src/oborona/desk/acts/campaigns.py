"""Acts on campaigns: decided, and the decision taken back.

A decision is one act with several effects, each by the act that people have for it:

    spam        the site teaches a message of it as spam; pardons that are believed are taken back
    good        the site teaches one as ham; complaints and traps that are believed are taken back
    newsletter  complaints that are believed are taken back for all: those who complained keep it
                in Junk, by their own lists

What copies are moved for it the recheck decides by itself, once the trainer has it; once it is
taken back, the recheck moves back what it moved, but for what its reader has touched.  Who may do
so by itself may have it add signatures, set reputations and move copies at once
(`oborona.desk.campaigns.further_effects`); each is written down before it is done.
"""

from __future__ import annotations

import time

import msgspec

from oborona.desk.acts.models import UnlearnOrder, unlearn_words
from oborona.desk.asks.campaigns import MOST_EVENTS, CampaignId, find_campaign
from oborona.desk.call import ActOrder, CallError, NotFoundError, UndoCall, act
from oborona.desk.campaigns.case_book import open_cases
from oborona.desk.campaigns.case_lock import lock_of, locked
from oborona.desk.campaigns.decision_effects import (
    carry_out_decision,
    is_against,
    is_site_word,
    is_withdrawn,
    previewed_lesson,
    undo_decision,
)
from oborona.desk.campaigns.decision_plan import (
    DecidedCampaign,
    do_effects,
    plan_effects,
    take_back_effects,
)
from oborona.desk.campaigns.further_effects import FurtherEffects, ShownEffect, shown_effect
from oborona.desk.events.event_log import open_event_log
from oborona.desk.labels.lessons import LessonResult
from oborona.desk.site import Site
from oborona.feedback.cases.effects import EffectLedger
from oborona.feedback.cases.store import CaseStore, CaseVerdict
from oborona.people.caller import Caller
from oborona.people.rights import Right


class CampaignOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A campaign by its number."""

    id: CampaignId


class CampaignVerdict(CampaignOrder, kw_only=True, forbid_unknown_fields=True):
    """What a campaign is, and which effects that is to have.

    Args:
        verdict: what it is.
        teach: the site teaches a message of it.
        withdraw: what was said against that is believed no more.
        further: what is done beside that.
    """

    verdict: CaseVerdict
    teach: bool = True
    withdraw: bool = True
    further: FurtherEffects = msgspec.field(default_factory=FurtherEffects)


class CampaignOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision did, or what of it was taken back; in a dry run, what would be.

    Args:
        id: of the campaign.
        verdict: that was decided, or taken back.
        taught: messages that the site teaches.
        unlearned: ids of the site's labels that are taken back.
        events: that are taken back, or are as before.
        persons: who had said these.
        effects: that it has beside these, each with what has become of it.
        undo: None = nothing was done, or none does exactly that.
    """

    id: int
    verdict: CaseVerdict
    taught: tuple[LessonResult, ...]
    unlearned: tuple[int, ...]
    events: tuple[int, ...]
    persons: int
    undo: UndoCall | None
    effects: tuple[ShownEffect, ...] = ()


@act("campaigns.decide", Right.TEACH, about=("id", "verdict"))
def decide_campaign(site: Site, caller: Caller, asked: CampaignVerdict) -> CampaignOutcome:
    """Decide what a campaign is: the site's word about it, and what was said against that believed
    no more.

    Raises:
        NotAllowedError: somebody else looks at it, or the caller may not do one of its effects.
        CallError: it is decided, or the site has taught the opposite of its messages, or one of its
            effects can't be.
    """
    now = time.time()
    with open_event_log(site) as log:
        summary = find_campaign(log, asked.id)
        origin, events = log.origin(), log.of_campaign(asked.id, MOST_EVENTS)
        with open_cases(site) as store:
            _require_open(store, origin, asked.id, caller, now)
        against = [
            event
            for event in events
            if asked.withdraw and event.counts and is_against(event, asked.verdict)
        ]
        taught = None
        if asked.teach:
            taught = previewed_lesson(site, caller, asked.verdict, events)
        campaign = DecidedCampaign(log, asked.id, events, summary.first)
        plan = plan_effects(site, caller, asked.verdict, asked.further, campaign, asked.reason, now)
    withdrawn = [event.id for event in against]
    undo = UndoCall(call="campaigns.undecide", asked={"id": asked.id})
    outcome = CampaignOutcome(
        id=asked.id,
        verdict=asked.verdict,
        taught=(taught,) if taught is not None else (),
        unlearned=(),
        events=tuple(withdrawn),
        persons=len({event.person for event in against if event.person}),
        undo=undo,
        effects=plan.shown,
    )
    with open_cases(site, make=not asked.dry) as store:
        _require_open(store, origin, asked.id, caller, now)
        if store is None or asked.dry:
            return outcome
        ledger = EffectLedger(store)
        with store.transaction():
            decision = store.begin(
                origin,
                asked.id,
                asked.verdict,
                by=caller.name,
                reason=asked.reason,
                withdrawn=withdrawn,
                now=now,
            )
            planned = ledger.plan(decision.id, plan.effects, at=now)
        done = carry_out_decision(site, caller, decision, taught)
        effects = do_effects(site, caller, ledger, planned)
        store.note_done(decision.id, done.events if done is not None else ())
        store.give_back(origin, asked.id, caller.name)
    return msgspec.structs.replace(
        outcome,
        taught=done.messages if done is not None else (),
        effects=tuple(map(shown_effect, effects)),
    )


@act("campaigns.undecide", Right.TEACH, about=("id",))
def undecide_campaign(site: Site, caller: Caller, asked: CampaignOrder) -> CampaignOutcome:
    """Take the decision of a campaign back, with all that it did.

    Raises:
        NotFoundError: nobody has decided it.
        NotAllowedError: the caller may not do one of its effects.
    """
    now = time.time()
    with open_event_log(site) as log, open_cases(site) as store:
        origin = log.origin()
        decision = None if store is None else store.decisions(origin).get(asked.id)
        if store is None or decision is None:
            raise NotFoundError(f"nobody has decided campaign {asked.id}")
        events = log.of_campaign(asked.id, MOST_EVENTS)
        site_words = [event for event in events if is_site_word(event, decision)]
        if decision.done:
            site_words = [
                event
                for event in map(log.find, decision.taught)
                if event is not None and event.counts
            ]
        restored = [event for event in events if is_withdrawn(event, decision)]
        labels = [event.word for event in site_words if event.word]
        why, ledger = f"campaign {asked.id} is undecided", EffectLedger(store)
        effects = take_back_effects(
            site, caller, ledger, ledger.of(decision.id), reason=why, now=now, dry=asked.dry
        )
        if not asked.dry:
            if labels:
                order = UnlearnOrder(words=labels, reason=why)
                unlearn_words(site, caller, order)
            undo_decision(log, site_words, restored, asked.id, now)
            store.note_undone(decision.id, by=caller.name, now=now)
    verdict = {"id": asked.id, "verdict": decision.verdict.value}
    return CampaignOutcome(
        id=asked.id,
        verdict=decision.verdict,
        taught=(),
        unlearned=tuple(labels),
        events=tuple(event.id for event in restored),
        persons=len({event.person for event in restored if event.person}),
        undo=None if effects else UndoCall(call="campaigns.decide", asked=verdict),
        effects=tuple(map(shown_effect, effects)),
    )


def _require_open(
    store: CaseStore | None, log: bytes, campaign: int, caller: Caller, now: float
) -> None:
    """Refuse what somebody else looks at, or has decided.

    Raises:
        NotAllowedError: somebody else looks at it.
        CallError: it is decided.
    """
    lock = lock_of(store, log, campaign, now)
    if lock is not None and lock.by != caller.name:
        raise locked(campaign, lock)
    if store is not None and campaign in store.decisions(log):
        raise CallError(f"campaign {campaign} is decided: take that back first")
