"""The content model as a filter of the quality benchmark: the product's own parser, features,
learner and calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.labelled import Labelled
from benchmarks.streams import Step
from oborona.message.parse import parse
from oborona.policy.models.content.calibration import Calibration, fit
from oborona.policy.models.content.features import ContentFeatures, features
from oborona.policy.models.content.learner import ContentLearner
from oborona.policy.models.content.weights import Weights

REFIT: Final = 50  # messages learned between two fits of the calibration


def read(mail: Sequence[Labelled]) -> list[bytes]:
    """Return the features of messages, as they are kept."""
    return [features(parse(message.raw)).to_bytes() for message in mail]


class Taught:
    """One that has learned nothing when a stream begins.

    Attributes:
        probabilities: of the last stream, for each step: by the calibration as it was then; empty
            before both classes were learned.
    """

    def __init__(self, mail: Sequence[bytes]) -> None:
        self._mail = mail
        self.probabilities: list[float | None] = []

    def scores(self, steps: Sequence[Step]) -> list[float]:
        """Return the margin of each step's message."""
        learner = ContentLearner(Weights.new())
        calibration: Calibration | None = None
        predictions: list[tuple[float, bool]] = []
        scores = []
        self.probabilities = []
        for step in steps:
            scores.append(learner.weights.margin(self._features(step.message)))
            self.probabilities.append(calibration.probability(scores[-1]) if calibration else None)
            for number, spam in step.taught:
                predictions.append((learner.learn(self._features(number), spam), spam))
                if len(predictions) % REFIT == 0 and len({label for _, label in predictions}) == 2:
                    calibration = fit(predictions)
        return scores

    def _features(self, number: int) -> ContentFeatures:
        return ContentFeatures.from_bytes(self._mail[number])
