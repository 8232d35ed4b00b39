"""One machine of a site as a process, to be killed: it hears events, follows the others, hands on
what waits, believes and learns when it is its turn.

    python -m tests.replication.site_machine STATE TURN EVENTS

It writes the number of each event once that is acknowledged.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.event_drain import EventDrain
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.trainer.trainer import trainer_main
from oborona.errors import StoreError
from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.feedback.label import LabelKind
from oborona.replication.link import read_link
from tests.feedback.words import letter

EACH_S = 0.15  # between events


def trapped(number: int) -> FeedbackEvent:
    """Return mail to a trap, another one for each number."""
    return FeedbackEvent(
        what=EventKind.TRAP,
        way=EventChannel.TRAP,
        time=time.time(),
        raw=letter(number, LabelKind.SPAM),
        mailbox="trap@b.example",
        key=b"event %d" % number,
    )


def first_number(turn: int) -> int:
    """Return the number of the first event of a process, of which each has a number too."""
    return turn * 1_000_000


async def _hear(state: Path, first: int, number: int) -> None:
    async with EventWriter(state / state_files.EVENTS) as taking:
        for one in range(first, first + number):
            while True:
                try:
                    await taking.take(trapped(one))
                    break
                except StoreError:  # whoever handed it in does so again
                    await asyncio.sleep(0.1)
            print(one, flush=True)
            await asyncio.sleep(EACH_S)


def main() -> None:
    """Be the machine until SIGTERM."""
    state, turn, number = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    link = read_link(state)
    assert link is not None
    stop = threading.Event()
    follower = ReplicaFollower(state, link, COMMON_KINDS, "1")
    drain = EventDrain(state)
    for task in (
        lambda: follower.run(stop),
        lambda: drain.run(stop),
        lambda: asyncio.run(_hear(state, first_number(turn), number)),
    ):
        threading.Thread(target=task, daemon=True).start()
    trainer_main(Settings(), state, "mx.b.example", lambda: None)


if __name__ == "__main__":
    main()
