"""Trains the final model, in time order: an example is never scored by a model that was trained on
it or on later ones.

    |------ trained ------|- stops it -|---- judged ----|     five times, the first part longer
    |---------------------- trained ---------------------|    the model itself, with the median of
                                                              the best numbers of trees

Spam and ham have the same total weight.  A fold's probabilities are calibrated on the part that
stopped its training, those of the model itself on all judged parts.  The same examples give the
same model, with the same version of the library.

Known limit: the model itself learns from more examples than the folds that calibrate it, so it is
rather better than its probabilities say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median_low
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oborona import __version__
from oborona.errors import OboronaError
from oborona.extras import how_to_get
from oborona.policy.models import odds
from oborona.policy.models.content.calibration import Calibration, fit
from oborona.policy.models.final.curves import Floats, Labels, quality
from oborona.policy.models.final.examples import ExampleTable, FinalExample, example_table
from oborona.policy.models.final.file import TrainedModel
from oborona.policy.models.final.summary import TrainingSummary
from oborona.policy.models.final.trees import Trees, from_export

FOLDS: Final = 5
STOPPING: Final = 0.2  # of what a fold may train on: the last part of it says when to stop
FEWEST: Final = 20  # messages of each kind, to train on, to be stopped by, to judge
MOST_TREES: Final = 400
PATIENCE: Final = 40  # trees that make nothing better, before a training stops
DEPTH: Final = 5
RATE: Final = 0.06
SEED: Final = 1
THREADS: Final = 2  # a number of their own: sums in another order would be other sums
MISSING: Final = (
    f"the final model is trained by CatBoost, which is not installed: {how_to_get('ml')}"
)

Progress = Callable[[str, int, int], None]
"""Called with what is done, how far, and of how much."""


class NotTrainable(OboronaError):  # noqa: N818 - reads as what happened
    """There is nothing to train with or from; the text says what is missing."""


class HeldOutResult(NamedTuple):
    """The scores of models that were trained on earlier mail."""

    places: NDArray[np.intp]  # of the examples
    spam: Labels
    scores: Floats  # of the rules alone
    probabilities: Floats
    folds: tuple[str, ...]  # each in one line
    parts: NDArray[np.intp]  # which fold judged it, from 1 on


class TrainingResult(NamedTuple):
    """A trained model, and its measured quality."""

    model: TrainedModel
    judged: HeldOutResult
    added: tuple[
        tuple[str, float], ...
    ]  # what each feature adds to the log-odds, mean of sizes over all examples, heaviest first


def missing_packages() -> str:
    """Return what training takes and is not installed, in words for an admin; empty = nothing."""
    return "" if find_spec("catboost") else MISSING


def train(
    examples: Sequence[FinalExample],
    names: Sequence[str],
    *,
    policy: str,
    now: float,
    meaning: NDArray[np.float32] | None = None,
    directions: Mapping[str, int] = MappingProxyType({}),
    over: Floats | None = None,
    progress: Progress = lambda _what, _done, _of: None,
) -> TrainingResult:
    """Return a model of examples, and how well models like it judge what they were not trained on.

    Args:
        examples: in the order in which they came.
        names: of their numbers.
        policy: version of the policy that they were judged by.
        now: Unix seconds.
        meaning: the linear model on meaning that they were judged with.
        directions: by feature, 1 where it may only speak for spam, -1 for good mail alone.
        over: log-odds of each example, to which the trees add: what they say is then told as it is,
            and a model without trees says nothing new. None = the trees stand alone.
        progress: told after each fold.

    Raises:
        NotTrainable: the library is missing, or the examples are too few, or of one kind.
    """
    if lacks := missing_packages():
        raise NotTrainable(lacks)
    table = example_table(examples, names)
    if min(table.spam.sum(), (~table.spam).sum()) < 4 * FEWEST:
        raise NotTrainable(
            f"{int(table.spam.sum())} spam and {int((~table.spam).sum())} good messages: "
            f"{4 * FEWEST} of each are the least"
        )
    edges = np.linspace(0, len(examples), FOLDS + 2).astype(int)
    columns = {
        place: directions[name] for place, name in enumerate(table.features) if name in directions
    }
    predictions: list[tuple[slice, Floats, Floats]] = []
    numbers: list[NDArray[np.intp]] = []
    trees: list[int] = []
    folds: list[str] = []
    for fold in range(1, FOLDS + 1):
        progress("folds", fold - 1, FOLDS + 1)
        tail = edges[fold] - int(edges[fold] * STOPPING)
        parts = (slice(0, tail), slice(tail, edges[fold]), slice(edges[fold], edges[fold + 1]))
        few = [_both(table.spam[part]) < FEWEST for part in parts[:2]]
        if any(few):
            folds.append(f"fold {fold}: left out, too little of one kind before it")
            continue
        library = boosted_trees(table, parts[0], stopped_by=parts[1], over=over, directions=columns)
        trees.append(max(1, library.tree_count_))
        calibration = (
            _calibrated(_raw(library, table, parts[1]), table.spam[parts[1]])
            if over is None
            else Calibration()
        )
        raw = _raw(library, table, parts[2], over)
        predictions.append(
            (parts[2], raw, odds.probability(calibration.slope * raw + calibration.offset))
        )
        numbers.append(np.full(raw.size, fold, np.intp))
        spam = int(table.spam[parts[2]].sum())
        folds.append(
            f"fold {fold}: trained on {tail}, stopped by {edges[fold] - tail} at "
            f"{trees[-1]} trees, judged {raw.size} ({spam} spam)"
        )
    progress("folds", FOLDS, FOLDS + 1)
    if (
        not predictions
        or _both(np.concatenate([table.spam[part] for part, _, _ in predictions])) < FEWEST
    ):
        raise NotTrainable(
            "in time order there is no part with both kinds of mail before it and in it: "
            "shuffle, or take more"
        )
    judged = HeldOutResult(
        places=np.concatenate([np.arange(len(examples))[part] for part, _, _ in predictions]),
        spam=np.concatenate([table.spam[part] for part, _, _ in predictions]),
        scores=np.concatenate([table.scores[part] for part, _, _ in predictions]),
        probabilities=np.concatenate([probabilities for _, _, probabilities in predictions]),
        folds=tuple(folds),
        parts=np.concatenate(numbers),
    )
    whole = boosted_trees(
        table, slice(None), trees=median_low(trees), over=over, directions=columns
    )
    forest, features = from_catboost(whole, table.features)
    progress("folds", FOLDS + 1, FOLDS + 1)
    calibration = (
        _calibrated(np.concatenate([raw for _, raw, _ in predictions]), judged.spam)
        if over is None
        else Calibration()
    )
    model = TrainedModel(
        features=features,
        trees=forest,
        calibration=calibration,
        policy=policy,
        trained_at=now,
        summary=_summary(examples, table, judged, whole),
        meaning=meaning,
    )
    return TrainingResult(model, judged, _added(whole, table, calibration))


def _added(
    library: Any, table: ExampleTable, calibration: Calibration
) -> tuple[tuple[str, float], ...]:
    from catboost import Pool  # noqa: PLC0415

    parts = library.get_feature_importance(Pool(table.numbers), type="ShapValues")[:, :-1]
    sizes = np.abs(parts).mean(axis=0) * calibration.slope
    importances = [
        (name, float(size)) for name, size in zip(table.features, sizes, strict=True) if size > 0
    ]
    return tuple(sorted(importances, key=lambda pair: (-pair[1], pair[0])))


def _summary(
    examples: Sequence[FinalExample], table: ExampleTable, judged: HeldOutResult, library: Any
) -> TrainingSummary:
    times = [example.time for example in examples if example.time > 0]
    weights = library.get_feature_importance()
    importance = sorted(
        (
            (name, float(weight) / 100)
            for name, weight in zip(table.features, weights, strict=True)
            if weight > 0
        ),
        key=lambda pair: (-pair[1], pair[0]),
    )
    return TrainingSummary(
        spam=int(table.spam.sum()),
        ham=int((~table.spam).sum()),
        first=min(times, default=0.0),
        last=max(times, default=0.0),
        judged=judged.spam.size,
        score=quality(judged.scores, judged.spam, seed=SEED),
        final=quality(judged.probabilities, judged.spam, seed=SEED),
        importance=tuple(importance),
        software=f"oborona {__version__}, catboost {version('catboost')}",
    )


def boosted_trees(
    table: ExampleTable,
    part: slice | NDArray[np.bool_],
    *,
    stopped_by: slice | None = None,
    trees: int = MOST_TREES,
    over: Floats | None = None,
    directions: Mapping[int, int] | None = None,
    weights: Floats | None = None,
    seed: int = SEED,
) -> Any:
    """Return CatBoost's own model of a part of a table.

    Args:
        table: examples.
        part: the rows that are trained on.
        stopped_by: the rows that say when to stop; None = all trees are made.
        trees: the most that are made.
        over: log-odds of each row, to which the trees add; None = 0.
        directions: 1 for columns that may only speak for spam, -1 for good mail alone.
        weights: of each row; None = those of the table, made so that spam and ham weigh the same
            together.
        seed: of what is left to chance.
    """
    from catboost import CatBoostClassifier, Pool  # noqa: PLC0415 - the extra `ml`, 90 MB

    library = CatBoostClassifier(
        iterations=trees,
        depth=DEPTH,
        learning_rate=RATE,
        l2_leaf_reg=5.0,
        auto_class_weights="Balanced" if weights is None else None,
        bootstrap_type="Bernoulli",
        subsample=0.8,
        boosting_type="Plain",
        nan_mode="Min",
        has_time=True,
        random_seed=seed,
        thread_count=THREADS,
        allow_writing_files=False,
        verbose=False,
        monotone_constraints=dict(directions or {}) or None,
        **({} if over is None else {"model_shrink_rate": 0.0}),
    )
    stop: dict[str, Any] = {}
    if stopped_by is not None:
        stop = {
            "eval_set": Pool(
                table.numbers[stopped_by],
                table.spam[stopped_by].astype(int),
                weight=table.weights[stopped_by],
                baseline=None if over is None else over[stopped_by],
            ),
            "early_stopping_rounds": PATIENCE,
        }
    pool = Pool(
        table.numbers[part],
        table.spam[part].astype(int),
        baseline=None if over is None else over[part],
        weight=(table.weights if weights is None else weights)[part],
    )
    library.fit(pool, **stop)
    return library


def _raw(library: Any, table: ExampleTable, part: slice, over: Floats | None = None) -> Floats:
    said = np.asarray(
        library.predict(table.numbers[part], prediction_type="RawFormulaVal"), np.float64
    )
    return said if over is None else said + over[part]


def from_catboost(library: Any, features: Sequence[str]) -> tuple[Trees, tuple[str, ...]]:
    """Return CatBoost's model as ours, and the features that it asks for."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        library.save_model(str(path), format="json")
        return from_export(json.loads(path.read_bytes()), features)


def _calibrated(raw: Floats, spam: Labels) -> Calibration:
    return fit(list(zip(raw.tolist(), spam.tolist(), strict=True)))


def _both(spam: Labels) -> int:
    """Return how many there are of the rarer kind."""
    return int(min(spam.sum(), (~spam).sum()))
