"""Our own application of the trees gives what the library that trained them gives, and so do the
parts that explain it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catboost import CatBoostClassifier, Pool

from oborona.policy.models.final.contributions import contributions
from oborona.policy.models.final.trees import Trees, from_export
from tests.policy.models.final.made import trees

WIDTH = 12


def numbers(rows: int, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    made = draw.normal(size=(rows, WIDTH)).astype(np.float32)
    made[:, 3] = made[:, 3] > 0
    made[:, 4] = np.round(made[:, 4] * 3)
    made[draw.random(made.shape) < 0.1] = np.nan
    return made


def library(depth: int, rounds: int = 60, **options: Any) -> CatBoostClassifier:
    table = numbers(600, 1)
    label = np.nan_to_num(table[:, 0]) + np.nan_to_num(table[:, 1] * table[:, 4]) > np.nan_to_num(
        table[:, 3]
    )
    made = CatBoostClassifier(
        iterations=rounds,
        depth=depth,
        random_seed=1,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        **options,
    )
    made.fit(table, label.astype(int))
    return made


def ours(made: CatBoostClassifier, folder: Path) -> tuple[Trees, list[int]]:
    made.save_model(str(folder / "model.json"), format="json")
    export = json.loads((folder / "model.json").read_text())
    found, names = from_export(export, [str(place) for place in range(WIDTH)])
    return found, [int(name) for name in names]


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_it_says_what_the_library_says_of_whatever_numbers(depth: int, tmp_path: Path) -> None:
    made = library(depth)
    forest, used = ours(made, tmp_path)
    table = np.vstack(
        (
            numbers(300, 2),
            numbers(3, 3) * 1e30,
            np.full((1, WIDTH), np.nan),
            np.full((1, WIDTH), np.inf),
        )
    )
    table = np.vstack((table, -table[-1:], np.zeros((1, WIDTH)))).astype(np.float32)
    wanted = made.predict(table, prediction_type="RawFormulaVal")
    assert np.abs(np.array([forest.raw(row[used]) for row in table]) - wanted).max() < 1e-12


def test_it_says_the_same_right_on_every_border(tmp_path: Path) -> None:
    made = library(4)
    forest, used = ours(made, tmp_path)
    for border, place in {
        (float(b), int(p)) for b, p in zip(forest.borders.flat, forest.places.flat, strict=True)
    }:
        for value in (border, np.nextafter(np.float32(border), np.float32(np.inf))):
            row = np.zeros(WIDTH, np.float32)
            row[used[place]] = value
            wanted = made.predict(row[None], prediction_type="RawFormulaVal")[0]
            assert abs(forest.raw(row[used]) - wanted) < 1e-12


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_parts_are_the_librarys_own_shapley_values(depth: int, tmp_path: Path) -> None:
    made = library(depth)
    forest, used = ours(made, tmp_path)
    table = numbers(20, 4)
    wanted = made.get_feature_importance(Pool(table), type="ShapValues")
    for row, want in zip(table, wanted, strict=True):
        mean, parts = contributions(forest, row[used])
        assert abs(mean - want[-1]) < 1e-9
        assert np.abs(parts - want[:-1][used]).max() < 1e-9
        assert abs(mean + parts.sum() - forest.raw(row[used])) < 1e-9


def test_a_tree_that_asks_twice_for_one_feature_has_one_part_for_it() -> None:
    forest = trees([[0, 0]], [[1.0, 2.0]], [[0.0, 4.0, 0.0, 8.0]])
    mean, parts = contributions(forest, np.array([3.0], np.float32))
    assert mean == 3.0
    assert list(parts) == [5.0]


def test_levels_that_a_shallow_tree_has_not_change_nothing(tmp_path: Path) -> None:
    made = library(6, rounds=30, min_data_in_leaf=200, grow_policy="SymmetricTree")
    forest, used = ours(made, tmp_path)
    for row in numbers(50, 5):
        wanted = made.predict(row[None], prediction_type="RawFormulaVal")[0]
        assert abs(forest.raw(row[used]) - wanted) < 1e-12


def test_a_model_that_takes_not_a_number_for_the_largest_is_refused(tmp_path: Path) -> None:
    made = library(2, nan_mode="Max")
    with pytest.raises(ValueError, match="not a number"):
        ours(made, tmp_path)
