"""Tests of accounts in policy files: read, checked, changed by later files."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy.account_tests import ACCOUNT_SCHEMA, AccountFacts, AccountTests
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.types import RuleMode

TABLE = """
[[account_test]]
name = "ELSEWHERE"
when = "registration.country == 'XX' and account.age_hours != none"
penalty = 25
say = "from {registration.country}, {account.age_hours:.0f} hours old"
lasts_days = 2
"""


def policy(folder: Path, text: str = TABLE) -> Policy:
    (folder / "10.toml").write_text(f"# what is ours\n{text}\n")
    return load_policy(folder, SCHEMA)


def loaded(folder: Path, text: str = TABLE) -> AccountTests:
    return policy(folder, text).account_tests


def test_every_fact_of_the_schema_is_one_of_an_account() -> None:
    assert {fact.attribute for fact in ACCOUNT_SCHEMA.facts} == set(AccountFacts.__struct_fields__)


def test_a_test_takes_its_penalty_and_says_why(tmp_path: Path) -> None:
    facts = AccountFacts(registration_country="XX", account_age_hours=3.2)
    (penalty,), failed = loaded(tmp_path).penalties(facts)
    assert (penalty.test, penalty.points, penalty.say) == ("ELSEWHERE", 25, "from XX, 3 hours old")
    assert (penalty.lasts_s, penalty.mode) == (2 * 86_400.0, RuleMode.LIVE)
    assert failed == []
    assert loaded(tmp_path).penalties(AccountFacts(registration_country="XX")) == ([], [])


def test_a_later_file_changes_what_it_gives(tmp_path: Path) -> None:
    first = policy(tmp_path)
    (tmp_path / "90.toml").write_text(
        '[[account_test]]\nname = "ELSEWHERE"\npenalty = 5\nmode = "shadow"\n'
    )
    changed = load_policy(tmp_path, SCHEMA)
    facts = AccountFacts(registration_country="XX", account_age_hours=0.0)
    ((penalty,), _) = changed.account_tests.penalties(facts)
    assert (penalty.points, penalty.mode) == (5, RuleMode.SHADOW)
    assert changed.version != first.version
    assert changed.origins["account_test.ELSEWHERE.penalty"].endswith("90.toml:3")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TABLE.replace("registration.country ==", "registration.land =="), "unknown fact"),
        (TABLE.replace("registration.country ==", "text.words =="), "unknown fact"),
        (TABLE.replace("penalty = 25", "penalty = 101"), "penalty"),
        (TABLE.replace("penalty = 25", "penalty = -1"), "penalty"),
        (TABLE.replace("penalty = 25", "score = 25"), "score"),
        (TABLE.replace("penalty = 25", ""), "penalty"),
        (TABLE.replace("lasts_days = 2", "lasts_days = 1e9"), "lasts_days"),
        (TABLE + TABLE, "already defined"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(PolicyError, match=problem) as caught:
        loaded(tmp_path, text)
    assert caught.value.line
