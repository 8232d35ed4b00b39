"""How well scores tell spam from good mail: the ROC curve, the catch at few false positives with
its uncertainty, reliability.

Source: G. Cormack and T. Lynam, "TREC 2005 Spam Track Overview", for (1-ROCA)%; B. Efron,
"Bootstrap Methods", 1979, for the intervals.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from oborona.policy.models.final.summary import CatchRate, ModelQuality
from oborona.policy.models.reliability import ReliabilityBin
from oborona.policy.models.reliability import reliability as by_bins

LOST: Final = (0.001, 0.005, 0.01)  # shares of good mail at which the catch is told
SAMPLES: Final = 1000  # drawn again for an interval
_BORDERS: Final = (0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0)

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]


def loss(scores: Floats, spam: Labels) -> float:
    """Return (1-ROCA)%; equal scores are half a mistake."""
    hams, spams = np.sort(scores[~spam]), scores[spam]
    below = np.searchsorted(hams, spams, "left") + np.searchsorted(hams, spams, "right")
    return float(100 * (1 - below.sum(dtype=np.float64) / 2 / (hams.size * spams.size)))


def caught(scores: Floats, spam: Labels, lost: float) -> float:
    """Return the share of spam above the line that loses no more than a share of good mail."""
    hams = np.sort(scores[~spam])[::-1]
    line = hams[int(lost * hams.size)]  # spam is what lies above the first that must stay
    return float(np.mean(scores[spam] > line))


def quality(scores: Floats, spam: Labels, *, seed: int) -> ModelQuality:
    """Return how well scores tell, with intervals of 95 %.

    Args:
        scores: higher is spam.
        spam: what people say; of both kinds.
        seed: of the samples.
    """
    draws = np.random.default_rng(seed)
    hams, spams = scores[~spam], scores[spam]
    label = np.concatenate((np.zeros(hams.size, np.bool_), np.ones(spams.size, np.bool_)))
    resampled = np.empty((SAMPLES, len(LOST)))
    for row in resampled:
        sample = np.concatenate((draws.choice(hams, hams.size), draws.choice(spams, spams.size)))
        row[:] = [caught(sample, label, lost) for lost in LOST]
    low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
    catches = tuple(
        CatchRate(lost=lost, caught=caught(scores, spam, lost), low=float(least), high=float(most))
        for lost, least, most in zip(LOST, low, high, strict=True)
    )
    return ModelQuality(loss=loss(scores, spam), catches=catches)


def roc(scores: Floats, spam: Labels) -> tuple[Floats, Floats]:
    """Return the curve: share of good mail lost and share of spam caught, at each line that can be
    drawn.
    """
    order = np.argsort(-scores, kind="stable")
    # equal scores fall together
    ends = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    above = spam[order]
    return np.cumsum(~above)[ends] / (~spam).sum(), np.cumsum(above)[ends] / spam.sum()


def reliability(probabilities: Floats, spam: Labels) -> tuple[ReliabilityBin, ...]:
    """Return what was said beside what happened, in bins that are narrow where it matters.

    Empty ones are left out.
    """
    return by_bins(list(zip(probabilities.tolist(), spam.tolist(), strict=True)), _BORDERS)
