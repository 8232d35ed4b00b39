"""The final model in use: facts and hits in, its part of the score out."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Final

import msgspec

from oborona.policy.expression.schema import FactSchema
from oborona.policy.facts import Facts
from oborona.policy.models.final.contributions import contributions
from oborona.policy.models.final.features import NAME, FeatureReader, Vector
from oborona.policy.models.final.file import TrainedModel
from oborona.policy.models.final.law import part, score_of
from oborona.policy.rules import VerdictLines
from oborona.policy.tables import FinalTable
from oborona.types import RuleHit, RuleMode

MOST_ODDS: Final = 30.0  # log-odds; probabilities beyond are 0 and 1 to all figures that are shown


class FeaturePart(msgspec.Struct, frozen=True, kw_only=True):
    """What one feature added."""

    feature: str
    value: float  # of the message; not a number where it is none
    log_odds: float  # added to those of spam


class FinalExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """What the final model says of a message, taken apart.

    Mean and parts add up to its log-odds.
    """

    probability: float
    mean: float  # log-odds, before anything is known of the message
    parts: tuple[FeaturePart, ...]  # heaviest first; those that added nothing are left out


class Forest:
    """A `FinalModel` of a trained model.

    Args:
        trained: of a file.
        schema: the facts that are known.

    Raises:
        UnknownFeature: it sees what is not known here.
    """

    def __init__(self, trained: TrainedModel, schema: FactSchema) -> None:
        self.trained = trained
        self._reader = FeatureReader(trained.features, schema)

    def vector(self, facts: Facts, hits: Sequence[RuleHit]) -> Vector:
        """Return the numbers that it sees of a message."""
        return self._reader.read(facts, hits)

    def odds(self, facts: Facts, hits: Sequence[RuleHit]) -> float:
        """Return the log-odds that a message is spam."""
        return self._calibrated(self.trained.trees.raw(self.vector(facts, hits)))

    def _calibrated(self, raw: float) -> float:
        calibration = self.trained.calibration
        return max(-MOST_ODDS, min(calibration.slope * raw + calibration.offset, MOST_ODDS))

    def weigh(
        self, facts: Facts, hits: Sequence[RuleHit], table: FinalTable, lines: VerdictLines
    ) -> tuple[RuleHit, ...]:
        """Return its part of the score; see `FinalModel.weigh`."""
        odds = self.odds(facts, hits)
        rules = sum(hit.score for hit in hits if hit.mode is RuleMode.LIVE)
        return (
            RuleHit(
                name=NAME,
                score=part(score_of(odds, table, lines), hits, lines, table.overrules),
                say=f"p={probability(odds):.4f}; rules alone {round(rules, 2):g}",
                mode=table.mode,
            ),
        )

    def why(self, facts: Facts, hits: Sequence[RuleHit]) -> FinalExplanation:
        """Return what each feature added; takes up to a tenth of a second."""
        vector = self.vector(facts, hits)
        slope, offset = self.trained.calibration.slope, self.trained.calibration.offset
        mean, added = contributions(self.trained.trees, vector)
        parts = [
            FeaturePart(feature=name, value=float(value), log_odds=float(slope * more))
            for name, value, more in zip(self._reader.names, vector, added, strict=True)
            if more
        ]
        return FinalExplanation(
            probability=probability(self._calibrated(self.trained.trees.raw(vector))),
            mean=slope * mean + offset,
            parts=tuple(sorted(parts, key=lambda share: (-abs(share.log_odds), share.feature))),
        )


def probability(odds: float) -> float:
    """Return the probability of log-odds."""
    return 1.0 / (1.0 + exp(-odds))
