"""Learning from people's word, one message at a time: the relaxed online support vector machine.

A message is learned where the margin is not yet large enough: then the last examples are gone
through once, newest first, and each is given as much pull as brings its margin to 1, between none
and `MOST`. `MOST` is what keeps wrong words from doing harm: a hundred times larger, it learns
every wrong label by heart (docs/adr/0018).

A person's own word also moves the personal weights, until the message is clear for that person:
with what is left of the margin, by the passive-aggressive step. Sources: D. Sculley and G. Wachman,
"Relaxed Online SVMs for Spam Filtering", SIGIR 2007; K. Crammer et al., "Online Passive-Aggressive
Algorithms", JMLR 2006.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from oborona.policy.models.content.features import ContentFeatures
from oborona.policy.models.content.weights import FeatureVector, Weights, personal_slots

LOOK_BACK: Final = 300  # examples
# of them; older ones are looked at only while they have pull: one that was clear mostly stays so
NEWEST: Final = 50
CLEAR: Final = 0.8  # margin from which on nothing is learned of an example
FULL: Final = 1.0  # margin that learning brings an example to
MOST: Final = 2.0  # pull of one example, of a word fully believed
_LEAST_STEP: Final = 1e-3


class ContentExample(NamedTuple):
    """A message with its label."""

    features: ContentFeatures
    spam: bool
    weight: float = 1.0  # how far this word is believed, 0..1
    pull: float = 0.0  # that it has on the weights now; the learner's
    person: str = ""  # whose word it is; empty = the site's


class ContentLearner:
    """Teaches weights; the same examples in the same order give the same weights, bit for bit.

    Args:
        weights: writable; taught in place.
        recent: of the learner that taught these weights; `LOOK_BACK` examples, oldest first.
    """

    def __init__(self, weights: Weights, recent: Iterable[ContentExample] = ()) -> None:
        self.weights = weights
        self.recent: deque[ContentExample] = deque(recent, LOOK_BACK)

    def learn(
        self, features: ContentFeatures, spam: bool, weight: float = 1.0, *, person: str = ""
    ) -> float:
        """Learn one message.

        Args:
            features: of it.
            spam: what people say.
            weight: how far this word is believed, 0..1.
            person: whose word it is; empty = the site's.

        Returns:
            The margin before it was learned, without the personal part: for the calibration.
        """
        weights = self.weights
        before, middle = weights.product(weights.vector(features)), weights.middle()
        weights.counts[int(spam)][features.slots] += np.float32(weight)
        weights.totals[int(spam)] += np.float32(weight)
        weights.totals[2 + int(spam)] += np.float32(weight * before)
        self.recent.append(ContentExample(features, spam, weight, person=person))
        sign = 1 if spam else -1
        if sign * weights.product(weights.vector(features)) < CLEAR:
            self._relearn()
        if person:
            self._correct(weights.vector(features), sign, person)
        return before - middle

    def _relearn(self) -> None:
        weights = self.weights
        newest = len(self.recent) - NEWEST
        for place in range(len(self.recent) - 1, -1, -1):
            example = self.recent[place]
            if place < newest and not example.pull:
                continue
            vector = weights.vector(example.features)
            sign = 1 if example.spam else -1
            margin = sign * weights.product(vector)
            if margin >= CLEAR and not example.pull:
                continue
            length = float(vector.values @ vector.values)
            if not length:
                continue
            pull = min(max(example.pull + (FULL - margin) / length, 0.0), MOST * example.weight)
            if abs(pull - example.pull) > _LEAST_STEP:
                weights.pull[vector.slots] += (
                    np.float32((pull - example.pull) * sign) * vector.values
                )
                self.recent[place] = example._replace(pull=pull)

    def _correct(self, vector: FeatureVector, sign: int, person: str) -> None:
        weights = self.weights
        margin = sign * (
            weights.product(vector) - weights.middle() + weights.personal_part(vector, person)
        )
        length = float(vector.values @ vector.values)
        if margin < CLEAR and length:
            step = np.float32(sign * min((FULL - margin) / length, MOST))
            np.add.at(weights.personal, personal_slots(vector.slots, person), step * vector.values)

    @classmethod
    def rebuilt(cls, examples: Iterable[ContentExample]) -> ContentLearner:
        """Return a learner that was taught some examples in order, and nothing else."""
        learner = cls(Weights.new())
        for example in examples:
            learner.learn(example.features, example.spam, example.weight, person=example.person)
        return learner
