"""Figures of quality against their definitions, counted the slow way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.policy.models.final.curves import caught, loss, quality, reliability, roc

MAIL = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40).filter(
    lambda mail: 0 < sum(spam for _, spam in mail) < len(mail)
)


def arrays(mail: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in mail], float), np.array([spam for _, spam in mail])


@given(MAIL)
def test_loss_is_the_share_of_pairs_in_the_wrong_order(mail: list[tuple[int, bool]]) -> None:
    scores, spam = arrays(mail)
    pairs = [(s, h) for s in scores[spam] for h in scores[~spam]]
    wrong = sum(1.0 if h > s else 0.5 if h == s else 0.0 for s, h in pairs)
    assert loss(scores, spam) == pytest.approx(100 * wrong / len(pairs))


@given(MAIL, st.sampled_from((0.0, 0.1, 0.5)))
def test_what_is_caught_loses_no_more_than_it_may(
    mail: list[tuple[int, bool]], lost: float
) -> None:
    scores, spam = arrays(mail)
    best = max(
        np.mean(scores[spam] > line)
        for line in (*scores, -1)
        if np.mean(scores[~spam] > line) <= lost
    )
    assert caught(scores, spam, lost) == pytest.approx(best)


@given(MAIL)
def test_the_curve_rises_from_its_first_line_to_everything(mail: list[tuple[int, bool]]) -> None:
    scores, spam = arrays(mail)
    x, y = roc(scores, spam)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    assert (x[-1], y[-1]) == (1.0, 1.0)
    area = np.trapezoid(np.append(0, y), np.append(0, x))
    assert 100 * (1 - area) == pytest.approx(loss(scores, spam), abs=1e-9)


def test_intervals_hold_what_was_found_and_are_the_same_each_time() -> None:
    draw = np.random.default_rng(1)
    spam = draw.random(500) < 0.4
    scores = draw.normal(size=500) + spam
    found = quality(scores, spam, seed=1)
    assert found == quality(scores, spam, seed=1)
    for one in found.catches:
        assert 0 <= one.low <= one.caught <= one.high <= 1
        assert one.low < one.high


def test_bins_hold_every_message_once() -> None:
    said = np.array([0.0, 0.005, 0.01, 0.5, 0.99, 1.0])
    found = reliability(said, said > 0.4)
    assert sum(one.messages for one in found) == 6
    assert found[0].messages == 2
    assert found[-1].happened == 1.0
