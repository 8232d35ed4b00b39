"""The weights of a machine that does not train: it learns the same labels in the same order once
the machine that trains has, so that it judges by them, and can go on when that one is away.

Nothing is written to the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from oborona import state_files
from oborona.feedback.trainer import AT_ONCE
from oborona.feedback.training_store import TrainingStore
from oborona.feedback.weights_file import publish_weights
from oborona.feedback.weights_rebuild import WeightsRebuild


class WeightsFollower:
    """The state of a follower; for one thread.

    Args:
        state: the state folder.
        kept: examples of a class that weights are made from.
        clock: Unix seconds.

    Raises:
        StoreError: the store or the weights can't be used.
    """

    def __init__(self, state: Path, *, kept: int, clock: Callable[[], float] = time.time) -> None:
        self._state = state
        self._kept = kept
        self._clock = clock
        self._seen = -1  # version of the store that nothing more was to be learned from
        self._lessons = TrainingStore(state / state_files.FEEDBACK)
        try:
            self._rebuild = WeightsRebuild(self._lessons, state, kept=kept)
        except BaseException:
            self._lessons.close()
            raise

    def step(self) -> bool:
        """Learn a little of what there is; return whether there is more.

        Raises:
            StoreError: the store can't be read, or the weights not be written.
        """
        version = self._lessons.data_version()
        if version == self._seen:
            return False
        if not self._rebuild.is_of(self._lessons.standing()):
            self._rebuild = WeightsRebuild(self._lessons, self._state, kept=self._kept)
        if not self._rebuild.step(AT_ONCE):
            return True
        made = self._rebuild.finished(self._rebuild.standing.epoch, self._clock())
        publish_weights(made, self._state / state_files.WEIGHTS)
        self._seen = version
        return False

    def taken(self) -> WeightsRebuild:
        """Return what it has come to, for a trainer that goes on from there, store and all."""
        return self._rebuild

    def close(self) -> None:
        """Let the store go."""
        self._lessons.close()
