"""The state of a training run: the learner, its predictions, and the calibration fitted to them.

Pure but for the mapped file that may hold the weights: the same lessons in the same order give the
same weights and the same calibration, bit for bit, also if the run was interrupted and resumed from
its `state`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from oborona.errors import StoreError
from oborona.feedback.feature_layout import layout
from oborona.feedback.label import LabelKind, TrainingExample
from oborona.feedback.person_filter import with_person
from oborona.policy.models.content.calibration import Calibration, fit
from oborona.policy.models.content.features import ContentFeatures
from oborona.policy.models.content.learner import ContentExample, ContentLearner
from oborona.policy.models.content.weights import Weights

PREDICTIONS: Final = 4000  # the last ones, which the calibration follows from
REFIT_EVERY: Final = 10  # lessons; twice as rarely with each doubling of what is there, see `_due`


UNFITTED: Final = Calibration()


class UnfitExample(ValueError):  # noqa: N818 - reads as what happened
    """An example that can't be learned; the text says why."""


class _Example(msgspec.Struct, frozen=True, array_like=True):
    features: bytes
    spam: bool
    weight: float
    pull: float


class _State(msgspec.Struct, frozen=True, array_like=True):
    spam: int
    ham: int
    recent: list[_Example]
    predictions: list[tuple[float, bool]]
    calibration: Calibration
    persons: bytes


_STATE: Final = msgspec.msgpack.Decoder(_State)


class TrainingState:
    """A training run.

    Args:
        weights: writable; taught in place.
        state: of the course that taught them so far, as `state` gave it; empty = it begins here.
        calibration: to begin with.

    Raises:
        StoreError: the state is none.

    Attributes:
        spam: messages learned.
        ham: the same.
        calibration: of the weights as they are.
        persons: who taught something of their own, as `feedback.person_filter` keeps it.
    """

    def __init__(
        self, weights: Weights, state: bytes = b"", calibration: Calibration = UNFITTED
    ) -> None:
        self.spam = self.ham = 0
        self.calibration, self.persons = calibration, b""
        self.predictions: deque[tuple[float, bool]] = deque(maxlen=PREDICTIONS)
        recent: list[ContentExample] = []
        if state:
            try:
                trained = _STATE.decode(state)
                recent = [
                    ContentExample(
                        ContentFeatures.from_bytes(example.features),
                        example.spam,
                        example.weight,
                        example.pull,
                    )
                    for example in trained.recent
                ]
            except ValueError as error:
                raise StoreError(f"the state of a learner can't be read: {error}") from error
            self.spam, self.ham, self.calibration = trained.spam, trained.ham, trained.calibration
            self.persons = trained.persons
            self.predictions.extend(trained.predictions)
        self._learner = ContentLearner(weights, recent)

    def take(self, lesson: TrainingExample) -> float:
        """Learn one lesson; return what the weights said of its message before.

        Raises:
            Unfit: its features are none, or those of another program.
        """
        if lesson.layout != layout():
            raise UnfitExample("its features are those of another version of Oborona")
        try:
            features = ContentFeatures.from_bytes(lesson.features)
        except ValueError as error:
            raise UnfitExample(f"its features are damaged: {error}") from error
        spam = lesson.kind is LabelKind.SPAM
        margin = self._learner.learn(features, spam, lesson.weight, person=lesson.person)
        if lesson.person:
            self.persons = with_person(self.persons, lesson.person)
        self.spam += spam
        self.ham += not spam
        self.predictions.append((margin, spam))
        if self._due():
            self.calibration = fit(list(self.predictions))
        return margin

    def state(self) -> bytes:
        """Return what a course needs to go on from these weights."""
        recent = [
            _Example(example.features.to_bytes(), example.spam, example.weight, example.pull)
            for example in self._learner.recent
        ]
        return msgspec.msgpack.encode(
            _State(
                self.spam, self.ham, recent, list(self.predictions), self.calibration, self.persons
            )
        )

    def _due(self) -> bool:
        """Whether the calibration is fitted again: often while there is little, each time a
        twentieth is new later.
        """
        learned = self.spam + self.ham
        every = REFIT_EVERY
        while every * 20 < min(learned, PREDICTIONS):
            every *= 2
        return learned % every == 0
