"""Explanation: its parts sum to the margin, and name what decided."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.models.content.explanation import SHOWN_OCTETS, explain
from oborona.policy.models.content.features import features
from oborona.policy.models.content.learner import ContentLearner
from oborona.policy.models.content.weights import Weights

HEAD = (
    "From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: Hello\r\nMessage-ID: "
    "<%d@a.example>\r\n\r\n"
)
PLAIN = "the minutes of the meeting are below, please read them before Monday and tell me"


def message(text: str, number: int = 1) -> bytes:
    return (HEAD % number + text).encode()


@pytest.fixture(scope="module")
def weights() -> Weights:
    learner = ContentLearner(Weights.new())
    for number in range(20):
        learner.learn(features(parse(message(f"{PLAIN} {number}", number))), spam=False)
        learner.learn(
            features(parse(message(f"{PLAIN} casino jackpot {number}", number + 50))), spam=True
        )
    learner.learn(
        features(parse(message(f"{PLAIN} casino"))), spam=False, weight=0.0, person="ann@b.example"
    )
    return learner.weights


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.binary(max_size=500), st.just(message(f"{PLAIN} casino"))),
    st.sampled_from(["", "ann@b.example"]),
)
def test_the_parts_of_any_message_sum_to_its_margin(
    weights: Weights, raw: bytes, person: str
) -> None:
    parsed = parse(raw)
    told = explain(parsed, weights, person)
    assert told.margin == pytest.approx(weights.margin(features(parsed), person), abs=1e-4)
    assert sum(part.part for part in told.parts) + told.rest == pytest.approx(told.margin, abs=1e-9)
    assert sum(told.views.values()) == pytest.approx(told.margin, abs=1e-9)
    assert all(len(part.what.encode()) <= 4 * SHOWN_OCTETS for part in told.parts)


def test_what_decided_is_named_in_readable_runs(weights: Weights) -> None:
    told = explain(parse(message(f"{PLAIN} casino jackpot today")), weights)
    towards_spam = [part.what for part in told.parts if part.part > 0 and part.view == "text"]
    assert any("casino jackpot" in what for what in towards_spam)


def test_only_as_many_parts_are_told_apart_as_are_asked_for(weights: Weights) -> None:
    assert len(explain(parse(message(PLAIN)), weights, shown=3).parts) == 3
