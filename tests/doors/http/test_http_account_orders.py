"""Accounts are banned and trusted by HTTP as by the command, once for each Idempotency-Key."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.account import AccountState
from oborona.accounts.account_orders import ORDERS
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import KEPT_S
from oborona.accounts.store.rows import AccountDeed, DeedKind
from oborona.doors.http.account_orders import MAX_ORDER
from tests.doors.http.account_site import (
    ACTOR,
    BOTH,
    CUSTOMERS,
    ITS_ACTOR,
    ITS_READER,
    READER,
    ask,
    door,
    fill,
)
from tests.doors.http.sittings import Sittings

JSON = {"Content-Type": "application/json"}
BAN = {"reason": "a password was stolen"}


async def order(
    at: Sittings,
    what: str,
    told: object,
    *,
    name: str = "joe",
    key: str = ACTOR,
    once: str | None = None,
) -> tuple[int, dict[str, Any]]:
    body = told if isinstance(told, bytes) else msgspec.json.encode(told)
    headers = JSON | ({"Idempotency-Key": once} if once is not None else {})
    status, answer = await ask(
        at, f"/v1/accounts/{name}/{what}", key, method="POST", body=body, headers=headers
    )
    return status, msgspec.json.decode(answer)


def deeds(folder: Path, name: str = "joe") -> list[AccountDeed]:
    """Return what was done to an account beside its import."""
    with AccountStore(folder / state_files.ACCOUNTS) as store:
        return [deed for deed in store.deeds(name) if deed.what is not DeedKind.IMPORT]


async def test_each_order_does_what_the_command_does(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        status, told = await order(at, "ban", BAN | {"for": "2h"}, name="Joe@Example.com")
        assert (status, told["account"], told["state"]) == (200, "joe", "banned")
        assert (told["done"], told["new"], told["trusted"]) == (True, False, False)
        assert 7100 < told["until"] - time.time() <= 7200
        assert (await order(at, "unban", {"reason": "changed"}))[1]["state"] == "open"
        assert (await order(at, "unban", {"reason": "changed"}))[1]["done"] is False
        until = time.time() + 60
        told = (await order(at, "limit", {"reason": "slowly", "until": until}))[1]
        assert (told["state"], told["until"]) == ("limited", until)
        told = (await order(at, "trust", {"reason": "talked", "until": "2099-01-01T00:00:00Z"}))[1]
        assert (told["trusted"], told["state"]) == (True, "limited")
        assert (await order(at, "untrust", {"reason": "stolen"}))[1]["trusted"] is False
        assert (await order(at, "untrust", {"reason": "stolen"}))[1]["done"] is False
        assert (await order(at, "ban", BAN))[1]["until"] == 0
    done = deeds(open_folder)
    assert [deed.what.value for deed in done] == [
        "ban", "unban", "limit", "trust", "untrust", "ban",
    ]  # fmt: skip
    assert {deed.by for deed in done} == {"billing"}
    assert done[0].why == "a password was stolen"
    assert done[3].until == 4_070_908_800
    assert deeds(open_folder, "ann") == []


async def test_the_name_of_a_key_stands_for_a_person_s(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        for key in (ACTOR, BOTH, ITS_ACTOR):
            assert (await order(at, "ban", BAN, key=key))[0] == 200
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            account = store.find("joe")
        assert account is not None
        assert account.block is not None
        assert account.block.by == "shop"
    assert [deed.by for deed in deeds(open_folder)] == ["billing", "staff", "shop"]


@pytest.mark.parametrize("made", [True, False], ids=["with accounts", "without any"])
async def test_a_login_that_is_no_account_becomes_one_by_a_ban(
    open_folder: Path, made: bool
) -> None:
    if made:
        fill(open_folder)
    async with door(open_folder).serving() as at:
        for what in ("unban", "trust", "untrust"):
            assert (await order(at, what, BAN, name="Eve@example.com"))[0] == 404
        assert (await order(at, "ban", BAN, name="Eve@example.com", key=ITS_ACTOR))[0] == 404
        assert (open_folder / state_files.ACCOUNTS).exists() == made
        status, told = await order(at, "ban", BAN, name="Eve@example.com")
        assert (status, told["account"], told["new"]) == (200, "eve@example.com", True)
        assert (await order(at, "ban", BAN, name="eve@example.com"))[1]["new"] is False
        for wrong in ("%20eve", "e%0Ave", "e%E2%80%AEve", "x" * 1_000, ""):
            assert (await order(at, "ban", BAN, name=wrong))[0] == 400


async def test_a_foreign_account_is_not_there(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        for what in ORDERS:
            told = {"reason": "x"} | ({"for": "1h"} if what is DeedKind.LIMIT else {})
            unknown = await order(at, what, told, name="nobody", key=ITS_ACTOR)
            assert unknown[0] == 404
            for name in ("ann", "ann@example.com", "sam%2Fx"):
                assert await order(at, what, told, name=name, key=ITS_ACTOR) == unknown
    assert [deeds(open_folder, name) for name in CUSTOMERS] == [[], [], []]


async def test_the_same_request_does_nothing_twice(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        first = await order(at, "ban", BAN | {"for": "1h"}, once="k 1")
        assert (await order(at, "unban", {"reason": "changed"}))[0] == 200
        assert await order(at, "ban", BAN | {"for": "1h"}, once="k 1") == first
        shown = (await ask(at, "/v1/accounts/joe", BOTH))[1]
        assert msgspec.json.decode(shown)["state"] == AccountState.OPEN, "it was done once"
        assert len(deeds(open_folder)) == 2
        for what, told, name in (
            ("ban", BAN, "joe"),
            ("ban", BAN | {"for": "1h"}, "ann"),
            ("limit", BAN | {"for": "1h"}, "joe"),
        ):
            assert (await order(at, what, told, name=name, once="k 1"))[0] == 409
        # another asker's, and another key
        assert (await order(at, "ban", BAN, once="k 1", key=BOTH))[0] == 200
        assert (await order(at, "ban", BAN, once="k 1", key=ITS_ACTOR))[0] == 200
        assert (await order(at, "ban", BAN, once="k 2"))[0] == 200
        assert len(deeds(open_folder)) == 5
        with AccountStore(open_folder / state_files.ACCOUNTS) as store, store.transaction() as db:
            db.execute("UPDATE answer SET at = at - ?", (KEPT_S,))
        assert (await order(at, "unban", {"reason": "changed"}, once="k 1"))[0] == 200
        assert len(deeds(open_folder)) == 6


async def test_a_restart_forgets_no_answer(open_folder: Path) -> None:
    fill(open_folder)
    answers = []
    for _ in range(3):
        async with door(open_folder).serving() as at:
            answers.append(await order(at, "trust", BAN | {"for": "1h"}, once="k"))
    assert answers == answers[:1] * 3
    assert len(deeds(open_folder)) == 1


async def test_what_came_to_nothing_is_not_remembered(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert (await order(at, "trust", BAN, name="new", once="k"))[0] == 404
        assert (await order(at, "limit", BAN, once="k"))[0] == 400
        assert (await order(at, "ban", BAN, once="k"))[0] == 200


async def test_many_at_once_in_several_workers_do_it_once(open_folder: Path) -> None:
    fill(open_folder)
    other = open_folder / "other"
    other.mkdir()
    (other / state_files.ACCOUNTS).symlink_to(open_folder / state_files.ACCOUNTS)
    async with door(open_folder).serving() as one, door(other).serving() as two:
        answers = await asyncio.gather(
            *(order(at, "trust", BAN | {"for": "1h"}, once="k") for at in [one, two] * 10)
        )
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == 200
    assert len(deeds(open_folder)) == 1


async def test_a_repeat_says_that_it_is_one(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at, at.client() as client:
        headers = JSON | {"Idempotency-Key": "k", "Authorization": f"Bearer {ACTOR}"}
        said = []
        for _ in range(2):
            async with client.post(
                "http://door/v1/accounts/joe/ban", json=BAN, headers=headers
            ) as answer:
                said.append(answer.headers.get("Idempotency-Replayed"))
    assert said == [None, "true"]


async def test_a_forgotten_account_is_forgotten_in_answers(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        await order(at, "trust", BAN, once="k")
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            assert store.forget("joe", now=time.time())
            assert store.rows("SELECT * FROM answer") == []


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("ban", b"", 400),
        ("ban", b"{}", 400),
        ("ban", b"nonsense", 400),
        ("ban", b"[" * MAX_ORDER, 400),
        ("ban", b'{"reason": "x"' + b" " * MAX_ORDER + b"}", 413),
        ("ban", b'{"reason": "\xff"}', 400),
        ("ban", b'{"reason": "\\ud800"}', 400),
        ("ban", b'{"reason": ""}', 400),
        ("ban", b'{"reason": "a\\nb"}', 400),
        ("ban", b'{"reason": "\\u202eb"}', 400),
        ("ban", b'{"reason": "' + b"x" * 201 + b'"}', 400),
        ("ban", b'{"reason": 1}', 400),
        ("ban", b'{"reason": "x", "by": "anna"}', 400),
        ("ban", b'{"reason": "x", "for": "2h", "until": 4000000000}', 400),
        ("ban", b'{"reason": "x", "for": "0s"}', 400),
        ("ban", b'{"reason": "x", "for": "9999999d"}', 400),
        ("ban", b'{"reason": "x", "for": "999999w"}', 400),
        ("ban", b'{"reason": "x", "for": "2"}', 400),
        ("ban", b'{"reason": "x", "until": 1}', 400),
        ("ban", b'{"reason": "x", "until": 1e300}', 400),
        ("ban", b'{"reason": "x", "until": 1e999}', 400),
        ("ban", b'{"reason": "x", "until": "tomorrow"}', 400),
        ("limit", b'{"reason": "x"}', 400),
        ("unban", b'{"reason": "x", "for": "1h"}', 400),
        ("untrust", b'{"reason": "x", "until": 4000000000}', 400),
        ("import", b'{"reason": "x"}', 404),
        ("forget", b'{"reason": "x"}', 404),
        ("ban/now", b'{"reason": "x"}', 404),
        ("ban?reason=x", b'{"reason": "x"}', 400),
    ],
)
async def test_what_is_wrong_does_nothing(
    open_folder: Path, what: str, body: bytes, status: int
) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert (await order(at, what, body))[0] == status
    assert deeds(open_folder) == []


@pytest.mark.parametrize("once", ["", "x" * 256, "é", "a\tb"])
async def test_a_wrong_key_of_a_repeat_is_refused(open_folder: Path, once: str) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        assert (await order(at, "ban", BAN, once=once))[0] == 400
        head = (
            "POST /v1/accounts/joe/ban HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {ACTOR}\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n"
            "Connection: close\r\nContent-Length: 15\r\n\r\n"
        )
        assert (await at.says_to(head.encode() + b'{"reason": "x"}')).startswith(b"HTTP/1.1 400")
    assert deeds(open_folder) == []


async def test_a_body_is_json_and_read_by_those_who_may(open_folder: Path) -> None:
    fill(open_folder)
    path = "/v1/accounts/joe/ban"
    async with door(open_folder).serving() as at:
        body = msgspec.json.encode(BAN)
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            headers = {"Content-Type": kind}
            answer = await ask(at, path, ACTOR, method="POST", body=body, headers=headers)
            assert answer[0] == 415
        for key in (READER, ITS_READER):
            assert (await order(at, "ban", b"x" * 100_000, key=key))[0] == 403
        assert at.notes["unauthorized"] == 2
    assert deeds(open_folder) == []


async def test_a_damaged_file_is_said(open_folder: Path) -> None:
    (open_folder / state_files.ACCOUNTS).write_bytes(b"no database" * 1000)
    async with door(open_folder).serving() as at:
        assert (await order(at, "ban", BAN))[0] == 503
