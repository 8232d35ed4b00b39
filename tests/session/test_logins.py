"""Logins that failed: counted for the account, put under limits, told to who follows excesses."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona.accounts.account import AccountBlock, AccountState
from oborona.accounts.excess import Excess, check_excess
from oborona.accounts.limits.reported_counts import failed_logins_key
from oborona.accounts.sending_account import NoAccounts, SendingAccount
from oborona.doors.login_attempt import LoginAttempt
from oborona.errors import StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.session.logins import LoginWatch
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Window
from tests.session.test_session import KEY, NOW, Table

LIMIT: Final = """
[[limit]]
name = "GUESSED"
each = "account"
count = "failed_logins"
window = "hour"
limit = 2
then = "alert"
"""


class Guessed(Table):
    """A worker that is told of logins."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, LIMIT)
        self.excesses: list[Excess] = []
        self.blocks: dict[str, AccountBlock] = {}
        services = msgspec.structs.replace(self.session._services, excess=self, accounts=self)
        self.watch = LoginWatch(services)

    known = True

    def of(self, login: str, _now: float) -> AccountBlock | None:
        return self.blocks.get(login)

    def take(self, excess: Excess) -> None:
        check_excess(excess)
        self.excesses.append(excess)

    async def sends(self, login: str) -> None:
        """Have an account send mail."""
        key = Hasher(KEY).shingle(ShingleType.ACCOUNT, login)
        pieces = CountedPieces(shingles=(key,), pairs=())
        self.counts.add(pieces, Amounts(seen=1), NOW - 60, CounterPrefix.SENT)

    async def fails(self, login: str = "Ann@example.org", times: int = 1) -> None:
        for _ in range(times):
            attempt = LoginAttempt(login=login, address="192.0.2.9", protocol="imap")
            assert await self.watch.failed(attempt)

    async def counted(self, login: str = "ann@example.org") -> int:
        key = failed_logins_key(login, Hasher(KEY))
        (row,) = await self.counts.read((key,), self.now, CounterPrefix.OUT)
        return row[Window.HOUR][Metric.SEEN]


async def test_each_counts_for_its_account_whatever_its_capitals(tmp_path: Path) -> None:
    site = Guessed(tmp_path)
    await site.fails(times=2)
    await site.fails("ANN@example.org")
    await site.fails("bob@example.org")
    assert await site.counted() == 3
    assert await site.counted("bob@example.org") == 1


async def test_what_goes_over_a_limit_is_told_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona")
    site = Guessed(tmp_path)
    await site.sends("ann@example.org")
    await site.fails(times=2)
    assert site.excesses == []
    await site.fails()
    (excess,) = site.excesses
    assert (excess.account, excess.metric, excess.value) == ("ann@example.org", "failed_logins", 3)
    assert (excess.address, excess.idents, excess.at) == ("192.0.2.9", (), NOW)
    said = [one.getMessage() for one in caplog.records]
    assert said.count("failed login") == 3
    assert said.count("limit") == 1


async def test_a_name_that_never_sent_is_told_by_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Guessed(tmp_path)
    await site.fails("info@example.org", times=5)
    assert await site.counted("info@example.org") == 5
    assert site.excesses == []
    assert "limit" not in [one.getMessage() for one in caplog.records]


async def test_an_account_that_was_imported_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Guessed(tmp_path)
    there = SendingAccount(id="joe", rating=100)
    monkeypatch.setattr(NoAccounts, "sender", lambda *_: there)
    await site.fails("joe@example.org", times=3)
    assert [one.account for one in site.excesses] == ["joe@example.org"]


async def test_a_store_that_is_away_costs_the_limit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = Guessed(tmp_path)

    async def away(*_args: object) -> None:
        raise StoreError("away")

    monkeypatch.setattr(site.counts, "read", away)
    await site.fails(times=3)
    assert [one.getMessage() for one in caplog.records].count("limits blind") == 1
    monkeypatch.undo()
    assert await site.counted() == 3


async def test_a_fault_of_ours_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = Guessed(tmp_path)
    monkeypatch.setattr("oborona.session.logins.failed_logins_key", lambda *_: 1 / 0)
    attempt = LoginAttempt(login="ann@example.org")
    assert not await site.watch.failed(attempt)
    assert "fault in counting a failed login" in caplog.text


def test_a_ban_alone_forbids(tmp_path: Path) -> None:
    site = Guessed(tmp_path)
    for state in (AccountState.BANNED, AccountState.LIMITED):
        site.blocks[state] = AccountBlock(account="x", state=state, until=0.0, why="", by="anna")
    assert site.watch.forbids(AccountState.BANNED)
    assert not site.watch.forbids(AccountState.LIMITED)
    assert not site.watch.forbids("nobody@example.org")
