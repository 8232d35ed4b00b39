"""From a margin to a probability: Platt's sigmoid over predictions that were made before their
message was learned.

A sigmoid has two numbers, so some hundred predictions are enough for it; it rises everywhere, so it
never changes which of two messages is more likely spam. Spam and ham weigh alike in the fit (prior
1:1), whatever share of what people report is spam: what they report is not what arrives. Source: J.
Platt, "Probabilistic Outputs for Support Vector Machines", 1999, with the targets of its section
2.2, and H. Lin et al., "A Note on Platt's Probabilistic Outputs for SVMs", 2007, for the Newton
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.policy.models import odds

STEPS: Final = 100  # of Newton's method; ten do
_EXACT: Final = 1e-10  # gradient at which it ends
_RIDGE: Final = 1e-6  # keeps the step finite where all margins are equal
_FLATTEST: Final = 1e-3  # slope: a model that knows nothing still rises


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Of one state of the weights; JSON by msgspec."""

    slope: float = 1.0  # above 0
    offset: float = 0.0
    spam: int = 0  # predictions that it stands on
    ham: int = 0

    def probability(self, margin: float) -> float:
        """Return the probability of spam, 0..1, rising with the margin."""
        return float(odds.probability(self.slope * margin + self.offset))


def fit(predictions: Sequence[tuple[float, bool]]) -> Calibration:
    """Return the calibration of predictions; the default where they are of one class only.

    Args:
        predictions: margin before learning, and what people said.
    """
    margins = np.array([margin for margin, _ in predictions], np.float64)
    spam = np.array([label for _, label in predictions], np.bool_)
    spams = int(spam.sum())
    hams = spam.size - spams
    if not spams or not hams:
        return Calibration(spam=spams, ham=hams)
    targets = np.where(spam, (spams + 1) / (spams + 2), 1 / (hams + 2))
    shares = np.where(spam, 0.5 / spams, 0.5 / hams)
    slope, offset = _newton(margins, targets, shares)
    if slope < _FLATTEST:
        slope, offset = _FLATTEST, 0.0
    return Calibration(slope=slope, offset=offset, spam=spams, ham=hams)


def _newton(
    margins: NDArray[np.float64], targets: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the slope and offset of least log loss."""
    slope, offset = 0.0, 0.0
    loss = _loss(margins, targets, shares, slope, offset)
    for _ in range(STEPS):
        probability = odds.probability(slope * margins + offset)
        wrong = shares * (probability - targets)
        gradient = np.array([wrong @ margins, wrong.sum()])
        if np.abs(gradient).max() < _EXACT:
            break
        curve = shares * probability * (1.0 - probability)
        mixed = curve @ margins
        hessian = np.array(
            [[curve @ (margins * margins) + _RIDGE, mixed], [mixed, curve.sum() + _RIDGE]]
        )
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while length > _EXACT:
            tried = _loss(
                margins, targets, shares, slope - length * step[0], offset - length * step[1]
            )
            if tried < loss:
                break
            length /= 2
        else:
            break
        slope, offset, loss = (
            float(slope - length * step[0]),
            float(offset - length * step[1]),
            tried,
        )
    return slope, offset


def _loss(
    margins: NDArray[np.float64],
    targets: NDArray[np.float64],
    shares: NDArray[np.float64],
    slope: float,
    offset: float,
) -> float:
    clipped = np.clip(slope * margins + offset, -odds.HELD, odds.HELD)
    return float(shares @ (np.logaddexp(0.0, clipped) - targets * clipped))
