"""What the second look did with the copies of a message."""

from __future__ import annotations

import msgspec

from oborona import state_files
from oborona.desk.configured_site import ConfiguredSite
from oborona.desk.moment import shown_utc
from oborona.errors import StoreError
from oborona.recheck.moves import MoveStore


class CopyMove(msgspec.Struct, frozen=True, kw_only=True):
    """One move of a copy."""

    time: str  # ISO 8601, when it was decided
    recipient: str
    source: str  # mailbox
    target: str
    state: str  # decided, issued, done, kept, failed, undone
    note: str  # why it was kept, or failed
    why: str  # rule that decided, and its words
    score: float
    line: float
    event: str  # what made us look
    because: str  # to the inbox: what was learned
    back: bool  # it takes an earlier one back


def moves_of(site: ConfiguredSite, ident: int) -> tuple[CopyMove, ...]:
    """Return the moves of a message, in order; what can't be read is a notice."""
    state = site.state
    if not (state / state_files.MOVES).exists():
        return ()
    try:
        with MoveStore(state / state_files.MOVES, make=False) as moves:
            recorded = moves.of(ident)
    except StoreError as error:
        site.notice(f"{error}; its moves are not told")
        return ()
    return tuple(
        CopyMove(
            time=shown_utc(move.time),
            recipient=move.recipient,
            source=move.source,
            target=move.target,
            state=move.state.value,
            note=move.note,
            why=move.why,
            score=move.score,
            line=move.line,
            event=move.event,
            because=move.because,
            back=move.undoes is not None,
        )
        for move in recorded
    )
