"""Personal data of registrations is kept for so many days, and no longer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import pytest

from oborona import state_files
from oborona.accounts.account import Account, AccountRecord, Registration
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import GivenAnswer, RepeatKey, answer_once
from oborona.daemon.keeper.registration_purge import RegistrationPurge

NOW: Final = 1_795_000_000.0
DAY: Final = 86_400.0


def registration(time: float) -> Registration:
    return Registration(
        time=time,
        address="198.51.100.7",
        country="US",
        mail="joe@elsewhere.example",
        phone="+1 202 555 0101",
        user_name="joe",
        payment="card",
        payment_country="DE",
        source="shop",
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of accounts that were told ten days ago."""
    path = tmp_path / state_files.ACCOUNTS
    times = {"old": NOW - 31 * DAY, "young": NOW - 29 * DAY, "unknown": 0.0}
    with AccountStore(path) as store:
        store.put(
            [
                AccountRecord(id=name, logins=(name,), registration=registration(time))
                for name, time in times.items()
            ],
            by="anna",
            now=NOW - 10 * DAY,
        )
    return path


def told(path: Path, name: str) -> Registration:
    with AccountStore(path, make=False) as store:
        account = store.find(name)
    assert isinstance(account, Account)
    assert account.registration is not None
    return account.registration


async def test_what_names_a_person_goes_and_the_rest_stays(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    purge = RegistrationPurge(path, 30, lambda: NOW)
    await purge.step()
    await purge.step()
    assert told(path, "old") == Registration(
        time=NOW - 31 * DAY, country="US", payment="card", payment_country="DE", source="shop"
    )
    assert told(path, "young") == registration(NOW - 29 * DAY)
    assert told(path, "unknown") == registration(0.0)
    said = [record.message for record in caplog.records]
    assert said.count("old registrations are forgotten") == 1
    with AccountStore(path) as store:
        rows = store.rows("SELECT account, network FROM registration ORDER BY account", ())
    assert rows == [("old", ""), ("unknown", "198.51.100.0/24"), ("young", "198.51.100.0/24")]


async def test_of_an_unknown_time_the_first_import_counts(path: Path) -> None:
    await RegistrationPurge(path, 30, lambda: NOW + 21 * DAY).step()
    assert told(path, "unknown") == Registration(
        country="US", payment="card", payment_country="DE", source="shop"
    )


async def test_none_is_forgotten_where_the_site_says_so(path: Path, tmp_path: Path) -> None:
    await RegistrationPurge(path, 0, lambda: NOW + 10_000 * DAY).step()
    assert told(path, "old").mail == "joe@elsewhere.example"
    await RegistrationPurge(tmp_path / "none.db", 1, lambda: NOW).step()
    assert not (tmp_path / "none.db").exists()


async def test_trouble_is_said_once_and_over(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = path.read_bytes()
    path.write_bytes(b"nothing of ours" * 1000)
    purge = RegistrationPurge(path, 30, lambda: NOW)
    await purge.step()
    await purge.step()
    path.write_bytes(whole)
    await purge.step()
    said = [record.message for record in caplog.records]
    assert said.count("old registrations are not forgotten") == 1
    assert said.count("old registrations are forgotten again") == 1


async def test_answers_are_remembered_for_a_day(path: Path) -> None:
    with AccountStore(path) as store:
        for number in range(3):
            key = RepeatKey("shop", "", f"k{number}", b"digest")
            answer_once(store, key, NOW - number * DAY / 2, lambda: GivenAnswer(b"{}", ""))
    for days, left in ((30, 2), (0, 1)):  # whether registrations are forgotten or not
        await RegistrationPurge(path, days, lambda: NOW + (days == 0) * DAY / 2).step()  # noqa: B023
        with AccountStore(path) as store:
            assert len(store.rows("SELECT * FROM answer")) == left
