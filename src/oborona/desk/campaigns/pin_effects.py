"""Reputations that a decision of a campaign sets by hand, and how those of before come back."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.desk.call import CallError
from oborona.desk.campaigns.further_effects import FurtherEffects
from oborona.desk.reputation.entity import entity_named
from oborona.desk.reputation.line_text import checked_line
from oborona.desk.reputation.pin_store import (
    pins_for_reading,
    pins_for_writing,
    require_hasher,
)
from oborona.desk.site import Site
from oborona.feedback.cases.effects import (
    CaseEffect,
    EffectKind,
    EffectLedger,
    EffectState,
    PlannedEffect,
)
from oborona.feedback.cases.store import CaseVerdict
from oborona.people.caller import Caller
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.pins.pin_reader import StandingPin
from oborona.stores.pins.rows import PinAction
from oborona.stores.pins.store import PinStore

_FLAGS: Final = {
    CaseVerdict.SPAM: ReputationFlag.BAD,
    CaseVerdict.GOOD: ReputationFlag.GOOD,
}


def plan_pins(
    site: Site,
    caller: Caller,
    verdict: CaseVerdict,
    asked: FurtherEffects,
    reason: str,
    now: float,
) -> list[PlannedEffect]:
    """Return what is to be done for the entities whose reputation is to be set.

    Raises:
        CallError: a text names none that anything is decided by, or the reason can't be used.
        StoreError: the pins can't be read.
    """
    if not asked.pins:
        return []
    hasher, planned = require_hasher(site), list[PlannedEffect]()
    line = checked_line(reason, "reason")
    with pins_for_reading(site) as store:
        for text in dict.fromkeys(asked.pins):
            named = entity_named(text, hasher)
            if not named.judged:
                raise CallError(f"{named.name}: nothing is decided by a {named.kind}")
            pin = Pin(
                type=named.type,
                hash=named.shingle.hash,
                name=named.name if named.piece else "",
                flag=_FLAGS[verdict],
                reason=line,
                by=caller.name,
                since=now,
                until=asked.pinned_until,
            )
            before = None if store is None else store.standing(named.shingle, now)
            planned.append(
                PlannedEffect(
                    kind=EffectKind.PIN,
                    about=named.name,
                    made={"pin": msgspec.to_builtins(pin)},
                    before=None if before is None else msgspec.to_builtins(before),
                )
            )
    return planned


def make_pin(site: Site, ledger: EffectLedger, effect: CaseEffect) -> CaseEffect:
    """Set a reputation as it was planned; what is there then is noted before.

    Raises:
        StoreError: the pins can't be written.
    """
    pin = pin_of(effect)
    with pins_for_writing(site) as store, store.transaction():
        standing = store.standing(pin.shingle, effect.at)
        before = None if standing is None else msgspec.to_builtins(standing)
        if before != effect.before:
            effect = ledger.note_before(effect, before)
        store.put([pin])
    return ledger.note(effect, EffectState.DONE)


def take_back_pin(
    site: Site,
    ledger: EffectLedger,
    effect: CaseEffect,
    *,
    by: str,
    reason: str,
    now: float,
    dry: bool,
) -> CaseEffect:
    """Put back what was before a reputation was set; what somebody has set since stays.

    Raises:
        StoreError: the pins can't be written.
    """
    ours, state, say = pin_of(effect), EffectState.UNDONE, ""
    before = _before(ledger, effect, now)
    with pins_for_writing(site) as store, store.transaction():
        standing = store.standing(ours.shingle, now)
        mine = standing is not None and standing.pin == ours
        over = standing is None and ours.expired(now) and not _is_cleared(store, ours)
        if mine or over:
            if dry:
                pass
            elif before is not None:
                store.put_back(before, by=by, reason=reason, now=now)
            elif mine:
                store.clear(ours.shingle, ours.name, by=by, reason=reason, now=now)
        elif standing == before and effect.state is EffectState.PLANNED:
            say = "it was not done"
        else:
            state = EffectState.LEFT
            say = "it was cleared since"
            if standing is not None:
                say = (
                    f"{standing.pin.by or standing.origin} has set it to {standing.pin.flag} since"
                )
    if dry:
        return msgspec.structs.replace(effect, state=state, say=say)
    return ledger.note(effect, state, say=say)


def pin_of(effect: PlannedEffect) -> Pin:
    """Return the pin that an effect sets."""
    return msgspec.convert(effect.made["pin"], Pin)


def _before(ledger: EffectLedger, effect: CaseEffect, now: float) -> StandingPin | None:
    """Return the pin that was in force before; one of a decision that was taken back meanwhile is
    not, but what was before that.
    """
    gone = [
        other
        for other in ledger.about(EffectKind.PIN, effect.about)
        if other.state in (EffectState.UNDONE, EffectState.LEFT) and other.id != effect.id
    ]
    before = effect.before
    for other in gone:  # the newest first: each is older than the one that stood on it
        if before is not None and before["pin"] == other.made["pin"]:
            before = other.before
    standing = None if before is None else msgspec.convert(before, StandingPin)
    return None if standing is None or standing.pin.expired(now) else standing


def _is_cleared(store: PinStore, ours: Pin) -> bool:
    """Tell whether somebody has cleared a pin before it was over."""
    return any(
        change.what is PinAction.CLEAR and change.at >= ours.since
        for change in store.changes(ours.shingle)
    )
