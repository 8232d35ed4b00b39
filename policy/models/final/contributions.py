"""The contribution of each feature to the trees' result on one message: exact Shapley values.

    v(S) = a tree's value if the features in S are the message's, and at all other questions both
           ways are taken, each as often as messages of the training went it
    part of a feature = mean of v(S with it) - v(S) over all orders in which features can be told

The parts and the trees' mean add up to the result.  A tree asks for few features, so all sets are
tried, of all trees at once.
Source: S. Lundberg, G. Erion, S. Lee, "Consistent Individualized Feature Attribution for Tree
Ensembles", 2018.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import NDArray

from oborona.policy.models.final.features import Vector
from oborona.policy.models.final.trees import Trees

Floats = NDArray[np.float64]


def contributions(trees: Trees, vector: Vector) -> tuple[float, Floats]:
    """Return the mean of the trees over their training, and what each number of a message adds to
    it.

    Milliseconds to a tenth of a second: for people who ask why, not for the mail.
    """
    parts = np.zeros(vector.size)
    answers = vector[trees.places] > trees.borders
    # levels of one tree that ask for the same feature are one player
    first = np.array(
        [[row.index(place) for place in row] for row in trees.places.tolist()], np.intp
    ).reshape(answers.shape)
    splits = trees.borders < np.inf
    sizes = 1 << np.arange(trees.depth)
    sets = {  # by the levels that stand for their features
        chosen: _expected(trees, answers, (chosen & sizes)[first] > 0)
        for chosen in range(1 << trees.depth)
    }
    mean = sets[0].sum() * trees.scale + trees.bias
    stands = (first == np.arange(trees.depth)) & splits
    players = stands.sum(axis=1)
    for level in range(trees.depth):
        bit = 1 << level
        share = np.zeros(players.size)
        for chosen, before in sets.items():
            if chosen & bit:
                continue
            # sets of levels that stand for nothing are the same as without these: each set is
            # counted once
            proper = ~((((chosen & sizes) > 0) & ~stands).any(axis=1))
            weight = np.array([_order_share(chosen.bit_count(), int(number)) for number in players])
            share += np.where(
                proper & stands[:, level], weight * (sets[chosen | bit] - before), 0.0
            )
        np.add.at(parts, trees.places[:, level], share * trees.scale)
    return float(mean), parts


def _expected(trees: Trees, answers: NDArray[np.bool_], fixed: NDArray[np.bool_]) -> Floats:
    """Return what each tree says where the answers of some levels are known: fold leaves level by
    level.
    """
    values, weights = trees.values, trees.weights
    for level in range(trees.depth):
        low, high = values[:, 0::2], values[:, 1::2]
        low_weight, high_weight = weights[:, 0::2], weights[:, 1::2]
        weight = low_weight + high_weight
        mean = np.divide(
            low * low_weight + high * high_weight,
            weight,
            out=np.zeros_like(weight),
            where=weight > 0,
        )
        branch = np.where(answers[:, level, None], high, low)
        values, weights = np.where(fixed[:, level, None], branch, mean), weight
    folded: Floats = values[:, 0]
    return folded


def _order_share(size: int, players: int) -> float:
    """Return the share of all orders in which exactly a set of this size comes before one
    player.
    """
    if size >= players:
        return 0.0
    return factorial(size) * factorial(players - size - 1) / factorial(players)
