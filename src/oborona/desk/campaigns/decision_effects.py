"""What a decision of a campaign does and what of it is taken back, by acts that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.desk.acts.events import TAKEN_BACK, EventWithdrawal, take_back_events
from oborona.desk.acts.teach import TeachOrder, TeachOutcome, teach_messages
from oborona.desk.call import CallError
from oborona.desk.labels.lessons import LessonResult
from oborona.desk.site import Site
from oborona.feedback.cases.store import CaseDecision, CaseVerdict
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventDecision, EventKind, StoredEvent
from oborona.feedback.label import LabelKind
from oborona.feedback.processing.campaign_review import REVISED
from oborona.feedback.processing.campaigns import note_site_decision
from oborona.ident import to_text
from oborona.people.caller import Caller

TRIED: Final = 5  # messages of a campaign that are tried to be taught, one of which is
_TAUGHT: Final = {CaseVerdict.SPAM: LabelKind.SPAM, CaseVerdict.GOOD: LabelKind.HAM}
_AGAINST: Final = {
    CaseVerdict.SPAM: frozenset({EventKind.PARDON}),
    CaseVerdict.GOOD: frozenset({EventKind.COMPLAINT, EventKind.TRAP}),
    CaseVerdict.NEWSLETTER: frozenset({EventKind.COMPLAINT}),
}
"""What was said that a verdict has believed no more."""


def is_against(event: StoredEvent, verdict: CaseVerdict) -> bool:
    """Tell whether an event is a person's or a trap's that says the opposite of a verdict."""
    by_site = event.way is EventChannel.COMMAND and not event.person
    return event.what in _AGAINST[verdict] and not by_site


def is_site_word(event: StoredEvent, decision: CaseDecision) -> bool:
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


def is_withdrawn(event: StoredEvent, decision: CaseDecision) -> bool:
    """Tell whether an event is believed no more because of a decision: by itself, or by the review
    that followed.
    """
    if event.rules == (TAKEN_BACK,):
        return event.id in decision.withdrawn
    revised = event.rules == (REVISED,) and (event.decided or 0.0) >= decision.at
    return revised and is_against(event, decision.verdict)


def previewed_lesson(
    site: Site, caller: Caller, verdict: CaseVerdict, events: Sequence[StoredEvent]
) -> LessonResult | None:
    """Return the first message of a campaign that would be taught, and how; None: none is to be.

    Raises:
        CallError: none can be, or the site has taught the opposite.
    """
    kind = _TAUGHT.get(verdict)
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


def carry_out_decision(
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


def undo_decision(
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
