"""Acts on campaigns: taken for a while, given back, decided, and the decision taken back.

A decision is one act with several effects, each by the act that people have for it:

    spam        the site teaches a message of it as spam; pardons that are believed are taken back
    good        the site teaches one as ham; complaints and traps that are believed are taken back
    newsletter  complaints that are believed are taken back for all: those who complained keep it
                in Junk, by their own lists

What copies are moved for it the recheck decides by itself, once the trainer has it; once it is
taken back, the recheck moves back what it moved, but for what its reader has touched.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec

from oborona.desk.acts.models import UnlearnOrder, unlearn_words
from oborona.desk.asks.campaigns import MOST_EVENTS, CampaignId, find_campaign
from oborona.desk.call import ActOrder, CallError, NotAllowedError, NotFoundError, UndoCall, act
from oborona.desk.campaigns.case_book import open_cases
from oborona.desk.campaigns.decision_effects import (
    carry_out_decision,
    is_against,
    is_site_word,
    is_withdrawn,
    previewed_lesson,
    undo_decision,
)
from oborona.desk.events.event_log import open_event_log
from oborona.desk.labels.lessons import LessonResult
from oborona.desk.site import Site
from oborona.feedback.cases.store import CaseLock, CaseStore, CaseVerdict
from oborona.people.caller import Caller
from oborona.people.rights import Right

LOCKED_S: Final = 600.0


class CampaignOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A campaign by its number."""

    id: CampaignId


class CampaignTaking(CampaignOrder, kw_only=True, forbid_unknown_fields=True):
    """A campaign that one looks at, or gives back."""

    give_back: bool = False


class CampaignLockOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks at a campaign; None = nobody does."""

    id: int
    lock: CaseLock | None
    undo: UndoCall | None


class CampaignVerdict(CampaignOrder, kw_only=True, forbid_unknown_fields=True):
    """What a campaign is, and which effects that is to have.

    Args:
        verdict: what it is.
        teach: the site teaches a message of it.
        withdraw: what was said against that is believed no more.
    """

    verdict: CaseVerdict
    teach: bool = True
    withdraw: bool = True


class CampaignOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision did, or what of it was taken back; in a dry run, what would be.

    Args:
        id: of the campaign.
        verdict: that was decided, or taken back.
        taught: messages that the site teaches.
        unlearned: ids of the site's labels that are taken back.
        events: that are taken back, or are as before.
        persons: who had said these.
        undo: None = nothing was done, or none does exactly that.
    """

    id: int
    verdict: CaseVerdict
    taught: tuple[LessonResult, ...]
    unlearned: tuple[int, ...]
    events: tuple[int, ...]
    persons: int
    undo: UndoCall | None


@act("campaigns.take", Right.TEACH, about=("id",))
def take_campaign(site: Site, caller: Caller, asked: CampaignTaking) -> CampaignLockOutcome:
    """Look at a campaign alone for ten minutes, once more for longer, or give it back.

    Raises:
        NotAllowedError: somebody else looks at it.
    """
    now = time.time()
    with open_event_log(site) as log:
        find_campaign(log, asked.id)
        origin = log.origin()
    with open_cases(site, make=not asked.dry) as store:
        if asked.give_back:
            if store is not None and not asked.dry:
                store.give_back(origin, asked.id, caller.name)
            return CampaignLockOutcome(id=asked.id, lock=None, undo=None)
        until = now + LOCKED_S
        lock = _lock_of(store, origin, asked.id, now)
        if store is not None and not asked.dry:
            lock = store.take(origin, asked.id, caller.name, until=until, now=now)
        if lock is not None and lock.by != caller.name:
            raise _locked(asked.id, lock)
    return CampaignLockOutcome(
        id=asked.id,
        lock=CaseLock(by=caller.name, until=until),
        undo=UndoCall(call="campaigns.take", asked={"id": asked.id, "give_back": True}),
    )


@act("campaigns.decide", Right.TEACH, about=("id", "verdict"))
def decide_campaign(site: Site, caller: Caller, asked: CampaignVerdict) -> CampaignOutcome:
    """Decide what a campaign is: the site's word about it, and what was said against that believed
    no more.

    Raises:
        NotAllowedError: somebody else looks at it.
        CallError: it is decided, or the site has taught the opposite of its messages.
    """
    now = time.time()
    with open_event_log(site) as log:
        find_campaign(log, asked.id)
        origin, events = log.origin(), log.of_campaign(asked.id, MOST_EVENTS)
        against = [
            event
            for event in events
            if asked.withdraw and event.counts and is_against(event, asked.verdict)
        ]
        taught = None
        if asked.teach:
            taught = previewed_lesson(site, caller, asked.verdict, events)
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
    )
    with open_cases(site, make=not asked.dry) as store:
        lock = _lock_of(store, origin, asked.id, now)
        if lock is not None and lock.by != caller.name:
            raise _locked(asked.id, lock)
        if store is not None and asked.id in store.decisions(origin):
            raise CallError(f"campaign {asked.id} is decided: take that back first")
        if store is None or asked.dry:
            return outcome
        decision = store.begin(
            origin,
            asked.id,
            asked.verdict,
            by=caller.name,
            reason=asked.reason,
            withdrawn=withdrawn,
            now=now,
        )
        done = carry_out_decision(site, caller, decision, taught)
        store.note_done(decision.id, done.events if done is not None else ())
        store.give_back(origin, asked.id, caller.name)
    return msgspec.structs.replace(outcome, taught=done.messages if done is not None else ())


@act("campaigns.undecide", Right.TEACH, about=("id",))
def undecide_campaign(site: Site, caller: Caller, asked: CampaignOrder) -> CampaignOutcome:
    """Take the decision of a campaign back, with all that it did.

    Raises:
        NotFoundError: nobody has decided it.
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
        if not asked.dry:
            if labels:
                order = UnlearnOrder(words=labels, reason=f"campaign {asked.id} is undecided")
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
        undo=UndoCall(call="campaigns.decide", asked=verdict),
    )


def _lock_of(store: CaseStore | None, log: bytes, campaign: int, now: float) -> CaseLock | None:
    return None if store is None else store.locks(log, now).get(campaign)


def _locked(campaign: int, lock: CaseLock) -> NotAllowedError:
    until = time.strftime("%H:%M:%S", time.gmtime(lock.until))
    return NotAllowedError(f"{lock.by} looks at campaign {campaign} until {until} UTC")
