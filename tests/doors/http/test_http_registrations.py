"""Registrations by HTTP: as a file of them is imported, once, and what is wrong is named."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from oborona import state_files
from oborona.accounts.import_lines import LINE_OCTETS
from oborona.accounts.store.accounts import AccountStore
from oborona.cli import main
from oborona.doors.http.json_rows import json_rows
from oborona.doors.http.registrations import (
    MAX_REGISTRATIONS,
    MOST_REGISTRATIONS,
)
from oborona.errors import PeerError
from tests.doors.http.account_site import ACTOR, BOTH, ITS_ACTOR, READER, ask, door, fill
from tests.doors.http.sittings import Sittings

LINES = "application/x-ndjson"
BAD = {"account": "bad", "registration": {"country": "US", "phone": "+49 30 901820"}}
MIXED = (
    b'{"account": "new", "customer": {"id": "c1"}}',
    b"nonsense",
    b'{"account": "thief", "logins": ["joe@example.com"]}',
    b'{"account": "big", "name": "' + b"x" * LINE_OCTETS + b'"}',
    b'{"account": "ann", "logins": ["ann@example.com"], "customer": {"id": "c18"}}',
    b'{"account": "joe", "name": "Joe", "logins": ["joe@example.com"]}',
    json.dumps(BAD).encode(),
    b'{"account": "new", "customer": {"id": "c1"}}',
)


async def tell(
    at: Sittings,
    body: bytes,
    kind: str = LINES,
    *,
    key: str = ACTOR,
    once: str | None = None,
) -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": kind} | ({"Idempotency-Key": once} if once is not None else {})
    status, answer = await ask(at, "/v1/accounts", key, method="POST", body=body, headers=headers)
    return status, msgspec.json.decode(answer)


async def test_what_is_right_is_written_and_the_rest_is_named(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        status, told = await tell(at, b"\n\n" + b"\r\n".join(MIXED) + b"\n\n")
        assert (status, told["new"], told["changed"], told["unchanged"]) == (200, 2, 1, 2)
        assert [one["line"] for one in told["refused"]] == [4, 5, 6]
        reasons = [one["reason"] for one in told["refused"]]
        assert "login 'joe@example.com' of 'thief' is of 'joe'" in reasons[1]
        assert "is longer than" in reasons[2]
        shown = msgspec.json.decode((await ask(at, "/v1/accounts/bad", BOTH))[1])
        assert shown["rating"] == 85, "it is rated by the tests of the policy"
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            assert [(deed.by, deed.what) for deed in store.deeds("bad")] == [("billing", "import")]
            assert store.find("thief") is None


async def test_an_array_is_as_good_as_lines(open_folder: Path) -> None:
    fill(open_folder)
    whole = [json.dumps({"account": f"a{n}"}, indent=2).encode() for n in range(3)]
    whole.insert(1, b'["a", {"b": [1, "]"]}]')
    async with door(open_folder).serving() as at:
        status, told = await tell(at, b"[" + b",\n".join(whole) + b"]", "application/json")
        assert (status, told["new"]) == (200, 3)
        assert [one["line"] for one in told["refused"]] == [2]
        assert (await tell(at, b"[]", "application/json"))[1]["new"] == 0


async def test_it_is_what_the_command_does(open_folder: Path, tmp_path: Path) -> None:
    body = b"\n".join(MIXED)
    done = CliRunner().invoke(
        main, ["--state", str(tmp_path), "account", "import", "-", "--json"], input=body
    )
    figures = json.loads(done.stdout)
    async with door(open_folder).serving() as at:
        _, told = await tell(at, body)
    assert figures["new"] == told["new"]
    assert figures["imported"] == told["new"] + told["changed"] + told["unchanged"]
    assert figures["wrong"] == len(told["refused"])
    for one in told["refused"]:
        assert f"line {one['line']}: {one['reason']}\n" in done.stderr
    held = []
    for folder in (open_folder, tmp_path):
        with AccountStore(folder / state_files.ACCOUNTS) as store:
            held.append(
                [
                    msgspec.structs.replace(account, first_seen=0.0)
                    for account in store.accounts(now=0.0)
                ]
            )
    assert held[0] == held[1] != []


async def test_state_and_trust_stay(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        ban = {"Content-Type": "application/json"}
        for what in ("ban", "trust"):
            path = f"/v1/accounts/joe/{what}"
            body = b'{"reason": "x"}'
            assert (await ask(at, path, ACTOR, method="POST", body=body, headers=ban))[0] == 200
        await tell(at, b'{"account": "joe", "customer": {"id": "c5"}}')
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            account = store.find("joe")
        assert account is not None
        assert account.block is not None
        assert account.trust is not None
        assert account.customer_id == "c5"


async def test_the_same_registrations_are_written_once(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        first = await tell(at, MIXED[0], once="k")
        assert first[1]["new"] == 1
        assert await tell(at, MIXED[0], once="k") == first
        assert (await tell(at, MIXED[4], once="k"))[0] == 409
        assert (await tell(at, MIXED[0]))[1]["unchanged"] == 1
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            assert len(store.deeds("new")) == 2


async def test_who_may_not_writes_nothing(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        for key, status in ((READER, 403), (ITS_ACTOR, 403), ("nobody", 401)):
            assert (await tell(at, MIXED[0], key=key))[0] == status
        assert not (open_folder / state_files.ACCOUNTS).exists()


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"", 400),
        ("application/json", b'{"account": "joe"}', 400),
        ("application/json", b'[{"account": "joe"}', 400),
        ("application/json", b'[{"account": "joe"}] x', 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/json", b"[" * 100_000 + b"]" * 100_000, 400),
        ("application/json", b'[{"account": "\xff"}]', 200),
        ("application/json", b"[" + b",".join([b"1"] * (MOST_REGISTRATIONS + 1)) + b"]", 413),
        (LINES, b"1\n" * (MOST_REGISTRATIONS + 1), 413),
        (LINES, b"\n" * MAX_REGISTRATIONS, 200),
        (LINES, b"\n" * (MAX_REGISTRATIONS + 1), 413),
        (LINES, b"x" * MAX_REGISTRATIONS, 200),
        (LINES, b'{"account": "\x00"}', 200),
        (LINES, b"[" * 60_000, 200),
        ("application/x-www-form-urlencoded", MIXED[0], 415),
        ("text/plain", MIXED[0], 415),
    ],
)
async def test_what_is_hostile_writes_nothing(
    open_folder: Path, kind: str, body: bytes, status: int
) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        found, told = await tell(at, body, kind)
        assert found == status
        assert not told.get("new")
        assert not told.get("changed")
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            assert len(store.accounts(now=0.0)) == 3


async def test_many_are_one_change_for_those_who_follow(open_folder: Path) -> None:
    told = b"\n".join(b'{"account": "a%d"}' % number for number in range(MOST_REGISTRATIONS))
    async with door(open_folder).serving() as at:
        assert (await tell(at, told))[1]["new"] == MOST_REGISTRATIONS
    with AccountStore(open_folder / state_files.ACCOUNTS) as store:
        assert len(store.accounts(now=0.0)) == MOST_REGISTRATIONS


@given(st.binary(max_size=200), st.booleans())
def test_any_body_is_pieces_or_refused(body: bytes, lines: bool) -> None:
    with suppress(PeerError):
        told = json_rows(body, lines=lines, most=MOST_REGISTRATIONS)
        numbers = [number for number, _ in told]
        assert numbers == sorted(set(numbers))
        assert all(piece in body for _, piece in told)


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)))
def test_an_array_is_cut_where_it_should_be(values: list[object]) -> None:
    told = json_rows(json.dumps(values).encode(), lines=False, most=MOST_REGISTRATIONS)
    assert [json.loads(piece) for _, piece in told] == values
