"""From log-odds to a probability."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

# log-odds beyond which a probability is as good as 0 or 1, and its logarithm still a number
HELD: Final = 30.0

Odds = TypeVar("Odds", float, NDArray[np.float64])


def probability(odds: Odds) -> Odds:
    """Return the probability of log-odds, or of each of many."""
    share: Odds = 1.0 / (1.0 + np.exp(-np.clip(odds, -HELD, HELD)))
    return share
