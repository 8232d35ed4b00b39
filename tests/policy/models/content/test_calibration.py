"""Calibration: rises with the margin, says what happens, and stands whatever it is fitted to."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.policy.models.content.calibration import Calibration, fit
from oborona.policy.models.reliability import reliability

PREDICTIONS = st.lists(
    st.tuples(st.floats(-1e6, 1e6, allow_nan=False, width=32), st.booleans()), max_size=60
)


@settings(max_examples=300, deadline=None)
@given(PREDICTIONS, st.floats(-5, 5), st.floats(-5, 5))
def test_any_predictions_give_a_probability_that_rises_with_the_margin(
    predictions: list[tuple[float, bool]], one: float, other: float
) -> None:
    made = fit(predictions)
    low, high = made.probability(min(one, other)), made.probability(max(one, other))
    assert 0 < low <= high < 1
    assert made.spam + made.ham == len(predictions)


def test_probabilities_are_what_happens() -> None:
    chance = random.Random(1)
    drawn = [(chance.gauss(0.8 if spam else -0.8, 0.7), spam) for spam in [True, False] * 4000]
    made = fit(drawn[:4000])
    for row in reliability([(made.probability(margin), spam) for margin, spam in drawn[4000:]]):
        assert row.predicted == pytest.approx(row.happened, abs=0.12)


def test_the_share_of_spam_among_what_was_taught_moves_nothing() -> None:
    chance = random.Random(2)
    even = [(chance.gauss(1 if spam else -1, 0.8), spam) for spam in [True, False] * 2000]
    mostly_spam = [one for number, one in enumerate(even) if one[1] or number % 20 == 1]
    assert fit(mostly_spam).probability(0.0) == pytest.approx(fit(even).probability(0.0), abs=0.08)


def test_one_class_is_no_calibration() -> None:
    assert fit([]) == Calibration()
    assert fit([(1.0, True)] * 3) == Calibration(spam=3)


def test_margins_that_tell_the_wrong_way_still_rise() -> None:
    assert fit([(1.0, False), (-1.0, True)] * 20).slope > 0


def test_a_calibration_survives_as_json() -> None:
    made = fit([(1.0, True), (0.2, True), (-1.0, False), (0.1, False)])
    assert msgspec.json.decode(msgspec.json.encode(made), type=Calibration) == made


def test_reliability_counts_each_prediction_once() -> None:
    table = reliability([(0.0, False), (0.05, True), (0.5, True), (1.0, True), (0.999, False)])
    assert [row.messages for row in table] == [2, 1, 2]
    assert [row.happened for row in table] == [0.5, 1.0, 0.5]
