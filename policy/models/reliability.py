"""Reliability of probabilities: predicted shares beside observed ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

TENTHS: Final = tuple(number / 10 for number in range(11))


class ReliabilityBin(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a reliability table."""

    low: float  # probabilities from here
    high: float  # up to here
    messages: int
    predicted: float  # mean probability
    happened: float  # share of spam


def reliability(
    predictions: Sequence[tuple[float, bool]], borders: Sequence[float] = TENTHS
) -> tuple[ReliabilityBin, ...]:
    """Return what was predicted beside what happened, for each bin that has messages.

    Args:
        predictions: probability, and what people said.
        borders: of the bins, ascending from 0 to 1; a bin holds what lies on its lower border, the
            last one also 1.
    """
    probabilities = np.array([probability for probability, _ in predictions], np.float64)
    spam = np.array([label for _, label in predictions], np.bool_)
    table = []
    for low, high in pairwise(borders):
        inside = (probabilities >= low) & ((probabilities < high) | (high == 1.0))
        if inside.any():
            table.append(
                ReliabilityBin(
                    low=low,
                    high=high,
                    messages=int(inside.sum()),
                    predicted=float(probabilities[inside].mean()),
                    happened=float(spam[inside].mean()),
                )
            )
    return tuple(table)
