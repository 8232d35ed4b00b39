"""Scores to verdicts: the lines, who decided, shadow rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.policy.decision import decide, unfinished_verdict
from oborona.policy.groups import RuleGroups, cap_hits
from oborona.types import Action, Finding, RuleHit, RuleMode, ShadowVerdict, Verdict


def hit(name: str, score: float, mode: RuleMode = RuleMode.LIVE) -> RuleHit:
    return RuleHit(name=name, score=score, mode=mode)


def verdict(*hits: RuleHit) -> Verdict:
    return decide(hits, (), spam_score=100, reject_score=200)


@pytest.mark.parametrize(
    ("scores", "action", "line"),
    [
        ([], Action.ACCEPT, 100),
        ([99.99], Action.ACCEPT, 100),
        ([99.996], Action.SPAM, 100),  # shown as 100.00, so it is 100.00
        ([100], Action.SPAM, 100),
        ([60, 39.9], Action.ACCEPT, 100),
        ([60, 40], Action.SPAM, 100),
        ([199.99], Action.SPAM, 100),
        ([150, 50], Action.REJECT, 200),
        ([300, -150], Action.SPAM, 100),
        ([0.1] * 10 + [99], Action.SPAM, 100),  # ten tenths are one
    ],
)
def test_each_line_is_reached_exactly(scores: list[float], action: Action, line: float) -> None:
    result = verdict(*(hit(f"R{number}", score) for number, score in enumerate(scores)))
    assert (result.action, result.line) == (action, line)


def test_the_heaviest_rule_decides() -> None:
    assert verdict(hit("SMALL", 10), hit("B", 60), hit("C", 45)).decided_by == "B"
    assert verdict(hit("A", 10), hit("B", 120)).decided_by == "B"
    assert verdict(hit("GOOD", -150), hit("B", 200), hit("C", 50)).decided_by == "B"
    assert verdict(hit("Z", 60), hit("A", 60)).decided_by == "A", "of equal ones the first by name"
    assert verdict(hit("TRIAL", 500, RuleMode.SHADOW), hit("A", 120)).decided_by == "A"
    assert verdict(hit("A", 10)).decided_by == "below-threshold"


def test_what_the_cap_of_its_group_left_of_a_rule_is_what_it_weighs() -> None:
    grouped = RuleGroups(caps={"G": 70}, members={"WORDS": "G", "MANY_WORDS": "G"})
    hits = cap_hits([hit("WORDS", 65), hit("MANY_WORDS", 75), hit("LINK", 72)], grouped)
    assert verdict(*hits).decided_by == "LINK"


def test_a_shadow_rule_is_listed_last_and_scores_nothing() -> None:
    result = verdict(hit("BIG", 500, RuleMode.SHADOW), hit("SMALL", 5))
    assert result.action is Action.ACCEPT
    assert result.score == 5
    assert [one.name for one in result.rules] == ["SMALL", "BIG"]


def test_an_unfinished_scan_says_so() -> None:
    result = unfinished_verdict("deadline", on_failure=Action.TEMPFAIL, spam_score=100)
    assert result.action is Action.TEMPFAIL
    assert result.decided_by == "partial"
    assert Finding("partial", "deadline") in result.findings


@given(st.lists(st.floats(-1000, 1000, allow_nan=False), max_size=30), st.randoms())
def test_order_of_rules_changes_nothing_and_every_verdict_names_who_decided(
    scores: list[float], random: object
) -> None:
    hits = [hit(f"R{number}", score) for number, score in enumerate(scores)]
    shuffled = list(hits)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = verdict(*hits), verdict(*shuffled)
    assert first == second
    assert (first.action is Action.ACCEPT) == (first.decided_by == "below-threshold")


NO_GROUPS = RuleGroups()


def would(
    *hits: RuleHit,
    spam: float | None = None,
    reject: float | None = None,
    groups: RuleGroups = NO_GROUPS,
) -> ShadowVerdict | None:
    return decide(
        hits,
        (),
        spam_score=100,
        reject_score=200,
        shadow_spam_score=spam,
        shadow_reject_score=reject,
        groups=groups,
    ).would


TRIAL = hit("TRIAL", 60, RuleMode.SHADOW)


def test_what_shadow_rules_would_have_made_of_it_is_told_where_that_is_another_verdict() -> None:
    assert would(hit("A", 50), TRIAL) == ShadowVerdict(
        action=Action.SPAM, score=110, line=100, decided_by="TRIAL"
    )
    assert would(hit("A", 150), TRIAL) == ShadowVerdict(
        action=Action.REJECT, score=210, line=200, decided_by="A"
    )
    assert would(hit("A", 110), hit("GOOD", -50, RuleMode.SHADOW)) == ShadowVerdict(
        action=Action.ACCEPT, score=60, line=100, decided_by="below-threshold"
    )
    assert would(hit("A", 30), TRIAL) is None
    assert would(hit("A", 300), TRIAL) is None


def test_lines_on_trial_decide_nothing_and_are_told() -> None:
    assert would(hit("A", 70), spam=60) == ShadowVerdict(
        action=Action.SPAM, score=70, line=60, decided_by="A"
    )
    assert would(hit("A", 120), spam=150, reject=300) == ShadowVerdict(
        action=Action.ACCEPT, score=120, line=150, decided_by="below-threshold"
    )
    assert would(hit("A", 150), reject=140) == ShadowVerdict(
        action=Action.REJECT, score=150, line=140, decided_by="A"
    )
    assert would(hit("A", 70), spam=80) is None
    assert would(hit("A", 10), TRIAL, spam=60) == ShadowVerdict(
        action=Action.SPAM, score=70, line=60, decided_by="TRIAL"
    )


def test_caps_of_groups_hold_for_shadow_rules_too() -> None:
    grouped = RuleGroups(caps={"G": 90}, members={"A": "G", "TRIAL": "G"})
    assert would(hit("A", 80), TRIAL, groups=grouped) is None
    assert would(hit("A", 80), hit("B", 15), TRIAL, groups=grouped) == ShadowVerdict(
        action=Action.SPAM, score=105, line=100, decided_by="A"
    )


@given(st.lists(st.tuples(st.floats(-300, 300), st.sampled_from(RuleMode)), max_size=8))
def test_without_anything_in_shadow_mode_there_is_no_other_verdict(
    parts: list[tuple[float, RuleMode]],
) -> None:
    hits = [hit(f"R{number}", score, mode) for number, (score, mode) in enumerate(parts)]
    told = would(*hits)
    live = verdict(*(hit(one.name, one.score) for one in hits))
    if all(mode is RuleMode.LIVE for _, mode in parts):
        assert told is None
    elif told is None:
        assert live.action is verdict(*hits).action
    else:
        assert (told.action, told.score, told.line, told.decided_by) == (
            live.action,
            live.score,
            live.line,
            live.decided_by,
        )
