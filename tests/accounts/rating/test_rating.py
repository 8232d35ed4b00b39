"""Ratings: what is taken from them, for how long, and the facts that tests name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.account import AccountRecord, Registration
from oborona.accounts.rating.facts import is_disposable, phone_country
from oborona.accounts.rating.rating import rate
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import (
    facts_of,
    penalties,
    rate_account,
    rating_changes,
    rating_of,
)
from oborona.policy.account_tests import AccountPenalty, AccountTests
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.types import RuleMode

NOW = 1_795_000_000.0
DAY_S = 86_400.0


def found(points: int, *, lasts_s: float = 0.0, mode: RuleMode = RuleMode.LIVE) -> AccountPenalty:
    return AccountPenalty(test="T", points=points, say="why", mode=mode, lasts_s=lasts_s)


def test_a_rating_is_what_is_left_of_a_hundred_and_never_below_zero() -> None:
    assert rate((), (), NOW).value == 100
    assert rate((found(30),), (), NOW).value == 70
    several = [
        AccountPenalty(test=f"T{number}", points=60, say="", mode=RuleMode.LIVE, lasts_s=0)
        for number in range(3)
    ]
    assert rate(several, (), NOW).value == 0
    assert rate((found(30, mode=RuleMode.SHADOW),), (), NOW).value == 100


def test_a_penalty_that_lasts_is_over_so_long_after_it_was_last_found() -> None:
    first = rate((found(40, lasts_s=DAY_S),), (), NOW)
    again = rate((found(40, lasts_s=DAY_S),), first.penalties, NOW + 60)
    assert (again.penalties[0].at, again.penalties[0].until) == (NOW, NOW + 60 + DAY_S)
    assert rate((), again.penalties, NOW + 60 + DAY_S - 1).value == 60
    assert rate((), again.penalties, NOW + 60 + DAY_S).value == 100
    assert rate((), rate((found(40),), (), NOW).penalties, NOW).value == 100


@given(st.lists(st.integers(0, 100), max_size=20))
def test_a_rating_is_between_0_and_100(points: list[int]) -> None:
    all_found = [
        AccountPenalty(test=f"T{number}", points=of, say="", mode=RuleMode.LIVE, lasts_s=0)
        for number, of in enumerate(points)
    ]
    assert rate(all_found, (), NOW).value == max(0, 100 - sum(points))


@pytest.mark.parametrize(
    ("phone", "country", "of"),
    [
        ("+49 30 901820", "", "DE"),
        ("030 901820", "DE", "DE"),
        ("+1 202-456-1111", "DE", "US"),
        ("030 901820", "", None),
        ("+800 1234 5678", "", None),
        ("12", "US", None),
        ("", "US", None),
        ("+" * 200, "XX", None),
        ("\u202e+49 30 901820" * 50, "DE", None),
    ],
)
def test_the_country_of_a_telephone(phone: str, country: str, of: str | None) -> None:
    assert phone_country(phone, country) == of


@given(st.text(max_size=200), st.sampled_from(["", "US", "ZZ"]))
def test_any_text_has_a_country_or_none(phone: str, country: str) -> None:
    assert phone_country(phone, country) is None or len(phone_country(phone, country) or "") == 2


def test_throw_away_domains_are_known_with_what_is_below_them() -> None:
    assert is_disposable("mailinator.com")
    assert is_disposable("joe.mailinator.com")
    assert not is_disposable("gmail.com")
    assert not is_disposable("com")
    assert not is_disposable("." * 200)


@pytest.fixture(scope="module")
def shipped() -> AccountTests:
    return load_policy(Path(__file__).parents[3] / "etc/policy.d", SCHEMA).account_tests


def test_the_shipped_tests_say_what_speaks_against_an_account(
    tmp_path: Path, shipped: AccountTests
) -> None:
    bad = Registration(
        time=NOW - 3600,
        address="192.0.2.1",
        country="US",
        mail="x@mailinator.com",
        phone="+49 30 901820",
        payment="virtual card",
        payment_country="NG",
    )
    records = [AccountRecord(id="bad", logins=("bad",), since=NOW - 3600, registration=bad)] + [
        AccountRecord(
            id=f"row{number}",
            logins=(f"row{number}",),
            registration=Registration(time=NOW - 1800 - number, address=f"192.0.2.{number}"),
        )
        for number in range(2, 7)
    ]
    with AccountStore(tmp_path / "accounts.db") as store:
        store.put(records, by="anna", now=NOW)
        account = store.find("bad")
        assert account is not None
        assert facts_of(store, account, NOW).registrations_same_network_hour == 6
        rating = rate_account(store, account, shipped, NOW)
        assert {penalty.test: penalty.points for penalty in rating.penalties} == {
            "DISPOSABLE_MAIL": 30,
            "PHONE_ELSEWHERE": 15,
            "PAYMENT_ELSEWHERE": 10,
            "PAYMENT_THROWAWAY": 10,
            "TOO_YOUNG": 20,
            "REGISTERED_IN_A_ROW": 20,
        }
        assert rating.value == 0
        said = {penalty.test: penalty.say for penalty in penalties(store, "bad")}
        assert said["PHONE_ELSEWHERE"] == "the telephone is of DE, the address of US"
        assert said["TOO_YOUNG"] == "1 hours old"
        (change,) = rating_changes(store, "bad")
        assert (change.before, change.after) == (100, 0)
        again = store.find("bad")
        assert again is not None
        assert again.rating == 0
        assert rating_of(store, again, shipped, NOW + 30 * DAY_S).value == 15, "it grows older"
        clean = store.find("row2")
        assert clean is not None
        known_no_more = rating_of(store, clean, AccountTests(), NOW)
        assert known_no_more.value == 100


def test_an_account_of_which_nothing_is_known_has_all_of_it(
    tmp_path: Path, shipped: AccountTests
) -> None:
    with AccountStore(tmp_path / "accounts.db") as store:
        store.put([AccountRecord(id="joe", logins=("joe",))], by="anna", now=NOW)
        account = store.find("joe")
        assert account is not None
        assert rating_of(store, account, shipped, NOW).value == 100
