"""The trees of the model that comes with Oborona: how they are taught, and what they add.

Their log-odds begin with those that the score of the rules stands for, and a rule or finding may
move them only the way it speaks itself.  Each source has the weight of the root of its messages, so
that a large one does not decide alone; generated mail has a quarter of it.  Four models that differ
in what is left to chance are made one, by the mean of what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.clean_facts import SourcedTable
from oborona.feedback.final.train import boosted_trees, from_catboost
from oborona.policy.models.final.curves import Floats
from oborona.policy.models.final.trees import Trees

ADDED: Final = 150  # trees of each model
SEEDS: Final = (1, 2, 3, 4)
EVEN: Final = 70.0  # score that is held to be as likely spam as not
POINTS: Final = 25.0  # of a score, to one of log-odds
GENERATED: Final = "generated"  # source of good mail that was made from templates
GENERATED_WEIGHT: Final = 0.25


class AddingTrees(NamedTuple):
    """Trees that add to the rules, and what they ask for."""

    trees: Trees
    features: tuple[str, ...]
    importance: tuple[tuple[str, float], ...]  # heaviest first, shares of 1


def rule_odds(scores: Floats) -> Floats:
    """Return the log-odds that scores of the rules stand for."""
    return (scores - EVEN) / POINTS


def teaching_weights(sources: NDArray[Any], spam: NDArray[np.bool_]) -> Floats:
    """Return the weight of each message in teaching; spam and ham have the same together.

    Args:
        sources: of each message.
        spam: whether it is.
    """
    weights = np.zeros(len(sources))
    for source in np.unique(sources):
        for kind in (True, False):
            group = (sources == source) & (spam == kind)
            if group.any():
                share = GENERATED_WEIGHT if source == GENERATED else 1.0
                weights[group] = share / np.sqrt(group.sum())
    for kind in (True, False):
        if (spam == kind).any():
            weights[spam == kind] *= len(spam) / 2 / weights[spam == kind].sum()
    return weights


def taught_trees(table: SourcedTable, part: NDArray[np.bool_]) -> AddingTrees:
    """Return trees that were taught with a part of a table.

    Args:
        table: messages of several sources.
        part: the rows that are taught.
    """
    weights = np.zeros(len(part))
    weights[part] = teaching_weights(table.source[part], table.table.spam[part])
    libraries = [
        boosted_trees(
            table.table,
            part,
            trees=ADDED,
            over=rule_odds(table.table.scores),
            directions=table.directions,
            weights=weights,
            seed=seed,
        )
        for seed in SEEDS
    ]
    trees, features = mean_of(
        [from_catboost(library, table.table.features) for library in libraries]
    )
    shares = np.mean([library.get_feature_importance() for library in libraries], axis=0) / 100
    importance = sorted(
        (
            (name, float(share))
            for name, share in zip(table.table.features, shares, strict=True)
            if share > 0
        ),
        key=lambda pair: (-pair[1], pair[0]),
    )
    return AddingTrees(trees, features, tuple(importance))


def mean_of(models: Sequence[tuple[Trees, tuple[str, ...]]]) -> tuple[Trees, tuple[str, ...]]:
    """Return one model that says the mean of what several say, and the features of all."""
    features = tuple(sorted({name for _, names in models for name in names}))
    place_of = {name: place for place, name in enumerate(features)}
    depth = max(trees.depth for trees, _ in models)
    places, borders, values, weights = [], [], [], []
    for trees, names in models:
        lacks = depth - trees.depth
        moved = np.array([place_of[name] for name in names], np.intp)[trees.places]
        places.append(np.pad(moved, ((0, 0), (0, lacks))))
        borders.append(np.pad(trees.borders, ((0, 0), (0, lacks)), constant_values=np.inf))
        leaves = ((0, 0), (0, (1 << depth) - (1 << trees.depth)))
        values.append(np.pad(trees.scale * trees.values / len(models), leaves))
        weights.append(np.pad(trees.weights, leaves))
    return (
        Trees(
            places=np.concatenate(places),
            borders=np.concatenate(borders),
            values=np.concatenate(values),
            weights=np.concatenate(weights),
            scale=1.0,
            bias=float(np.mean([trees.bias for trees, _ in models])),
        ),
        features,
    )


def log_odds_of(model: AddingTrees, table: SourcedTable, part: NDArray[np.bool_]) -> Floats:
    """Return what trees add to the log-odds of each row of a part."""
    columns = [table.table.features.index(name) for name in model.features]
    return np.array([model.trees.raw(row) for row in table.table.numbers[part][:, columns]])
