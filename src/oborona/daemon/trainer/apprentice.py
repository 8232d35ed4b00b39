"""The trainer of a machine while another one of its site trains: it learns what that has learned,
and says what its own journal knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.trainer.process import EventProcessorRunner
from oborona.doorbell import RUNG, FileNotices
from oborona.feedback.weights_follower import WeightsFollower
from oborona.feedback.weights_rebuild import WeightsRebuild
from oborona.heartbeat import StopSignal, beat
from oborona.telemetry import status

TURN_S: Final = 0.25  # between looks whether it is this machine's turn


def follow_trainer(
    settings: Settings,
    state: Path,
    believing: EventProcessorRunner,
    stop: StopSignal,
    report: Callable[[], None],
) -> WeightsRebuild | None:
    """Learn what the machine that trains has learned, until it is this one's turn, or told to stop.

    Return what it has come to.

    Args:
        settings: of the site.
        state: the state folder.
        believing: says what this machine's journal knows.
        stop: ends it.
        report: writes the status.

    Raises:
        StoreError: a store can't be used.
    """
    notices = FileNotices()
    follower = WeightsFollower(state, kept=settings.learning.kept)
    taken: WeightsRebuild | None = None
    try:
        report_at = 0.0
        while not stop.is_set() and not believing.turn.is_mine():
            notices.drain()
            for name in (state_files.EVENTS, state_files.FEEDBACK):
                notices.add(state / name, RUNG)
            busy = believing.step()
            busy |= follower.step()
            if time.monotonic() >= report_at:
                report()
                report_at = time.monotonic() + status.WRITE_S
            if busy:
                beat()
            else:
                stop.wait_for(notices.fileno(), TURN_S)
        if not stop.is_set():
            taken = follower.taken()
    finally:
        notices.close()
        if taken is None:
            follower.close()
    return taken
