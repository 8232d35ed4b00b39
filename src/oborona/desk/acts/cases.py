"""Acts on cases: looked at alone for a while, put off until a time, and written beside."""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec

from oborona.desk.acts.campaigns import CampaignOrder
from oborona.desk.asks.campaigns import find_campaign
from oborona.desk.call import CallError, UndoCall, act
from oborona.desk.campaigns.case_book import open_cases
from oborona.desk.campaigns.case_lock import lock_of, locked
from oborona.desk.events.event_log import open_event_log
from oborona.desk.site import Site
from oborona.feedback.cases.store import CaseLock
from oborona.people.caller import Caller
from oborona.people.rights import Right

LOCKED_S: Final = 600.0
LONGEST_S: Final = 30 * 86_400.0  # a case that is put off for longer is forgotten


class CaseSnoozeOrder(CampaignOrder, kw_only=True, forbid_unknown_fields=True):
    """Until when nobody needs to see a campaign: Unix seconds; 0 = it is woken."""

    until: float


class CaseSnoozeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Until when a campaign is put off now; None = it is not."""

    id: int
    snooze: CaseLock | None
    undo: UndoCall | None


class CaseNoteOrder(CampaignOrder, kw_only=True, forbid_unknown_fields=True):
    """What is written beside a campaign."""

    text: Annotated[str, msgspec.Meta(max_length=2_000)]


class CaseNoteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote what; in a dry run, would."""

    id: int
    by: str
    text: str


@act("cases.snooze", Right.TEACH, about=("id", "until"))
def snooze_case(site: Site, caller: Caller, asked: CaseSnoozeOrder) -> CaseSnoozeOutcome:
    """Leave a campaign out of the queue until a time; its lock is given back.

    Raises:
        CallError: the time is over, or more than a month ahead.
    """
    now = time.time()
    if asked.until and not now < asked.until <= now + LONGEST_S:
        raise CallError("a case is put off until a time within the next 30 days")
    with open_event_log(site) as log:
        find_campaign(log, asked.id)
        origin = log.origin()
    with open_cases(site, make=not asked.dry) as store:
        before = None if store is None else store.snoozed(origin, now).get(asked.id)
        if store is not None and not asked.dry:
            store.snooze(origin, asked.id, caller.name, until=asked.until, now=now)
            if asked.until:
                store.give_back(origin, asked.id, caller.name)
    again = {"id": asked.id, "until": 0.0 if before is None else before.until}
    return CaseSnoozeOutcome(
        id=asked.id,
        snooze=CaseLock(by=caller.name, until=asked.until) if asked.until else None,
        undo=UndoCall(call="cases.snooze", asked=again),
    )


@act("cases.note", Right.NOTE, about=("id",))
def note_case(site: Site, caller: Caller, asked: CaseNoteOrder) -> CaseNoteOutcome:
    """Write something beside a campaign.

    Raises:
        CallError: nothing is written.
    """
    text = asked.text.strip()
    if not text:
        raise CallError("a note needs a text")
    with open_event_log(site) as log:
        find_campaign(log, asked.id)
        origin = log.origin()
    if not asked.dry:
        with open_cases(site, make=True) as store:
            assert store is not None  # it is made
            store.note(origin, asked.id, caller.name, text, now=time.time())
    return CaseNoteOutcome(id=asked.id, by=caller.name, text=text)


class CampaignTaking(CampaignOrder, kw_only=True, forbid_unknown_fields=True):
    """A campaign that one looks at, or gives back."""

    give_back: bool = False


class CampaignLockOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks at a campaign; None = nobody does."""

    id: int
    lock: CaseLock | None
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
        lock = lock_of(store, origin, asked.id, now)
        if store is not None and not asked.dry:
            lock = store.take(origin, asked.id, caller.name, until=until, now=now)
        if lock is not None and lock.by != caller.name:
            raise locked(asked.id, lock)
    return CampaignLockOutcome(
        id=asked.id,
        lock=CaseLock(by=caller.name, until=until),
        undo=UndoCall(call="campaigns.take", asked={"id": asked.id, "give_back": True}),
    )
