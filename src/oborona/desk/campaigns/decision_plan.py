"""What a decision of a campaign does beside labels and reports: planned, done in order, taken back.

A signature and a pin come before the moves, which rest on them; they go in the other order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from oborona.desk.campaigns.campaign_mail import campaign_entries, whole_pieces
from oborona.desk.campaigns.further_effects import (
    FurtherEffects,
    ShownEffect,
    require_rights,
    require_sense,
    shown_effect,
)
from oborona.desk.campaigns.move_effects import make_moves, plan_moves, take_back_moves
from oborona.desk.campaigns.pin_effects import make_pin, pin_of, plan_pins, take_back_pin
from oborona.desk.campaigns.signature_effects import (
    make_signature,
    plan_signatures,
    signatures_of,
    take_back_signature,
)
from oborona.desk.moves.look import CopySupposition
from oborona.desk.site import Site
from oborona.feedback.cases.effects import (
    CaseEffect,
    EffectKind,
    EffectLedger,
    EffectState,
    PlannedEffect,
)
from oborona.feedback.cases.store import CaseVerdict
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import StoredEvent
from oborona.people.caller import Caller


class DecisionPlan(NamedTuple):
    """Effects that are to be, and how each is shown before."""

    effects: list[PlannedEffect]
    shown: tuple[ShownEffect, ...]


class DecidedCampaign(NamedTuple):
    """A campaign that somebody decides.

    Args:
        log: of events.
        id: of the campaign.
        events: what was said of it.
        first: Unix seconds of the first of it.
    """

    log: EventLog
    id: int
    events: Sequence[StoredEvent]
    first: float


def plan_effects(
    site: Site,
    caller: Caller,
    verdict: CaseVerdict,
    asked: FurtherEffects,
    campaign: DecidedCampaign,
    reason: str,
    now: float,
) -> DecisionPlan:
    """Return what is to be done; nothing is.

    Raises:
        NotAllowedError: the caller may not do one of them by itself.
        CallError: one can't be done.
        StoreError: a store can't be read.
    """
    require_rights(caller, asked.kinds)
    require_sense(verdict, asked, now)
    why = reason or f"campaign {campaign.id}"
    effects = plan_signatures(site, caller, asked, why, now)
    effects += plan_pins(site, caller, verdict, asked, why, now)
    shown = list(map(shown_effect, effects))
    if asked.recheck:
        known = [event.ident for event in campaign.events if event.ident is not None]
        pieces = whole_pieces(campaign.log, campaign.id)
        entries, _ = campaign_entries(site, pieces, list(dict.fromkeys(known)), campaign.first)
        pins = tuple(pin_of(effect) for effect in effects if effect.kind is EffectKind.PIN)
        supposed = CopySupposition(signatures=signatures_of(effects), pins=pins)
        numbers = [entry.id for entry in entries]
        moves, copies = plan_moves(site, caller, numbers, supposed, now)
        effects.append(moves)
        shown.append(msgspec.structs.replace(shown_effect(moves), copies=copies))
    return DecisionPlan(effects, tuple(shown))


def do_effects(
    site: Site, caller: Caller, ledger: EffectLedger, effects: Sequence[CaseEffect]
) -> list[CaseEffect]:
    """Do what was planned, each noted when it is done; return them as they are then.

    Raises:
        StoreError: a store can't be written; what was done until then is noted.
    """
    done = list[CaseEffect]()
    for effect in effects:
        if effect.kind is EffectKind.PIN:
            done.append(make_pin(site, ledger, effect))
        elif effect.kind is EffectKind.MOVES:
            supposed = CopySupposition(signatures=signatures_of(done))
            done.append(make_moves(site, caller, ledger, effect, supposed))
        else:
            done.append(make_signature(site, ledger, effect))
    return done


def take_back_effects(
    site: Site,
    caller: Caller,
    ledger: EffectLedger,
    effects: Sequence[CaseEffect],
    *,
    reason: str,
    now: float,
    dry: bool,
) -> list[CaseEffect]:
    """Take back what a decision has done, also what nobody noted; return each as it is then.

    Raises:
        NotAllowedError: the caller may not do one of them by itself.
        StoreError: a store can't be written; what was taken back until then is noted.
    """
    standing = [effect for effect in effects if effect.state in _STANDING]
    require_rights(caller, frozenset(effect.kind for effect in standing))
    taken = list[CaseEffect]()
    for effect in reversed(standing):
        if effect.kind is EffectKind.PIN:
            taken.append(
                take_back_pin(site, ledger, effect, by=caller.name, reason=reason, now=now, dry=dry)
            )
        elif effect.kind is EffectKind.MOVES:
            taken.append(take_back_moves(site, ledger, effect, now=now, dry=dry))
        else:
            taken.append(
                take_back_signature(site, ledger, effect, by=caller.name, now=now, dry=dry)
            )
    return taken[::-1]


_STANDING = frozenset({EffectState.PLANNED, EffectState.DONE})
