"""One machine of a site as a process that makes moves in real mailboxes, to be killed:

    python -m tests.replication.move_machine STATE MAILBOXES POINT [SILENT_S [LEASE_S]]

It writes `asked NAME` before a mailbox hears of a letter. It dies at a point of its way by its own
hand: `noted` (before the site knows), `told`, `held`, `issued`, `asked` (the mailbox has moved it),
`settled`, `claimed` (the site knows that it takes moves of another), `adopted`, `dropped` (the site
knows of the end). `stands` stands still before it asks the mailbox; `never` goes on until SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.site import move_share
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.site.move_share import SiteMoveShare
from oborona.recheck.engine.mover import CopyMover
from oborona.recheck.mailboxes.model import MailboxItem, MoveResult, SiteMailboxes
from oborona.recheck.move_book import MoveBook
from oborona.recheck.moves import MoveStore
from oborona.recheck.site_moves import SiteMoveStore
from oborona.replication.link import read_link
from oborona.stores.mailboxes import open_mailboxes

WINDOW_S = 86_400.0
REST_S = 0.1


class SpokenMailboxes:
    """Mailboxes that say what they are asked for.

    Args:
        mailboxes: those that do it.
        here: is told of a point.
    """

    def __init__(self, mailboxes: SiteMailboxes, here: Callable[[str], None]) -> None:
        self._mailboxes = mailboxes
        self._here = here
        self.look = mailboxes.look
        self.close = mailboxes.close

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Say it, and do it."""
        for letter in letters:
            print("asked", letter.ident, flush=True)
        done = await self._mailboxes.move(letters, source, target, force=force)
        self._here("asked")
        return done


def die_after(kind: type, method: str, here: Callable[[], None]) -> None:
    """Have a point come after each call of a method that did something."""
    does = getattr(kind, method)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        done = does(self, *arguments, **options)
        if done or done is None:
            here()
        return done

    setattr(kind, method, call)


async def message_id(number: int) -> str:
    """Return the Message-ID of a message of `dovecot_mailboxes.made`."""
    return f"{number}@a.example"


async def make_moves(state: Path, settings: Settings, silent_s: float, point: str) -> None:
    """Make moves, one step after the other."""

    def here(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    points = {
        "noted": (MoveBook, "note_told"),
        "told": (SiteMoveStore, "tell"),
        "held": (SiteMoveShare, "held"),
        "issued": (MoveStore, "issue"),
        "settled": (MoveStore, "settle_all"),
        "claimed": (SiteMoveStore, "hand_over"),
        "adopted": (MoveBook, "adopt"),
        "dropped": (SiteMoveStore, "drop"),
    }
    if point in points:
        die_after(*points[point], lambda: here(point))
    if point == "stands":
        valid = SiteMoveShare.valid

        def stand(self: SiteMoveShare) -> bool:
            print("stands", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
            return valid(self)

        SiteMoveShare.valid = stand  # type: ignore[method-assign]
    link = read_link(state)
    assert link is not None
    mailboxes = open_mailboxes(settings)
    assert mailboxes is not None
    with MoveStore(state / state_files.MOVES) as moves:
        share = SiteMoveShare(state, link, moves, takes=True, silent_s=silent_s)
        mover = CopyMover(
            moves,
            SpokenMailboxes(mailboxes, here),
            user=settings.mailboxes.owner,
            message_id=message_id,
            window_s=WINDOW_S,
            site=share,
        )
        while True:
            await mover.step()
            await asyncio.sleep(REST_S)


def main() -> None:
    """Be the machine."""
    state, settings, point = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    silent_s = float(sys.argv[4]) if len(sys.argv) > 4 else 1.0
    move_share.LOOK_S = 0.2  # type: ignore[misc]
    if len(sys.argv) > 5:
        move_share.LEASE_S = float(sys.argv[5])  # type: ignore[misc]
    link = read_link(state)
    assert link is not None
    follower = ReplicaFollower(state, link, COMMON_KINDS, "1")
    threading.Thread(target=follower.run, args=(threading.Event(),), daemon=True).start()
    asyncio.run(
        make_moves(
            state, msgspec.json.decode(settings.read_bytes(), type=Settings), silent_s, point
        )
    )


if __name__ == "__main__":
    main()
