"""A group's live scores keep to its cap, both ways, and what was cut says so."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.groups import RuleGroups, cap_hits, uncapped_hit
from oborona.policy.load import load_policy
from oborona.types import RuleHit, RuleMode

GROUPS = RuleGroups(
    caps={"MASS": 100.0, "NONE": 0.0}, members=dict.fromkeys("ABCD", "MASS") | {"Z": "NONE"}
)


def hit(name: str, score: float, mode: RuleMode = RuleMode.LIVE, say: str = "") -> RuleHit:
    return RuleHit(name=name, score=score, mode=mode, say=say)


def test_the_lightest_give_way() -> None:
    hits = [hit("A", 60, say="seen 9"), hit("B", 50), hit("C", 20), hit("OTHER", 70)]
    assert [(one.name, one.score, one.say) for one in cap_hits(hits, GROUPS)] == [
        ("A", 60, "seen 9"),
        ("B", 40, "40 of 50, cap 100 of MASS"),
        ("C", 0, "0 of 20, cap 100 of MASS"),
        ("OTHER", 70, ""),
    ]


def test_of_equals_the_same_gives_way_in_whatever_order_they_come() -> None:
    """What is taken as it was then stands behind the rules that are judged again."""
    hits = [hit("C", 52), hit("A", 52), hit("B", 52)]
    for order in (hits, hits[::-1]):
        kept = {one.name: one.score for one in cap_hits(order, GROUPS)}
        assert kept == {"A": 0, "B": 48, "C": 52}


def test_what_speaks_for_a_message_is_capped_too() -> None:
    kept = cap_hits([hit("A", -80, say="known"), hit("B", -70), hit("C", 10)], GROUPS)
    assert [one.score for one in kept] == [-80, -30, 10]
    assert kept[1].say == "-30 of -70, cap 100 of MASS"


def test_below_the_cap_nothing_changes() -> None:
    hits = [hit("A", 60), hit("B", 40), hit("C", -50)]
    assert cap_hits(hits, GROUPS) == hits
    assert cap_hits(hits, RuleGroups()) == hits
    assert cap_hits([], GROUPS) == []


def test_what_is_on_trial_counts_for_nothing_and_is_not_cut() -> None:
    hits = [hit("A", 90), hit("B", 90, RuleMode.SHADOW)]
    assert cap_hits(hits, GROUPS) == hits


SCORES = st.lists(
    st.builds(
        hit,
        st.sampled_from([*"ABCDZ", "OTHER"]),
        st.floats(min_value=-1000, max_value=1000),
        st.sampled_from(RuleMode),
    ),
    max_size=12,
)


@given(SCORES)
def test_no_group_weighs_more_than_its_cap(hits: list[RuleHit]) -> None:
    kept = cap_hits(hits, GROUPS)
    assert [(one.name, one.mode) for one in kept] == [(one.name, one.mode) for one in hits]
    for group, cap in GROUPS.caps.items():
        live = [
            one
            for one in kept
            if GROUPS.members.get(one.name) == group and one.mode is RuleMode.LIVE
        ]
        before = sum(
            one.score
            for one in hits
            if GROUPS.members.get(one.name) == group and one.mode is RuleMode.LIVE
        )
        after = sum(one.score for one in live)
        assert abs(after) <= cap + 1e-3
        if abs(before) <= cap:
            assert after == before
    for was, now in zip(hits, kept, strict=True):
        assert abs(now.score) <= abs(was.score)
        assert now.score * was.score >= 0


RULES = """
[[rule]]
name = "A"
when = "true"
score = 60
say = "one"
group = "{group}"

[[group]]
name = "MASS"
cap = 100
"""


def test_a_policy_names_groups(tmp_path: Path) -> None:
    (tmp_path / "10.toml").write_text(RULES.format(group="MASS"))
    assert load_policy(tmp_path, SCHEMA).groups == RuleGroups(
        caps={"MASS": 100.0}, members={"A": "MASS"}
    )
    (tmp_path / "20.toml").write_text('[[group]]\nname = "MASS"\ncap = 50\n')
    assert load_policy(tmp_path, SCHEMA).groups.caps == {"MASS": 50.0}
    (tmp_path / "20.toml").write_text('[[group]]\nname = "MASS"\nenabled = false\n')
    assert load_policy(tmp_path, SCHEMA).groups == RuleGroups()


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        (
            RULES.format(group="MAS"),
            'group = "MAS": there is no such [[group]]; did you mean MASS?',
            7,
        ),
        (RULES.format(group="MASS").replace("cap = 100\n", ""), "group MASS: cap is missing", 10),
        (RULES.format(group="MASS").replace("100", "-1"), "cap = -1: not allowed", 11),
    ],
)
def test_a_group_that_cannot_be_is_refused(
    tmp_path: Path, text: str, words: str, line: int
) -> None:
    (tmp_path / "10.toml").write_text(text)
    with pytest.raises(PolicyError) as refused:
        load_policy(tmp_path, SCHEMA)
    assert words in refused.value.problem
    assert refused.value.line == line


@given(
    st.integers(-1000, 1000),
    st.integers(-1000, 1000),
    st.sampled_from(["", "12 of 40: words", "3 of 5"]),
)
def test_what_a_cap_has_cut_is_told_by_its_words(heavy: int, light: int, say: str) -> None:
    hits = [hit("A", heavy, say=say), hit("B", light / 8, say=say), hit("Z", 7, say=say)]
    assert [uncapped_hit(one) for one in cap_hits(hits, GROUPS)] == hits
