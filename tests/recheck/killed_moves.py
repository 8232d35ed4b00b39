"""One that makes moves and is to be killed:
`python -m tests.recheck.killed_moves FILE MAILBOX POINT`.

The mailbox is a folder with a file for each copy that was moved, one byte for each time.  It dies
at a point of its way, by its own hand: `decided`, `issued`, `asked` (in the midst of a batch),
`moved` (before that is settled), `settled`; `never`: it comes to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from oborona.recheck.moves import Move, MoveDecision, MoveState, MoveStore
from tests.journal.entries import NOON

COPIES = 7
BATCH = 3


def wanted() -> list[MoveDecision]:
    """Return what is to be moved, the same each time."""
    return [
        MoveDecision(
            message=1000 + number,
            recipient=f"p{number}@example.test",
            source="INBOX",
            target="Junk",
            why="MASS_TEXT seen 412",
            score=120.0,
            line=100.0,
            event="complaint",
        )
        for number in range(COPIES)
    ]


def main(file: Path, mailbox: Path, point: str) -> None:
    def here(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def make(moves: list[Move]) -> None:
        for number, one in enumerate(moves):
            copy = mailbox / f"{one.message}-{one.recipient}"
            if not copy.exists():  # a mailbox moves what is still there
                copy.write_bytes(b".")
            if number == 1:
                here("asked")
        if moves:
            here("moved")
        for one in moves:
            store.settle(one.id, MoveState.DONE, now=NOON)
            here("settled")

    with MoveStore(file) as store:
        store.decide(wanted(), now=NOON)
        here("decided")
        make(store.issued())
        while due := store.due(NOON, BATCH):
            going = set(store.issue([one.id for one in due], now=NOON))
            here("issued")
            make([one for one in due if one.id in going])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
