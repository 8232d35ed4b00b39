"""Delivered copies of a campaign that a decision has judged again and moved, and moved back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.asks.recheck import open_moves
from oborona.desk.moves.look import CopySupposition, LookedCopies, RecheckLookResult, look_at_copies
from oborona.desk.site import Site
from oborona.feedback.cases.effects import (
    CaseEffect,
    EffectKind,
    EffectLedger,
    EffectState,
    PlannedEffect,
)
from oborona.people.caller import Caller
from oborona.recheck.moves import Move, MoveState

MOST: Final = 500  # messages of a campaign, the newest
_STANDING: Final = frozenset({MoveState.DECIDED, MoveState.ISSUED, MoveState.DONE})


def plan_moves(
    site: Site, caller: Caller, messages: Sequence[int], supposed: CopySupposition, now: float
) -> tuple[PlannedEffect, int]:
    """Return what is to be done, and how many copies would be moved by it.

    Raises:
        StoreError: the journal, the moves or the counters can't be read.
    """
    numbers = list(messages[:MOST])
    looked = _look(site, caller, numbers, supposed, now, dry=True)
    copies = sum(map(_is_moved, looked.copies)) if looked is not None else 0
    effect = PlannedEffect(kind=EffectKind.MOVES, about="", made={"messages": numbers})
    return effect, copies


def make_moves(
    site: Site, caller: Caller, ledger: EffectLedger, effect: CaseEffect, supposed: CopySupposition
) -> CaseEffect:
    """Judge the messages again, and decide moves of their copies; the keeper moves these.

    Raises:
        StoreError: the journal, the moves or the counters can't be used.
    """
    looked = _look(site, caller, effect.made["messages"], supposed, effect.at, dry=False)
    moves = [] if looked is None else looked.moves
    state = EffectState.DONE if moves else EffectState.IDLE
    say = "" if moves else "no verdict is another now"
    return ledger.note(effect, state, made={**effect.made, "moves": moves}, say=say)


def take_back_moves(
    site: Site, ledger: EffectLedger, effect: CaseEffect, *, now: float, dry: bool
) -> CaseEffect:
    """Take back the moves that were decided; what a reader has touched stays where it is.

    Raises:
        StoreError: the moves can't be written.
    """
    taken = list[int]()
    if (site.state / state_files.MOVES).exists():
        with site.as_owner(), open_moves(site) as store:
            moves = store.of_all(effect.made["messages"])
            back = {move.undoes for move in moves}
            ours = [move.id for move in moves if _is_ours(move, effect) and move.id not in back]
            taken = ours if dry else store.undo(ours, now=now, event="undo")
    say = "" if taken else "nothing was moved, or it is moved back already"
    made = {**effect.made, "moves": taken}
    if dry:
        return msgspec.structs.replace(effect, state=EffectState.UNDONE, say=say, made=made)
    ledger.note(effect, EffectState.UNDONE, say=say)
    return msgspec.structs.replace(effect, state=EffectState.UNDONE, say=say, made=made)


def _is_moved(copy: RecheckLookResult) -> bool:
    """Tell whether a copy would be moved, as far as its mailbox says."""
    return bool(copy.target) and (not copy.mailbox or copy.mailbox.startswith("moves"))


def _is_ours(move: Move, effect: CaseEffect) -> bool:
    """Tell whether a move was decided by an effect: it has its time, though nobody noted it."""
    return move.time == effect.at and move.undoes is None and move.state in _STANDING


def _look(
    site: Site,
    caller: Caller,
    numbers: Sequence[int],
    supposed: CopySupposition,
    now: float,
    *,
    dry: bool,
) -> LookedCopies | None:
    with site.as_owner():
        return asyncio.run(
            look_at_copies(
                site,
                numbers,
                "",
                caller.scope,
                dry=dry,
                now=now,
                supposed=supposed,
            )
        )
