"""What the second look did with the copies of a message."""

from __future__ import annotations

from oborona.cli.terminal import Terminal, plain
from oborona.desk.messages.moves import CopyMove


def show(console: Terminal, moves: tuple[CopyMove, ...]) -> None:
    """Print the moves of a message."""
    for move in moves:
        line = f"{move.time}  {move.recipient}: {move.source} → {move.target} {move.state}"
        line += f" ({move.note})" if move.note else ""
        line += f", by {move.event}: {move.why}, {move.score:.1f} / {move.line:g}"
        line += f", because: {move.because}" if move.because else ""
        console.print(plain(f"{'back ' if move.back else 'move '} {line}"), highlight=False)
