"""From a probability to a score: exact at the lines, rising, bounded, and never over the site's own
decisions.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.merge import merge
from oborona.policy.models.final.features import SHIPPED
from oborona.policy.models.final.law import LEAST, added, log_odds, part, score_of
from oborona.policy.rules import VerdictLines
from oborona.toml import parse
from oborona.types import RuleHit, RuleMode

LINES = VerdictLines(spam_score=100, reject_score=200)
TABLE = FinalTable(spam=0.9, reject=0.999)
NEVER = FinalTable(spam=0.9)
ODDS = st.floats(-30, 30)
SCORES = st.lists(st.floats(-90, 90), max_size=5)


def test_the_thresholds_are_the_lines() -> None:
    assert score_of(log_odds(0.9), TABLE, LINES) == pytest.approx(100)
    assert score_of(log_odds(0.999), TABLE, LINES) == pytest.approx(200)
    assert score_of(log_odds(0.1), TABLE, LINES) == pytest.approx(0, abs=1e-9)
    assert score_of(0.0, TABLE, LINES) == pytest.approx(50)


def test_just_below_a_threshold_the_line_is_not_reached() -> None:
    assert round(score_of(log_odds(0.8999), TABLE, LINES), 2) < 100
    assert round(score_of(log_odds(0.99899), TABLE, LINES), 2) < 200


def test_without_a_line_of_refusal_no_probability_refuses() -> None:
    assert round(score_of(30.0, NEVER, LINES), 2) == 199.99
    assert score_of(30.0, NEVER, VerdictLines(spam_score=100, reject_score=100)) == 100


@given(ODDS, ODDS, st.sampled_from((TABLE, NEVER)))
def test_more_probable_is_never_less_and_all_is_bounded(
    one: float, other: float, table: FinalTable
) -> None:
    low, high = (score_of(odds, table, LINES) for odds in sorted((one, other)))
    assert -100 <= low <= high <= 300


@given(ODDS, SCORES)
def test_the_whole_comes_to_the_score_of_the_model_whatever_small_rules_say(
    odds: float, scores: list[float]
) -> None:
    hits = [RuleHit(name=f"R{number}", score=score) for number, score in enumerate(scores)]
    hits.append(RuleHit(name="QUIET", score=500, mode=RuleMode.SHADOW))
    score = score_of(odds, TABLE, LINES)
    assert math.isclose(sum(scores) + part(score, hits, LINES), score, abs_tol=1e-6)


@given(ODDS, SCORES, st.floats(100, 1000))
def test_a_rule_that_is_spam_alone_is_not_overruled(
    odds: float, scores: list[float], alone: float
) -> None:
    hits = [
        RuleHit(name=f"R{number}", score=score) for number, score in enumerate((*scores, alone))
    ]
    whole = sum(scores) + alone + part(score_of(odds, TABLE, LINES), hits, LINES)
    assert whole >= alone - 1e-6


@given(ODDS, st.floats(-1000, -100))
def test_nor_is_one_that_lets_pass_alone(odds: float, alone: float) -> None:
    hits = [RuleHit(name="PARTNER", score=alone)]
    assert alone + part(score_of(odds, TABLE, LINES), hits, LINES) <= alone + 1e-6


def test_what_the_content_model_alone_would_file_it_may_let_pass() -> None:
    hits = [RuleHit(name="CONTENT_SPAM", score=100)]
    assert TABLE.overrules == ("CONTENT_SPAM",)
    assert 100 + part(score_of(-2.0, TABLE, LINES), hits, LINES, TABLE.overrules) < 10
    also = [*hits, RuleHit(name="EXECUTABLE", score=100)]
    assert 200 + part(score_of(-2.0, TABLE, LINES), also, LINES, TABLE.overrules) == 100


def test_a_rule_to_be_overruled_that_there_is_not_is_refused_with_its_place() -> None:
    document = parse(b"[final]\noverrules = ['CONTENT_SPM']\n", "final.toml", PolicyError)
    with pytest.raises(
        PolicyError, match=r"'CONTENT_SPM'; there is no rule of that name"
    ) as refused:
        merge([document])
    assert (refused.value.file, refused.value.line) == ("final.toml", 2)


def test_crossed_thresholds_are_refused_with_their_place() -> None:
    document = parse(b"[final]\nspam = 0.95\nreject = 0.9\n", "final.toml", PolicyError)
    with pytest.raises(PolicyError, match=r"reject = 0\.9 is not above spam = 0\.95") as refused:
        merge([document])
    assert (refused.value.file, refused.value.line) == ("final.toml", 3)


@given(st.floats(-2000, 2000), st.floats(0, 1000), st.lists(st.floats(-300, 300), max_size=5))
def test_what_adds_to_the_rules_never_takes_exceeds_nor_refuses(
    points: float, most: float, scores: list[float]
) -> None:
    hits = [RuleHit(name=f"R{number}", score=score) for number, score in enumerate(scores)]
    hits.append(RuleHit(name="QUIET", score=500, mode=RuleMode.SHADOW))
    more = added(points, most, hits, LINES)
    assert 0 <= more <= most
    assert more == 0 or sum(scores) + more < LINES.reject_score
    if any(abs(score) >= LINES.spam_score for score in scores):
        assert more == 0  # the site has decided


def test_what_adds_to_the_rules_files_where_lines_are_one_and_refuses_no_further() -> None:
    one = VerdictLines(spam_score=100, reject_score=100)
    hits = [RuleHit(name="R", score=60)]
    assert added(500, 80, hits, one) == 40
    assert added(500, 80, hits, LINES) == 80


@pytest.mark.parametrize(
    ("found", "most", "more"),
    [
        (0, 50, 15),
        (-10, 50, 5),
        (-60, 50, 0),
        (20, 50, 35),
        (60, 50, 50),
        (5, 80, 35),
        (0, 100, 100),
    ],
)
def test_it_goes_little_beyond_what_all_else_found(found: float, most: float, more: float) -> None:
    assert added(500, most, [RuleHit(name="R", score=found)], LINES) == more


@given(st.floats(15, 2000), st.floats(15, 99), st.floats(1, 99.9))
def test_that_holds_back_no_message_that_its_cap_would_file(
    points: float, most: float, found: float
) -> None:
    assume(found + min(points, most) >= LINES.spam_score)
    more = added(points, most, [RuleHit(name="R", score=found)], LINES)
    assert found + more >= LINES.spam_score - 1e-6


def test_a_few_points_are_no_word() -> None:
    hits = [RuleHit(name="R", score=90)]
    assert added(LEAST - 0.1, 50, hits, LINES) == 0
    assert added(LEAST, 50, hits, LINES) == LEAST
    assert added(LEAST, 5, hits, LINES) == 5, "the cap is the site's"


def test_it_counts_among_the_rules_of_its_group() -> None:
    looks = RuleGroups(caps={"STYLE": 70.0}, members={"LOUD": "STYLE", SHIPPED: "STYLE"})
    hits = [RuleHit(name="LOUD", score=40), RuleHit(name="R", score=30)]
    assert added(500, 50, hits, LINES, (), looks) == 30
    assert added(500, 50, [RuleHit(name="LOUD", score=70)], LINES, (), looks) == 0
    quiet = RuleHit(name="LOUD", score=70, mode=RuleMode.SHADOW)
    assert added(500, 50, [quiet, *hits[1:]], LINES, (), looks) == 45
    assert added(500, 50, hits, LINES, (), RuleGroups()) == 50


def test_a_group_that_there_is_not_is_refused_with_its_place() -> None:
    document = parse(b"[final]\nshipped_group = 'STILE'\n", "final.toml", PolicyError)
    with pytest.raises(PolicyError, match="there is no such") as refused:
        merge([document])
    assert (refused.value.file, refused.value.line) == ("final.toml", 2)


def test_the_group_of_what_it_adds_is_the_sites_to_choose() -> None:
    style = b"[[group]]\nname = 'STYLE'\ncap = 70\n"
    assert merge([parse(style, "a.toml", PolicyError)]).groups.members == {SHIPPED: "STYLE"}
    free = parse(b"[final]\nshipped_group = ''\n", "b.toml", PolicyError)
    assert merge([parse(style, "a.toml", PolicyError), free]).groups.members == {}


def test_the_word_of_the_content_model_is_no_decision() -> None:
    hits = [RuleHit(name="CONTENT_SPAM", score=120)]
    assert added(30, 50, hits, LINES) == 0
    assert added(30, 50, hits, LINES, TABLE.overrules) == 30
