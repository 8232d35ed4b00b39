"""Rebuilds the weights, some lessons at a time: at the start of the trainer, and after labels were
withdrawn.

from a snapshot   that holds only labels in force, if all later examples are still kept: the exact
                  training run without the withdrawn labels
from scratch      the base, if there is one, and the kept examples, in the order of
                  `feedback.training_order`
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.feedback.label import LabelKind
from oborona.feedback.training_order import training_order
from oborona.feedback.training_state import TrainingState, UnfitExample
from oborona.feedback.training_store import TrainingProgress, TrainingStore, WeightsSnapshot
from oborona.feedback.weights_file import (
    UnpackedSnapshot,
    WeightsFile,
    WeightsHeader,
    create_weights,
)

log = logging.getLogger("oborona.trainer")


class WeightsRebuild:
    """Weights that are being rebuilt in a file of their own.

    Args:
        lessons: people's word.
        state: the state folder.
        kept: examples of a class that are learned from scratch.

    Raises:
        StoreError: the store can't be read, or the new file not be made.

    Attributes:
        lessons: the same.
        file: the new weights.
        course: that teaches them.
        exact: the edit that they follow.
        margins: what they said of each word before it was learned.
        position: the last word they hold.
    """

    def __init__(self, lessons: TrainingStore, state: Path, *, kept: int) -> None:
        self.lessons = lessons
        self.standing = lessons.standing()
        self.exact = self.standing.edits
        self.margins: list[tuple[int, float]] = []
        start = (
            _point_of_departure(lessons, state)
            if self.standing.scratch <= self.standing.exact
            else None
        )
        if start is not None:
            snapshot, file = start
            self.position = snapshot.position
            self._todo = lessons.learned_after(self.position)
            self.same = snapshot.epoch == self.standing.epoch and self.exact == self.standing.exact
            header, weights, more = file.header, file.weights, file.more
        else:
            self.position = lessons.last_learned()
            self._todo = training_order(
                lessons.kept(LabelKind.SPAM, kept), lessons.kept(LabelKind.HAM, kept)
            )
            self.same = (
                not self._todo and not self.standing.epoch and self.exact == self.standing.exact
            )
            header, weights, more = _base(state)
        self.file: WeightsFile = create_weights(state / state_files.WEIGHTS_FRESH, header, weights)
        self.course = TrainingState(self.file.weights, more, header.calibration)
        self._done = 0

    @property
    def share(self) -> float:
        """How far it has come, 0..1."""
        return self._done / len(self._todo) if self._todo else 1.0

    def step(self, most: int) -> bool:
        """Learn some more lessons; return whether it has caught up with all that was learned.

        Raises:
            StoreError: the store can't be read.
        """
        some = self._todo[self._done : self._done + most]
        for lesson in self.lessons.lessons(some):
            try:
                self.margins.append((lesson.id, self.course.take(lesson)))
            except UnfitExample as error:
                log.warning("label %d is not learned again: %s", lesson.id, error)
        self._done += len(some)
        self.position = max([self.position, *some])
        if self._done == len(self._todo):
            self._todo += self.lessons.learned_after(self.position)  # meanwhile
        return self._done == len(self._todo)

    def is_of(self, standing: TrainingProgress) -> bool:
        """Whether it follows the weights that a training has come to."""
        return (standing.exact, standing.epoch) == (self.standing.exact, self.standing.epoch)

    def finished(self, epoch: int, now: float) -> WeightsFile:
        """Return the new weights with their header, to be published.

        Args:
            epoch: how often weights were made anew, this time included.
            now: Unix seconds.
        """
        self.file.write(
            header_of(self.file.header, self.course, epoch=epoch, position=self.position, now=now)
        )
        return self.file


def header_of(
    before: WeightsHeader, course: TrainingState, *, epoch: int, position: int, now: float
) -> WeightsHeader:
    """Return the header of weights as a course has taught them."""
    return msgspec.structs.replace(
        before,
        epoch=epoch,
        position=position,
        time=now,
        spam=course.spam,
        ham=course.ham,
        calibration=course.calibration,
        persons=course.persons,
    )


def _point_of_departure(
    lessons: TrainingStore, state: Path
) -> tuple[WeightsSnapshot, UnpackedSnapshot] | None:
    for snapshot in lessons.resumable_snapshots():
        path = snapshots.path_of(state, snapshot.id)
        try:
            file = snapshots.read(path)
            header = file.header
            found = (header.position, header.epoch, header.spam, header.ham)
            if found == (snapshot.position, snapshot.epoch, snapshot.spam, snapshot.ham):
                return snapshot, file
            log.warning("snapshot %d is passed over: another one has its name here", snapshot.id)
        except StoreError as error:
            log.warning("snapshot %d is passed over: %s", snapshot.id, error)
    return None


def _base(state: Path) -> tuple[WeightsHeader, bytes, bytes]:
    path = state / state_files.WEIGHTS_BASE
    if not path.exists():
        return WeightsHeader(), b"", b""
    try:
        base = snapshots.read(path)
    except StoreError as error:
        log.error("the base is not used: %s", error)  # noqa: TRY400 - the error says where; no fault of ours
        return WeightsHeader(), b"", b""
    begun = WeightsHeader(
        base=base.header.base or base.header.version,
        base_spam=base.header.spam + base.header.base_spam,
        base_ham=base.header.ham + base.header.base_ham,
        calibration=base.header.calibration,
    )
    return begun, base.weights, b""
