"""What the second look did with the copies of a message."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from oborona import state_files
from oborona.cli.duration import shown_utc
from oborona.cli.terminal import Terminal, plain
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


def moves_of(state: Path, ident: int) -> tuple[CopyMove, ...]:
    """Return the moves of a message, in order; what can't be read is a word on standard error."""
    if not (state / state_files.MOVES).exists():
        return ()
    try:
        with MoveStore(state / state_files.MOVES, make=False) as moves:
            recorded = moves.of(ident)
    except StoreError as error:
        click.echo(f"oborona: {error}; its moves are not told", err=True)
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


def show(console: Terminal, moves: tuple[CopyMove, ...]) -> None:
    """Print the moves of a message."""
    for move in moves:
        line = f"{move.time}  {move.recipient}: {move.source} → {move.target} {move.state}"
        line += f" ({move.note})" if move.note else ""
        line += f", by {move.event}: {move.why}, {move.score:.1f} / {move.line:g}"
        line += f", because: {move.because}" if move.because else ""
        console.print(plain(f"{'back ' if move.back else 'move '} {line}"), highlight=False)
