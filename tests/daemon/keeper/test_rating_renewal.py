"""Ratings go with the time: an incident lowers one, and a month without any raises it again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from oborona import state_files
from oborona.accounts.account import AccountRecord
from oborona.accounts.excess import Excess
from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import InspectorRules
from oborona.accounts.inspector.inspector import Inspector
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import rating_changes
from oborona.daemon.keeper.rating_renewal import AT_ONCE, RatingRenewal
from oborona.errors import StoreError
from oborona.policy.account_tests import AccountTests
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.rules import Rule
from oborona.stores.followed_store import READ_WHOLE

NOW: Final = 1_795_000_000.0
DAY: Final = 86_400.0


@pytest.fixture(scope="module")
def shipped() -> AccountTests:
    return load_policy(Path(__file__).parents[3] / "etc/policy.d", SCHEMA).account_tests


class Aging:
    """A site whose clock a test moves."""

    def __init__(self, folder: Path, tests: AccountTests) -> None:
        self.now = NOW
        self.tests = tests
        self.path = folder / state_files.ACCOUNTS
        self.store = IncidentStore(self.path)
        self.renewal = RatingRenewal(self.path, lambda: self.tests, lambda: self.now)
        self._inspector = Inspector(
            self.store, lambda: self.tests, InspectorRules(), live=True, clock=lambda: self.now
        )

    def over(self, account: str = "joe", **fields: Any) -> int:
        """Have an account go over a limit; return its incident."""
        told: dict[str, Any] = {
            "limit": "TRAPS", "metric": "traps", "window": "fortnight", "value": 1.0, "most": 0.0,
        }  # fmt: skip
        self._inspector.take(Excess(account=account, at=self.now, **told | fields))
        return self.store.incidents()[0].id

    async def after(self, days: float) -> None:
        """Let time pass, and the keeper rate."""
        self.now += days * DAY
        await self.renewal.step()

    def rating(self, account: str = "joe") -> int:
        """Return what is written down, which limits, panels and lists go by."""
        found = self.store.find(account)
        assert found is not None
        return found.rating


@pytest.fixture
def site(tmp_path: Path, shipped: AccountTests) -> Iterator[Aging]:
    made = Aging(tmp_path, shipped)
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("metric", "left"), [("traps", 60), ("complaints", 75), ("unknown_users", 85), ("listed", 85)]
)
async def test_what_an_account_did_counts_from_the_next_round_and_for_a_month(
    site: Aging, metric: str, left: int
) -> None:
    site.over(metric=metric)
    assert site.rating() == 100, "it is judged by what was known before"
    await site.after(0.01)
    assert site.rating() == left
    await site.after(29.9)
    assert site.rating() == left
    await site.after(0.2)
    assert site.rating() == 100
    assert [one.after for one in rating_changes(site.store, "joe")] == [left, 100]


async def test_what_a_person_called_no_spam_never_counts(site: Aging) -> None:
    ident = site.over()
    site.store.close_incident(ident, IncidentVerdict.NOT_SPAM, by="anna", note="", now=site.now)
    await site.after(0.01)
    assert site.rating() == 100


async def test_a_confirmed_incident_counts_for_its_days_behind_the_month(site: Aging) -> None:
    ident = site.over(metric="recipients", limit="HOURLY")
    await site.after(0.01)
    assert site.rating() == 100, "nobody has said what it was"
    site.store.close_incident(ident, IncidentVerdict.SPAM, by="anna", note="", now=site.now)
    for _ in range(90):
        await site.after(0.99)
        assert site.rating() == 60
    await site.after(1)
    assert site.rating() == 100
    assert len(rating_changes(site.store, "joe")) == 2


async def test_a_young_account_grows_up(site: Aging) -> None:
    site.store.put([AccountRecord(id="joe", logins=("joe",), since=NOW - 3600)], by="anna", now=NOW)
    site.over(metric="recipients", limit="HOURLY")
    assert site.rating() == 80
    await site.after(1)
    assert site.rating() == 100


async def test_a_round_that_finds_nothing_new_writes_nothing(site: Aging) -> None:
    ident = site.over()
    site.store.close_incident(ident, IncidentVerdict.SPAM, by="anna", note="", now=site.now)
    await site.after(0.01)
    version = site.store.followed(READ_WHOLE, site.now).version
    for _ in range(5):
        await site.after(0.005)  # the end of what lasts moves by some minutes
    assert site.store.followed(READ_WHOLE, site.now).version == version
    await site.after(0.1)
    assert site.store.followed(READ_WHOLE, site.now).version > version


async def test_any_number_is_rated_each_once(site: Aging, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    names = [f"account{number:03}" for number in range(AT_ONCE * 2 + 1)]
    for name in names:
        site.over(name)
    site.store.put([AccountRecord(id="quiet", logins=("quiet",))], by="anna", now=NOW)
    await site.after(0.01)
    assert {site.rating(name) for name in names} == {60}
    assert site.rating("quiet") == 100
    (said,) = [one for one in caplog.records if one.message == "ratings changed"]
    assert said.fields == {"number": len(names)}  # type: ignore[attr-defined]


async def test_another_policy_counts_from_the_next_round(site: Aging) -> None:
    site.over()
    await site.after(0.01)
    site.tests = AccountTests([Rule(name="TRAP", when="incidents.traps_month > 0", score=5.0)])
    await site.after(0.01)
    assert site.rating() == 95
    site.tests = AccountTests()
    await site.after(0.01)
    assert site.rating() == 100


async def test_a_site_without_accounts_gets_no_file(tmp_path: Path) -> None:
    path = tmp_path / state_files.ACCOUNTS
    await RatingRenewal(path, AccountTests, lambda: NOW).step()
    assert not path.exists()


async def test_trouble_is_said_once_and_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / state_files.ACCOUNTS
    AccountStore(path).close()
    failing: list[Exception] = [StoreError("no policy"), RuntimeError("a fault")]

    def tests() -> AccountTests:
        if failing:
            raise failing[0]
        return AccountTests()

    renewal = RatingRenewal(path, tests, lambda: NOW)
    with caplog.at_level(logging.INFO):
        await renewal.step()
        await renewal.step()
        failing.pop(0)
        await renewal.step()
        await renewal.step()
        failing.pop(0)
        await renewal.step()
        whole = path.read_bytes()
        path.write_bytes(b"nothing of ours" * 1000)
        await renewal.step()
        path.write_bytes(whole)
        await renewal.step()
    said = [record.message for record in caplog.records]
    assert said.count("fault: ratings stay as they were") == 1
    assert said.count("accounts are rated again") == 2
    assert said.count("ratings stay as they were") in (2, 3)
