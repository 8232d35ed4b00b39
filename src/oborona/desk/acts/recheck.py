"""Acts on moves of the recheck: decided now, taken back, let go on, given up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.asks.recheck import MoveId, message_number, open_moves
from oborona.desk.call import ActOrder, CallError, NotAllowedError, NotFoundError, UndoCall, act
from oborona.desk.moves.look import RecheckLookResult, look_at_copies
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.recheck.engine.loop import ALLOWED, RESUMED_S
from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.telemetry import status as process_status

MOST_LOOKED: Final = 50  # messages of one order: their mailboxes are asked meanwhile


class LookOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What is to be judged again: messages by their ids, or all of a recipient in the window."""

    message: str = ""
    messages: Annotated[Sequence[str], Meta(max_length=MOST_LOOKED)] = ()
    recipient: str = ""


class LookOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Copies that were judged again, and which of them are to be moved."""

    copies: tuple[RecheckLookResult, ...]
    moves: tuple[int, ...]  # ids of moves that were decided now; none in a dry run
    undo: UndoCall | None  # None = nothing was decided


class MoveUndoOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Moves that are to be taken back: of messages, of a time, or each by its own id.

    Args:
        messages: ids, signed or bare.
        since: Unix seconds; all moves that were decided from then on.
        moves: ids of moves.
        rule: of a time, those alone that this rule decided.
    """

    messages: Sequence[str] = ()
    since: float | None = None
    moves: Sequence[MoveId] = ()
    rule: str = ""


class MoveUndoOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Moves that are taken back; in a dry run, that would be."""

    moves: tuple[Move, ...]
    runs: bool  # the keeper, which moves copies back


class MovesOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Moves that have stopped are to go on, or to be given up."""


class MovesOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How many moves go on or are given up; in a dry run, would."""

    moves: int
    runs: bool  # the keeper, which moves copies


@act("recheck.look", Right.MOVE, scoped=True, about=("message", "messages", "recipient"))
def look_again(site: Site, caller: Caller, asked: LookOrder) -> LookOutcome:
    """Judge delivered mail again now, and decide moves of copies whose verdict is another."""
    named = [asked.message] if asked.message else list(asked.messages)
    if bool(named) is bool(asked.recipient) or (asked.message and asked.messages):
        raise CallError("name a message, or a recipient, one of both")
    numbers = list(dict.fromkeys(map(message_number, named)))
    if not named and "@" not in asked.recipient:
        raise CallError(f"{asked.recipient[:100]!r} is no mail address")
    with site.as_owner():
        looked = asyncio.run(
            look_at_copies(site, numbers or None, asked.recipient, caller.scope, dry=asked.dry)
        )
    if looked is None:
        raise NotFoundError("there is no such message in the journal")
    undo = UndoCall(call="recheck.undo", asked={"moves": looked.moves})
    return LookOutcome(
        copies=tuple(looked.copies), moves=tuple(looked.moves), undo=undo if looked.moves else None
    )


@act("recheck.undo", Right.MOVE_ONE, Right.MOVE, scoped=True, about=("messages", "since", "moves"))
def undo_moves(site: Site, caller: Caller, asked: MoveUndoOrder) -> MoveUndoOutcome:
    """Take moves back: what was moved is moved back, unless its recipient has touched it, and no
    copy is moved again by the recheck.

    Raises:
        NotAllowedError: it is about more than one message or move, and the caller may not.
    """
    ways = (bool(asked.messages), asked.since is not None, bool(asked.moves))
    if sum(ways) != 1:
        raise CallError("name messages, moves, or a time, one of them")
    if asked.rule and asked.since is None:
        raise CallError("a rule goes with a time")
    one = asked.since is None and len(asked.messages) + len(asked.moves) == 1
    if not one and not caller.may(Right.MOVE):
        raise NotAllowedError("you may take back the moves of one message at a time")
    now = time.time()
    with site.as_owner(), open_moves(site) as store:
        chosen = [
            move for move in _chosen_moves(store, asked) if caller.scope.covers(move.recipient)
        ]
        if asked.moves and not chosen:
            raise NotFoundError("there is no such move")
        if asked.dry:
            undone = [move for move in chosen if _is_undoable(store, move)]
        else:
            ids = set(store.undo([move.id for move in chosen], now=now, event="undo"))
            undone = [move for move in chosen if move.id in ids]
    return MoveUndoOutcome(moves=tuple(undone), runs=recheck_runs(site))


@act("recheck.resume", Right.MOVE_ALL)
def resume_moves(site: Site, _caller: Caller, asked: MovesOrder) -> MovesOutcome:
    """Let moves go on that have stopped: what is decided is moved, and for an hour nothing stops
    the recheck.
    """
    with site.as_owner(), open_moves(site) as store:
        waiting = store.counted().get(MoveState.DECIDED, 0)
        went = store.paused() is not None
        # else the next keeper would be allowed everything for nothing
        if went and not asked.dry:
            store.set_cursor(ALLOWED, int(time.time() + RESUMED_S))
            went = store.resume()
    return MovesOutcome(moves=waiting if went else 0, runs=recheck_runs(site))


@act("recheck.discard", Right.MOVE_ALL)
def discard_moves(site: Site, _caller: Caller, asked: MovesOrder) -> MovesOutcome:
    """Give up all moves that are decided and not made, and let the recheck go on."""
    with site.as_owner(), open_moves(site) as store:
        if asked.dry:
            number = store.discardable()
        else:
            number = store.discard("discarded by an admin", now=time.time())
            store.resume()
    return MovesOutcome(moves=number, runs=recheck_runs(site))


def recheck_runs(site: Site) -> bool:
    """Return whether the process runs that moves copies."""
    status = process_status.read_process(site.state, process_status.RecheckStatus, time.time())
    return status is not None


def rule_of(move: Move) -> str:
    """Return the name of the rule that decided a move."""
    return (move.why.split() or [""])[0].rstrip(":,").upper()


def _chosen_moves(store: MoveStore, asked: MoveUndoOrder) -> list[Move]:
    if asked.since is not None:
        rule = asked.rule.strip().upper()
        moves = store.since(asked.since)
        return [move for move in moves if not rule or rule_of(move) == rule]
    if asked.moves:
        found = [store.get(ident) for ident in dict.fromkeys(asked.moves)]
        return [move for move in found if move is not None]
    return [move for text in asked.messages for move in store.of(message_number(text))]


def _is_undoable(store: MoveStore, move: Move) -> bool:
    """Tell whether `MoveStore.undo` would take a move back."""
    if move.undoes is not None:
        return False
    if move.state in (MoveState.ISSUED, MoveState.DONE):
        return all(other.undoes != move.id for other in store.of(move.message))
    return move.state is MoveState.DECIDED
