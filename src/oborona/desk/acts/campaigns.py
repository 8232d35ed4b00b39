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
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.desk.acts.events import TAKEN_BACK, EventWithdrawal, take_back_events
from oborona.desk.acts.models import UnlearnOrder, unlearn_words
from oborona.desk.acts.teach import TeachOrder, TeachOutcome, teach_messages
from oborona.desk.asks.campaigns import (
    MOST_EVENTS,
    CampaignId,
    find_campaign,
    open_cases,
)
from oborona.desk.call import ActOrder, CallError, NotAllowedError, NotFoundError, act
from oborona.desk.events.event_log import open_event_log
from oborona.desk.site import Site
from oborona.desk.teaching.lessons import LessonResult
from oborona.desk.undo import UndoCall
from oborona.feedback.cases.store import CaseDecision, CaseLock, CaseStore, CaseVerdict
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import (
    EventChannel,
    EventDecision,
    EventKind,
    StoredEvent,
)
from oborona.feedback.label import LabelKind
from oborona.feedback.processing.campaign_review import REVISED
from oborona.feedback.processing.campaigns import note_site_decision
from oborona.ident import to_text
from oborona.people.caller import Caller
from oborona.people.rights import Right

LOCKED_S: Final = 600.0
TRIED: Final = 5  # messages of a campaign that are tried to be taught, one of which is
_TAUGHT: Final = {CaseVerdict.SPAM: LabelKind.SPAM, CaseVerdict.GOOD: LabelKind.HAM}
_AGAINST: Final = {
    CaseVerdict.SPAM: frozenset({EventKind.PARDON}),
    CaseVerdict.GOOD: frozenset({EventKind.COMPLAINT, EventKind.TRAP}),
    CaseVerdict.NEWSLETTER: frozenset({EventKind.COMPLAINT}),
}
"""What was said that a verdict has believed no more."""


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
    """What a campaign is."""

    verdict: CaseVerdict


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
        undo=UndoCall(act="campaigns.take", arguments={"id": asked.id, "give_back": True}),
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
        against = [event for event in events if event.counts and _is_against(event, asked.verdict)]
        taught = _previewed(site, caller, asked, events)
    withdrawn = [event.id for event in against]
    undo = UndoCall(act="campaigns.undecide", arguments={"id": asked.id})
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
        done = _carry_out(site, caller, decision, taught)
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
        site_words = [event for event in events if _is_site_word(event, decision)]
        if decision.done:
            site_words = [
                event
                for event in map(log.find, decision.taught)
                if event is not None and event.counts
            ]
        restored = [event for event in events if _is_withdrawn(event, decision)]
        labels = [event.word for event in site_words if event.word]
        if not asked.dry:
            if labels:
                order = UnlearnOrder(words=labels, reason=f"campaign {asked.id} is undecided")
                unlearn_words(site, caller, order)
            _restore(log, site_words, restored, asked.id, now)
            store.note_undone(decision.id, by=caller.name, now=now)
    verdict = {"id": asked.id, "verdict": decision.verdict.value}
    return CampaignOutcome(
        id=asked.id,
        verdict=decision.verdict,
        taught=(),
        unlearned=tuple(labels),
        events=tuple(event.id for event in restored),
        persons=len({event.person for event in restored if event.person}),
        undo=UndoCall(act="campaigns.decide", arguments=verdict),
    )


def _is_against(event: StoredEvent, verdict: CaseVerdict) -> bool:
    """Tell whether an event is a person's or a trap's that says the opposite of a verdict."""
    by_site = event.way is EventChannel.COMMAND and not event.person
    return event.what in _AGAINST[verdict] and not by_site


def _is_site_word(event: StoredEvent, decision: CaseDecision) -> bool:
    """Tell whether an event is the word of the site that a decision has taught, where who did it
    has not come to its end.
    """
    return (
        event.way is EventChannel.COMMAND
        and not event.person
        and event.source == decision.by
        and event.heard >= decision.at
        and event.counts
    )


def _is_withdrawn(event: StoredEvent, decision: CaseDecision) -> bool:
    """Tell whether an event is believed no more because of a decision: by itself, or by the review
    that followed.
    """
    if event.rules == (TAKEN_BACK,):
        return event.id in decision.withdrawn
    revised = event.rules == (REVISED,) and (event.decided or 0.0) >= decision.at
    return revised and _is_against(event, decision.verdict)


def _previewed(
    site: Site, caller: Caller, asked: CampaignVerdict, events: Sequence[StoredEvent]
) -> LessonResult | None:
    """Return the first message of a campaign that would be taught, and how; None: none is to be.

    Raises:
        CallError: none can be, or the site has taught the opposite.
    """
    kind = _TAUGHT.get(asked.verdict)
    if kind is None:
        return None
    numbers = list(dict.fromkeys(event.ident for event in reversed(events) if event.ident))
    if not numbers:
        raise CallError("none of its messages is in the journal: there is nothing to teach")
    order = TeachOrder(kind=kind, messages=[to_text(n) for n in numbers[:TRIED]], dry=True)
    tried = teach_messages(site, caller, order).messages
    if any(one.result == "replaced" for one in tried):
        raise CallError("the site has taught the opposite of its messages: take that back first")
    for one in tried:
        if one.result == "new":
            return one
    if all(one.result == "refused" for one in tried):
        raise CallError(f"none of its messages can be taught: {tried[0].reason}")
    return None  # the site has said so before


def _carry_out(
    site: Site, caller: Caller, decision: CaseDecision, taught: LessonResult | None
) -> TeachOutcome | None:
    """Do what a decision is to do, and return what was taught; None = nothing."""
    done = None
    kind = _TAUGHT.get(decision.verdict)
    if taught is not None and kind is not None:
        order = TeachOrder(kind=kind, messages=[taught.message], reason=decision.reason)
        done = teach_messages(site, caller, order)
    if decision.withdrawn:
        reason = f"campaign {decision.campaign} is {decision.verdict}"
        take_back_events(site, caller, EventWithdrawal(ids=decision.withdrawn, reason=reason))
    return done


def _restore(
    log: EventLog,
    site_words: Sequence[StoredEvent],
    restored: Sequence[StoredEvent],
    campaign: int,
    now: float,
) -> None:
    """Have the site's word believed no more, and what was said against it again; the campaign is
    gone over again.
    """
    by_rule = {
        rule: [event.id for event in restored if event.rules == (rule,)]
        for rule in (TAKEN_BACK, REVISED)
    }
    for rule, idents in by_rule.items():
        log.restore(idents, rule, now=now)
    say = f"the decision of campaign {campaign} was taken back"
    taken_back = EventDecision(counts=False, own=False, rules=(TAKEN_BACK,), say=say)
    log.decide([(event.id, taken_back) for event in site_words], now=now)
    with log.transaction() as db:
        note_site_decision(db, campaign, now)


def _lock_of(store: CaseStore | None, log: bytes, campaign: int, now: float) -> CaseLock | None:
    return None if store is None else store.locks(log, now).get(campaign)


def _locked(campaign: int, lock: CaseLock) -> NotAllowedError:
    until = time.strftime("%H:%M:%S", time.gmtime(lock.until))
    return NotAllowedError(f"{lock.by} looks at campaign {campaign} until {until} UTC")
