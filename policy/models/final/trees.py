"""Boosted oblivious trees, applied to one message: all trees at once, in a few steps of numpy.

An oblivious tree asks the same question at all nodes of a level, so that its leaf is a number whose
bits are the answers:

    leaf = sum over levels of 2^level where value[feature] > border
    raw  = scale * sum of leaf values + bias

Values and borders are 32-bit floats and the sum is in double precision, as in the library that
trained them; NaN is never above a border.  Source: L. Prokhorenkova et al., "CatBoost:
unbiased boosting with categorical features", NeurIPS 2018; its JSON export.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.policy.models.final.features import Vector

MAX_TREES: Final = 5000
MAX_DEPTH: Final = 10
MAX_FEATURES: Final = 5000


class Trees(msgspec.Struct, frozen=True, kw_only=True):
    """Trees of one depth, as arrays with one row for each."""

    places: NDArray[np.intp]  # [tree, level]: which number is asked for
    borders: NDArray[np.float32]  # [tree, level]; infinite on levels that a shallower tree has not
    values: NDArray[np.float64]  # [tree, leaf]
    weights: NDArray[np.float64]  # [tree, leaf]: how much of what it was trained on came there
    scale: float
    bias: float

    @property
    def depth(self) -> int:
        """Questions of each tree."""
        return int(self.places.shape[1])

    def leaves(self, vector: Vector) -> NDArray[np.intp]:
        """Return which leaf of each tree a message comes to."""
        answers = vector[self.places] > self.borders
        return answers @ _powers(self.depth)

    def raw(self, vector: Vector) -> float:
        """Return what the trees say of a message: above 0 is spam, before it is calibrated."""
        leaves = self.leaves(vector)
        return self.scale * float(self.values[np.arange(leaves.size), leaves].sum()) + self.bias


def _powers(depth: int) -> NDArray[np.intp]:
    return _POWERS[:depth]


_POWERS: Final[NDArray[np.intp]] = 1 << np.arange(MAX_DEPTH, dtype=np.intp)


def from_export(
    export: Mapping[str, Any], features: Sequence[str]
) -> tuple[Trees, tuple[str, ...]]:
    """Return the trees of CatBoost's JSON export, and the features that they ask for.

    Others are left out.

    Args:
        export: of a model over numbers alone, for which not a number is below all others
            (`nan_mode="Min"`).
        features: names of the numbers it was trained on.

    Raises:
        ValueError: it is another kind of model.
    """
    for feature in export["features_info"]["float_features"]:
        if feature["nan_value_treatment"] == "AsTrue":
            raise ValueError("not a number would be above all borders")
    trees = export["oblivious_trees"]
    used = sorted(
        {split["float_feature_index"] for tree in trees for split in tree["splits"] or ()}
    )
    place_of = {number: place for place, number in enumerate(used)}
    depth = max((len(tree["splits"] or ()) for tree in trees), default=0)
    places = np.zeros((len(trees), depth), np.intp)
    borders = np.full((len(trees), depth), np.inf, np.float32)
    values = np.zeros((len(trees), 1 << depth))
    weights = np.zeros((len(trees), 1 << depth))
    for row, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"] or ()):
            places[row, level] = place_of[split["float_feature_index"]]
            borders[row, level] = split["border"]
        values[row, : len(tree["leaf_values"])] = tree["leaf_values"]
        weights[row, : len(tree["leaf_weights"])] = tree["leaf_weights"]
    scale, (bias,) = export["scale_and_bias"]
    read_trees = Trees(
        places=places,
        borders=borders,
        values=values,
        weights=weights,
        scale=float(scale),
        bias=float(bias),
    )
    return read_trees, tuple(features[number] for number in used)
