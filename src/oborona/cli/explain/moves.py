"""What the second look did with the copies of a message."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from oborona import state_files
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
            found = moves.of(ident)
    except StoreError as error:
        click.echo(f"oborona: {error}; its moves are not told", err=True)
        return ()
    return tuple(
        CopyMove(
            time=datetime.fromtimestamp(one.time, UTC).isoformat(sep=" ", timespec="seconds"),
            recipient=one.recipient,
            source=one.source,
            target=one.target,
            state=one.state.value,
            note=one.note,
            why=one.why,
            score=one.score,
            line=one.line,
            event=one.event,
            because=one.because,
            back=one.undoes is not None,
        )
        for one in found
    )


def show(console: Terminal, moves: tuple[CopyMove, ...]) -> None:
    """Print the moves of a message."""
    for one in moves:
        told = f"{one.time}  {one.recipient}: {one.source} → {one.target} {one.state}"
        told += f" ({one.note})" if one.note else ""
        told += f", by {one.event}: {one.why}, {one.score:.1f} / {one.line:g}"
        told += f", because: {one.because}" if one.because else ""
        console.print(plain(f"{'back ' if one.back else 'move '} {told}"), highlight=False)
