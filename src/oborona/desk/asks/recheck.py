"""Asks about the recheck: how it does, and which moves it decided and made."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from oborona import state_files
from oborona.desk.call import CallError, ask
from oborona.desk.site import Site
from oborona.ident import from_text
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.recheck.engine.loop import MESSAGES, WAITING
from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.telemetry import status as process_status

DAY_S: Final = 86_400
READ_AT_ONCE: Final = 500  # moves, where a scope or state leaves some out
MoveRows = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
MoveId = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]


class RecheckQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How the recheck does."""


class RecheckFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How the recheck does."""

    runs: bool
    trouble: str
    paused: str | None  # why its moves have stopped
    paused_since: float | None  # Unix seconds
    waiting: float  # changes
    looked: Mapping[str, float]  # messages since its start, by what came of them
    moves: Mapping[str, int]  # of the last day, by their state


class MovesQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which moves are asked for: all of a message, or the last ones."""

    message: str = ""  # id, signed or bare
    state: MoveState | None = None  # of the last ones, those in this state alone
    before: MoveId | None = None  # the next page: `next` of the one before
    most: MoveRows = 20


class MovePage(msgspec.Struct, frozen=True, kw_only=True):
    """Some moves: of a message in order, else the newest first."""

    moves: tuple[Move, ...]
    next: int | None  # `before` of the next page; None = there is none


@ask("recheck.status", Right.STATUS)
def show_recheck(site: Site, _caller: Caller, asked: RecheckQuestion) -> RecheckFigures:
    """Return what waits, what was moved in the last day, and whether moves have stopped."""
    assert asked is not None
    now = time.time()
    with open_moves(site) as moves:
        paused, states = moves.paused(), moves.counted(now - DAY_S)
    status = process_status.read_process(site.state, process_status.RecheckStatus, now)
    return RecheckFigures(
        runs=status is not None,
        trouble="" if status is None else status.trouble,
        paused=None if paused is None else paused.why,
        paused_since=None if paused is None else paused.since,
        waiting=0 if status is None else WAITING.of(status.metrics),
        looked={}
        if status is None
        else {name: number for (name,), number in MESSAGES.samples(status.metrics).items()},
        moves={state.value: states.get(state, 0) for state in MoveState},
    )


@ask("recheck.moves", Right.TRACK, Right.MOVE_ONE, scoped=True)
def list_moves(site: Site, caller: Caller, asked: MovesQuestion) -> MovePage:
    """Return moves of copies of the caller's scope."""

    def covers(move: Move) -> bool:
        return asked.state in (None, move.state) and caller.scope.covers(move.recipient)

    with open_moves(site) as store:
        if asked.message:
            found = list(filter(covers, store.of(message_number(asked.message))))
            return MovePage(moves=tuple(found), next=None)
        found, before = list[Move](), asked.before
        whole = caller.scope.whole and asked.state is None
        at_once = asked.most if whole else READ_AT_ONCE
        while len(found) < asked.most:
            rows = store.last(at_once, before)
            found += filter(covers, rows)
            if len(rows) < at_once:
                break
            before = rows[-1].id
    shown = tuple(found[: asked.most])
    return MovePage(moves=shown, next=shown[-1].id if len(shown) == asked.most else None)


def open_moves(site: Site) -> MoveStore:
    """Open the file of moves.

    Raises:
        StoreError: there is none, or it can't be used.
    """
    return MoveStore(site.state / state_files.MOVES, make=False)


def message_number(text: str) -> int:
    """Return the id of a message, signed or bare, as a number.

    Raises:
        CallError: it is none.
    """
    number = from_text(text.partition(".")[0])
    if number is None:
        raise CallError(f"{text[:100]!r} is no id of a message")
    return number
