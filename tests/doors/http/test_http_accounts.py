"""Accounts by HTTP: each key sees its customer's, and of others not even that there are any."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from yarl import URL

from oborona import state_files
from oborona.accounts.account import AccountBlock, AccountRecord, AccountState, Customer
from oborona.accounts.account_view import AccountsPage, AccountView
from oborona.accounts.excess import Excess
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import IncidentLine, InspectorDecision
from oborona.accounts.store.accounts import AccountStore
from oborona.config import load_settings
from oborona.doors.http.account_keys import account_keys
from oborona.doors.http.openapi import description
from oborona.errors import ConfigError
from oborona.types import RuleMode
from tests.doors.http.sittings import Sittings

ALL, OF_ONE, OF_NOBODY = "all-customers-0123", "one-customer-01234", "nobody-0123456789"
SCANS = "0123456789abcdef"
CUSTOMERS = {"joe": "c 17", "ann": "c18", "sam/x": ""}


def fill(folder: Path) -> None:
    """Have three accounts: of a customer, of another one, of nobody."""
    now = time.time()
    with AccountStore(folder / state_files.ACCOUNTS) as store:
        records = [
            AccountRecord(
                id=name,
                logins=(f"{name}@example.com",),
                customer=Customer(id=customer) if customer else None,
            )
            for name, customer in CUSTOMERS.items()
        ]
        store.put(records, by="test", now=now)
        ban = AccountBlock(
            account="joe", state=AccountState.BANNED, until=now + 3600, why="spam", by="anna"
        )
        store.block(ban, now=now - 5)
        with store.changing(), store.transaction() as db:
            db.executemany(
                "INSERT INTO penalty VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    ("joe", "YOUNG", 30, "it is young", RuleMode.LIVE, now, 0.0),
                    ("joe", "TRAP", 40, "it wrote to a trap", RuleMode.LIVE, now, now + 60),
                    ("joe", "OVER", 50, "it was so once", RuleMode.LIVE, now - 9, now - 1),
                    ("joe", "TRIED", 60, "it is on trial", RuleMode.SHADOW, now, 0.0),
                ],
            )


def door(folder: Path, **settings: object) -> Sittings:
    (folder / "accounts.keys").write_text(
        f"# panels\n{ALL} read\n{OF_ONE}  read c 17\n\n{OF_NOBODY} read c99\n"
    )
    return Sittings(folder, accounts_keys_file=folder / "accounts.keys", **settings)


async def get(at: Sittings, path: str, key: str = ALL) -> tuple[int, bytes]:
    async with (
        at.client() as client,
        client.get(_url(path), headers={"Authorization": f"Bearer {key}"}) as answer,
    ):
        return answer.status, await answer.read()


def _url(path: str) -> URL:
    return URL(f"http://door{path}", encoded=True)


async def test_a_panel_sees_what_is_the_matter_and_no_more(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        status, body = await get(at, "/v1/accounts/Joe@Example.com", OF_ONE)
        assert status == 200
        found = msgspec.json.decode(body, type=AccountView)
        assert (found.account, found.customer, found.state) == ("joe", "c 17", AccountState.BANNED)
        assert found.reason == "spam"
        assert found.penalties == ("it wrote to a trap", "it is young")
        assert 0 < time.time() - found.since < 300
        assert 3000 < found.until - time.time() <= 3600
        assert not [word for word in (b"anna", b"YOUNG", b"30,") if word in body]
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            store.unblock("joe", by="anna", why="changed the password", now=time.time())
        opened = msgspec.json.decode((await get(at, "/v1/accounts/joe"))[1], type=AccountView)
        assert (opened.state, opened.reason, opened.since, opened.until) == ("open", "", 0, 0)


async def test_a_ban_of_the_inspector_is_since_it_was_decided(open_folder: Path) -> None:
    fill(open_folder)
    now = time.time()
    with IncidentStore(open_folder / state_files.ACCOUNTS) as store:
        account = store.find("ann")
        assert account is not None
        store.open_incident(
            Excess(
                account="ann",
                limit="HOURLY",
                metric="recipients",
                window="hour",
                value=900,
                most=200,
                at=now - 600,
            ),
            account,
            InspectorDecision(
                line=IncidentLine.BAN, alert=True, state=AccountState.BANNED, until=now + 60
            ),
            rating=10,
            say="HOURLY: 900 recipients of 200",
            told="too many recipients",
            shadow=False,
            second_at=now + 30,
            now=now,
        )
    async with door(open_folder).serving() as at:
        body = (await get(at, "/v1/accounts/ann"))[1]
        found = msgspec.json.decode(body, type=AccountView)
        assert (found.state, found.reason) == (AccountState.BANNED, "too many recipients")
        assert (found.since, found.until) == (now, now + 60)


@pytest.mark.parametrize("key", [ALL, OF_ONE, OF_NOBODY, SCANS, "", "all-customers-012", "é"])
async def test_each_key_sees_its_own(open_folder: Path, key: str) -> None:
    fill(open_folder)
    (open_folder / "keys").write_text(f"{SCANS}\n")
    seen = {ALL: set(CUSTOMERS), OF_ONE: {"joe"}, OF_NOBODY: set[str]()}.get(key)
    async with door(open_folder, keys_file=open_folder / "keys").serving() as at:
        unknown = (await get(at, "/v1/accounts/nobody", key))[1]
        for name in CUSTOMERS:
            for called in (name, f"{name}@example.com"):
                status, body = await get(at, f"/v1/accounts/{quote(called, safe='')}", key)
                if seen is None:
                    assert status == 401
                elif name in seen:
                    assert status == 200
                else:  # as one that is not there
                    assert (status, body) == (404, unknown)
        status, body = await get(at, "/v1/accounts", key)
        if seen is None:
            assert status == 401
            return
        page = msgspec.json.decode(body, type=AccountsPage)
        assert {one.account for one in page.accounts} == seen
        status, body = await get(at, "/v1/accounts?customer=c18", key)
        if key == ALL:
            page = msgspec.json.decode(body, type=AccountsPage)
            assert [one.account for one in page.accounts] == ["ann"]
        else:
            assert status == 404
        # nor does a key of accounts scan
        assert (await at.post("/v1/scan", {"raw": ""}, {"Authorization": f"Bearer {key}"}))[
            0
        ] == 401


async def test_an_empty_customer_does_not_widen_a_key(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert (await get(at, "/v1/accounts?customer=", OF_ONE))[0] == 404


async def test_pages_follow_each_other(open_folder: Path) -> None:
    with AccountStore(open_folder / state_files.ACCOUNTS) as store:
        store.put(
            [AccountRecord(id=f"a{number:04}", logins=()) for number in range(1001)],
            by="test",
            now=time.time(),
        )
    async with door(open_folder).serving() as at:
        for limit in (1000, 334, 77):
            names, after = [], ""
            while True:
                _, body = await get(at, f"/v1/accounts?limit={limit}&after={after}")
                page = msgspec.json.decode(body, type=AccountsPage)
                names += [one.account for one in page.accounts]
                if page.next is None:
                    break
                assert len(page.accounts) == limit
                after = page.next
            assert names == [f"a{number:04}" for number in range(1001)]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/accounts/", 404),
        ("/v1/accounts/a/b", 404),
        ("/v1/accounts/%ff", 400),
        ("/v1/accounts/%00", 404),
        ("/v1/accounts/%ED%A0%80", 400),
        ("/v1/accounts/" + "a" * 7000, 404),
        ("/v1/accounts/" + "a" * 9000, 400),
        ("/v1/accounts/'%20OR%201=1--", 404),
        ("/v1/accounts?limit=0", 400),
        ("/v1/accounts?limit=1001", 400),
        ("/v1/accounts?limit=-1", 400),
        ("/v1/accounts?limit=%D9%A1", 400),
        ("/v1/accounts?limit=1&limit=1", 400),
        ("/v1/accounts?state=banned", 400),
        ("/v1/accounts?after=%ff%00", 200),
        ("/v1/accountsx", 404),
    ],
)
async def test_what_is_hostile_is_answered(open_folder: Path, path: str, status: int) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert (await get(at, path))[0] == status


async def test_without_keys_or_accounts_there_is_nothing(open_folder: Path) -> None:
    async with Sittings(open_folder).serving() as at:
        assert (await get(at, "/v1/accounts"))[0] == 404
    async with door(open_folder).serving() as at:
        assert (await get(at, "/v1/accounts/joe"))[0] == 404
        assert (await get(at, "/v1/accounts"))[1] == b'{"accounts":[],"next":null}\n'
        assert not (open_folder / state_files.ACCOUNTS).exists()
        status, _ = await at.post("/v1/accounts/joe", {}, {"Authorization": f"Bearer {ALL}"})
        assert status == 405


async def test_a_damaged_file_is_said(open_folder: Path) -> None:
    (open_folder / state_files.ACCOUNTS).write_bytes(b"no database" * 1000)
    async with door(open_folder).serving() as at:
        assert (await get(at, "/v1/accounts/joe"))[0] == 503
        assert (await get(at, "/v1/accounts"))[0] == 503


async def test_keys_are_read_again_and_limited(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder, rate=0.01, burst=2).serving() as at:
        assert [(await get(at, "/v1/accounts"))[0] for _ in range(3)] == [200, 200, 429]
        assert (await get(at, "/v1/accounts", OF_ONE))[0] == 200
        (open_folder / "accounts.keys").write_text(f"{OF_ONE} write\n")
        assert (await get(at, "/v1/accounts", OF_ONE))[0] == 200  # what was known stays
        (open_folder / "accounts.keys").write_text(f"{OF_NOBODY} read\n")
        assert (await get(at, "/v1/accounts", OF_ONE))[0] == 401
        assert (await get(at, "/v1/accounts", OF_NOBODY))[0] == 200


@pytest.mark.parametrize("line", [ALL, f"{ALL} write", f"{ALL} c17", "short read", "", "# none"])
def test_wrong_keys_are_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{line}\n")
    given = {"doors.http.accounts_keys_file": str(file)}
    with pytest.raises(ConfigError):
        account_keys(load_settings(None, given).settings.doors.http)


def test_both_are_described() -> None:
    assert {"/v1/accounts", "/v1/accounts/{login}"} <= set(description()["paths"])
