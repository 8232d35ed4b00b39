"""How good scores are, whatever line is drawn: the area above the ROC curve, and the spam missed
where few hams are lost. And how good the answers at a filter's own line are.

Source: G. Cormack and T. Lynam, "TREC 2005 Spam Track Overview": (1-ROCA)%, ties counting half;
LAM %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oborona.policy.models.final import curves


def loss(scores: Sequence[float], spam: Sequence[bool]) -> float:
    """Return (1-ROCA)%: how often a ham scores above a spam, of all pairs, in percent.

    Equal scores are half a mistake.

    Raises:
        ValueError: all are of one kind.
    """
    return curves.loss(*_both(scores, spam))


def missed(scores: Sequence[float], spam: Sequence[bool], lost: float) -> float:
    """Return which share of spam is missed, in percent, at the line that loses no more than a share
    of ham.

    Args:
        scores: higher is spam.
        spam: what people say.
        lost: share of ham that may score above the line, 0..1.

    Raises:
        ValueError: all are of one kind.
    """
    return 100.0 * (1.0 - curves.caught(*_both(scores, spam), lost))


def logistic_average(filed: Sequence[bool], spam: Sequence[bool]) -> float:
    """Return LAM %: the logistic average of the share of ham that is filed as spam and the share of
    spam that is not, in percent.

    Half a message is added to the mistakes of each kind, and one to its messages, so that a filter
    without a mistake has a figure.

    Args:
        filed: what the filter says, at its own line.
        spam: what people say.

    Raises:
        ValueError: all are of one kind.
    """
    kinds = list(zip(filed, spam, strict=True))
    logits = []
    for kind in (False, True):
        mistakes = [said is not truth for said, truth in kinds if truth is kind]
        if not mistakes:
            raise ValueError("an average of both kinds needs ham and spam")
        wrong = sum(mistakes) + 0.5
        logits.append(math.log(wrong / (len(mistakes) + 1 - wrong)))
    return 100.0 / (1.0 + math.exp(-sum(logits) / 2))


def _both(
    scores: Sequence[float], spam: Sequence[bool]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values, kinds = np.asarray(scores, np.float64), np.asarray(spam, np.bool_)
    if not kinds.any() or kinds.all():
        raise ValueError("a curve needs ham and spam")
    return values, kinds
