"""The final model in use: facts and hits in, its part of the score out."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Final

import msgspec

from oborona.policy.expression.schema import FactSchema
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalMode, FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.models.final.choice import ShippedStanding
from oborona.policy.models.final.contributions import contributions
from oborona.policy.models.final.features import MODELS, NAME, SHIPPED, FeatureReader, Vector
from oborona.policy.models.final.file import TrainedModel
from oborona.policy.models.final.law import added, part, score_of
from oborona.policy.rules import VerdictLines
from oborona.types import RuleHit, RuleMode

STANDS: Final = "score that stands without it"
HELD: Final = "held back"
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

    def odds(self, facts: Facts, hits: Sequence[RuleHit], beside: float = 0.0) -> float:
        """Return the log-odds that a message is spam.

        `beside` are the points that the model that comes with Oborona adds to the hits.
        """
        raw = self.trained.trees.raw(self.vector(facts, hits))
        if not self.trained.over:
            return self._calibrated(raw)
        return self._calibrated(held_back(raw, self.trained.held) + self._of_score(hits, beside))

    def _of_score(self, hits: Sequence[RuleHit], beside: float) -> float:
        """Return the log-odds of the score that stands without the model, where it adds to them."""
        return self.trained.over * (_live(hits) + beside) if self.trained.over else 0.0

    def _calibrated(self, raw: float) -> float:
        calibration = self.trained.calibration
        return max(-MOST_ODDS, min(calibration.slope * raw + calibration.offset, MOST_ODDS))

    def weigh(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        *,
        better: bool = False,
        beside: float = 0.0,
    ) -> tuple[RuleHit, ...]:
        """Return its part of the score, as the site's own model; see `FinalModel.weigh`.

        `better` tells whether it was found better than what stands without it, `beside` what the
        model that comes with Oborona adds to the hits, were this one not there.
        """
        odds = self.odds(facts, hits, beside)
        rules = _live(hits)
        return (
            RuleHit(
                name=NAME,
                score=part(score_of(odds, table, lines), hits, lines, table.overrules),
                say=f"p={probability(odds):.4f}; rules alone {round(rules, 2):g}",
                mode=RuleMode.LIVE if decides(table, better=better) else RuleMode.SHADOW,
            ),
        )

    def add(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        standing: ShippedStanding,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        """Return what it adds to the score, as the model that comes with Oborona.

        Nothing where it has nothing to add.
        """
        odds = self.odds(facts, hits)
        most = most_added(table, standing)
        full = self.trained.points * odds
        more = added(
            full,
            # in shadow it tells what it would add
            most or table.shipped_points or FinalTable().shipped_points,
            hits,
            lines,
            table.overrules,
            groups,
        )
        points = round(more, 2)
        if points <= 0:
            return ()
        held = "" if points == round(full, 2) else f": {points:g} of {full:.2f} points"
        return (
            RuleHit(
                name=SHIPPED,
                score=points,
                say=f"adds log-odds {odds:.2f} to those of the rules{held}",
                mode=RuleMode.LIVE if most else RuleMode.SHADOW,
            ),
        )

    def why(self, facts: Facts, hits: Sequence[RuleHit], beside: float = 0.0) -> FinalExplanation:
        """Return what each feature added; takes up to a tenth of a second.

        Of a model that adds to what stands without it, that is the part `score that stands`.
        """
        stands = self._of_score(hits, beside)
        vector = self.vector(facts, hits)
        slope, offset = self.trained.calibration.slope, self.trained.calibration.offset
        mean, added = contributions(self.trained.trees, vector)
        raw = self.trained.trees.raw(vector)
        parts = [
            FeaturePart(feature=name, value=float(value), log_odds=float(slope * more))
            for name, value, more in zip(self._reader.names, vector, added, strict=True)
            if more
        ]
        less = raw - held_back(raw, self.trained.held)
        if less:
            parts.append(FeaturePart(feature=HELD, value=-less, log_odds=-slope * less))
        if stands:
            value = stands / self.trained.over
            parts.append(FeaturePart(feature=STANDS, value=value, log_odds=slope * stands))
        return FinalExplanation(
            probability=probability(self._calibrated(held_back(raw, self.trained.held) + stands)),
            mean=slope * mean + offset,
            parts=tuple(sorted(parts, key=lambda share: (-abs(share.log_odds), share.feature))),
        )


def held_back(added: float, held: float) -> float:
    """Return the log-odds that a model adds to a score's, with less of what speaks for spam."""
    return added if added <= 0 else max(0.0, added - held)


def _live(hits: Sequence[RuleHit]) -> float:
    """Return the score of the live hits, without what models add."""
    return sum(hit.score for hit in hits if hit.mode is RuleMode.LIVE and hit.name not in MODELS)


def decides(table: FinalTable, *, better: bool) -> bool:
    """Tell whether the site's own model is live; `better`: it was found to be."""
    return table.mode is FinalMode.LIVE or (table.mode is FinalMode.AUTO and better)


def most_added(table: FinalTable, standing: ShippedStanding) -> float:
    """Return the most that the model that comes with Oborona may add; 0: it is in shadow.

    Where a site gives it no points, it gets none when it is confirmed.
    """
    if standing is ShippedStanding.REFUTED or not table.shipped_points:
        return 0.0
    confirmed = standing is ShippedStanding.CONFIRMED
    return table.shipped_points_confirmed if confirmed else table.shipped_points


def probability(odds: float) -> float:
    """Return the probability of log-odds."""
    return 1.0 / (1.0 + exp(-odds))
