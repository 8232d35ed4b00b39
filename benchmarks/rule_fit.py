"""Scores fitted to what rules hit: L2-regularised logistic regression, each rule held to its sign,
scaled to the spam line.

A rule of a positive score never gets a negative one, whatever the sample says, and the other way
round: what a rule means is known, and a sample that says otherwise is a sample.  Source: Hastie,
Tibshirani, Friedman, "The Elements of Statistical Learning", 2009, sections 4.4 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

LINE: Final = 100.0  # of spam
# share of the good mail that may be lost where the line is put, of what is fitted
LOST: Final = 0.001
STEPS: Final = 3000  # of the descent: scores, which are whole numbers, change no more
RIDGE: Final = 1.0  # of a weight's square, beside the sum of all messages' losses: a prior of one

Numbers = NDArray[np.float64]


def fitted(hits: Numbers, spam: NDArray[np.bool_], signs: Sequence[float]) -> Numbers:
    """Return a score for each rule, rounded to whole numbers.

    Args:
        hits: messages by rules, 1 where a rule fired.
        spam: what each message is.
        signs: of the rules' scores.
    """
    target = np.where(spam, 1.0, -1.0)
    # both classes weigh the same, whatever their share in the sample
    weight = np.where(spam, 0.5 / max(1, spam.sum()), 0.5 / max(1, (~spam).sum())) * len(spam)

    # accelerated projected gradient: FISTA, Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009
    columns = np.hstack([hits, np.ones((len(hits), 1))])
    ridge = np.append(np.full(len(signs), RIDGE), 0.0)
    low = np.append(np.where(np.array(signs) > 0, 0.0, -np.inf), -np.inf)
    high = np.append(np.where(np.array(signs) > 0, np.inf, 0.0), np.inf)
    step = 1.0 / (0.25 * float(weight.max()) * float(np.linalg.norm(columns, 2)) ** 2 + RIDGE)
    values = ahead = np.zeros(columns.shape[1])
    pace = 1.0
    for _ in range(STEPS):
        margin = np.clip(target * (columns @ ahead), -500, 500)
        slope = columns.T @ (-target * weight / (1.0 + np.exp(margin))) + ridge * ahead
        new = np.clip(ahead - step * slope, low, high)
        faster = (1.0 + np.sqrt(1.0 + 4.0 * pace * pace)) / 2.0
        ahead = new + (pace - 1.0) / faster * (new - values)
        values, pace = new, float(faster)
    sums = np.sort((hits @ values[:-1])[~spam])[::-1]
    line = float(sums[int(LOST * len(sums))]) + 1e-6 if len(sums) else 1.0
    scaled: Numbers = np.round(values[:-1] * LINE / max(line, 1e-6))
    return scaled


def interval(hits: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22,
        1927.
    """
    if not of:
        return 0.0, 1.0
    z = 1.96
    middle = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * float(np.sqrt(hits * (of - hits) / of + z * z / 4))
    return max(0.0, middle - half), min(1.0, middle + half)
