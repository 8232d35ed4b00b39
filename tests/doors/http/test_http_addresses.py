"""Is an address clean, by HTTP: asked of a real DNS server; a customer hears of his own alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from oborona import state_files
from oborona.accounts.account import AccountNetwork, AccountRecord, Customer
from oborona.accounts.addresses.address_report import FORTNIGHT_S
from oborona.accounts.addresses.listing import ListingState, OwnListing
from oborona.accounts.addresses.store import AddressStore
from oborona.accounts.flows.store import FlowStore
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli import main
from oborona.config import load_settings
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.resolver import open_resolver
from oborona.types import Amounts, CountedPieces
from tests.daemon.intake.takings import KEY
from tests.doors.http.account_site import (
    ACTOR,
    ITS_ACTOR,
    ITS_READER,
    READER,
    ask,
    door,
    open_incident,
)
from tests.doors.http.sittings import Sittings
from tests.peers.dns import Fault, Zones

LIST = '[[dns_list]]\nname = "ONE"\nzone = "one.test"\nof = ["client"]\nscore = 60\nsay = "seen ({code})"\n'
SOUND = {"2.0.0.127.one.test": {"A": "127.0.0.2"}, "7.0.1.9.one.test": {"A": "127.0.0.4"}}


@pytest.fixture
def zones() -> Iterator[Zones]:
    with Zones(SOUND) as running:
        yield running


@contextlib.asynccontextmanager
async def site(folder: Path, zones: Zones) -> AsyncIterator[Sittings]:
    """A door with one DNS list; joe of customer `c 17` has 9.1.0.0/28, which ann had."""
    now = time.time()
    with IncidentStore(folder / state_files.ACCOUNTS) as store:
        for name, customer, networks, told in (
            ("ann", "c18", ("9.1.0.0/28",), now - 2 * FORTNIGHT_S),
            ("ann", "c18", (), now - FORTNIGHT_S),
            ("joe", "c 17", ("9.1.0.0/28", "10.1.0.0/24"), now - FORTNIGHT_S + 60),
        ):
            record = AccountRecord(
                id=name,
                logins=(name,),
                customer=Customer(id=customer),
                networks=tuple(AccountNetwork(network=network) for network in networks),
            )
            store.put([record], by="test", now=told)
        open_incident(store, "ann", now - FORTNIGHT_S, address="9.1.0.8")
        open_incident(store, "joe", now, address="9.1.0.9")
    with AddressStore(folder / state_files.ADDRESSES) as addresses:
        listing = OwnListing(
            address="9.1.0.7", list="ONE", state=ListingState.LISTED, since=5.0, asked=9.0
        )
        addresses.note(put=[listing])
    (folder / "policy.d").mkdir()
    (folder / "policy.d/10-list.toml").write_text(LIST)
    policy = load_policy(folder / "policy.d", SCHEMA)
    settings = load_settings(None, {"dns.servers": zones.setting}).settings
    at = door(folder)
    at.policy = lambda: policy
    async with open_resolver(settings.dns) as resolver, at.serving():
        at.asker = resolver
        yield at


async def shown(at: Sittings, address: str, key: str = READER) -> dict[str, Any]:
    status, body = await ask(at, f"/v1/addresses/{address}", key)
    assert status == 200, body
    found: dict[str, Any] = msgspec.json.decode(body)
    return found


async def test_what_the_command_shows_is_told(open_folder: Path, zones: Zones) -> None:
    async with site(open_folder, zones) as at:
        for address in ("9.1.0.7", "9.1.0.8", "9.1.0.100", "10.1.0.1"):
            words = ["--state", str(open_folder), "--set", f"dns.servers={zones.setting}"]
            words += ["--set", f"paths.policy={open_folder}/policy.d", "address", address, "--json"]
            done = await asyncio.to_thread(CliRunner().invoke, main, words)
            assert done.exit_code == 0, done.output
            told = json.loads(done.stdout)
            assert await shown(at, address) | {"counted": {}} == told


async def test_an_address_is_clean_listed_disputed_or_not_known(
    open_folder: Path, zones: Zones
) -> None:
    zones.fault("9.9.1.9.one.test", Fault.SERVFAIL)
    async with site(open_folder, zones) as at:
        listed = await shown(at, "9.1.0.7")
        assert (listed["clean"], listed["listed_since"]) == (False, {"ONE": 5.0})
        assert listed["lists"] == [{"list": "ONE", "state": "listed", "say": "seen (127.0.0.4)"}]
        assert (await shown(at, "9.1.0.100"))["clean"] is True
        disputed = await shown(at, "9.1.0.9")
        assert (disputed["clean"], disputed["lists"][0]["state"]) == (False, "clean")
        assert disputed["incidents"][0]["limit"] == "HOURLY"
        assert (await shown(at, "9.1.9.9"))["clean"] is None, "no answer is never clean"
        assert (await shown(at, "10.9.9.9"))["clean"] is None, "no list is asked"
        assert (await shown(at, "::ffff:9.1.0.7"))["address"] == "9.1.0.7"
        assert (await shown(at, "2001:db8::1"))["holders"] == []


async def test_a_customer_hears_of_addresses_that_are_his_now(
    open_folder: Path, zones: Zones
) -> None:
    async with site(open_folder, zones) as at:
        unknown = await ask(at, "/v1/addresses/9.1.0.100", ITS_READER)
        assert unknown[0] == 404
        for address in ("10.9.9.9", "2001:db8::1"):
            assert await ask(at, f"/v1/addresses/{address}", ITS_READER) == unknown
        own = await shown(at, "9.1.0.8", ITS_READER)
        assert [one["account"] for one in own["holders"]] == ["joe"]
        assert own["incidents"] == [], "it was another's then"
        assert own["clean"] is True
        (incident,) = (await shown(at, "9.1.0.9", ITS_READER))["incidents"]
        assert not {"limit", "value", "most", "evidence"} & set(incident)


async def test_what_was_counted_may_be_of_who_had_it_before(
    open_folder: Path, zones: Zones
) -> None:
    now = time.time()
    async with site(open_folder, zones) as at:
        shingle = Hasher(KEY).shingle(ShingleType.CLIENT_IP, "9.1.0.8")
        at.counters.add(CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=7), time.time())
        with FlowStore(open_folder / state_files.FLOWS) as flows, flows.transaction() as db:
            db.executemany(
                "INSERT INTO flow_window (start, address, file, packets, octets, streams,"
                " destinations, refused, sampled) VALUES (?, ?, 'nfcapd.1', 9, 9, ?, 1, 0, 0)",
                [
                    (int(now) - 60, "9.1.0.8", 7),
                    (int(now) - 120, "9.1.0.8", 4),
                    (int(now) - 60, "9.1.0.7", 100),
                    (int(now) - 90_000, "9.1.0.8", 100),
                ],
            )
        staff = await shown(at, "9.1.0.8")
        assert (staff["counted"]["seen"], staff["streams"]) == (7, 11)
        own = await shown(at, "9.1.0.8", ITS_READER)
        assert (own["counted"], own["streams"]) == ({}, 11), "he has it for less than two weeks"
        with IncidentStore(open_folder / state_files.ACCOUNTS) as store, store.transaction() as db:
            db.execute("UPDATE network_time SET begun = begun - 120 WHERE account = 'joe'")
        assert (await shown(at, "9.1.0.8", ITS_READER))["counted"]["seen"] == 7


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("", 400),
        ("x", 400),
        ("9.1.0", 400),
        ("9.1.0.7/24", 404),
        ("9.1.0.7%2F24", 400),
        ("fe80::1%25eth0", 400),
        ("%E2%80%AE9.1.0.7", 400),
        ("%ff", 400),
        ("9" * 5000, 400),
        ("9.1.0.7?x=1", 400),
    ],
)
async def test_what_is_no_address_is_refused(open_folder: Path, path: str, status: int) -> None:
    async with door(open_folder).serving() as at:
        for key in (READER, ITS_READER):
            assert (await ask(at, f"/v1/addresses/{path}", key))[0] == status
        for key in (ACTOR, ITS_ACTOR):
            assert (await ask(at, "/v1/addresses/9.1.0.7", key))[0] == 403


async def test_without_files_there_is_nothing_and_damaged_ones_are_said(
    open_folder: Path, zones: Zones
) -> None:
    settings = load_settings(None, {"dns.servers": zones.setting}).settings
    async with open_resolver(settings.dns) as resolver, door(open_folder).serving() as at:
        at.asker = resolver
        found = await shown(at, "10.0.0.1")
        assert (found["holders"], found["incidents"], found["streams"]) == ([], [], None)
        assert not (open_folder / state_files.ADDRESSES).exists()
        for name in (state_files.ADDRESSES, state_files.ACCOUNTS, state_files.FLOWS):
            (open_folder / name).write_bytes(b"no database" * 1000)
            assert (await ask(at, "/v1/addresses/10.0.0.1", READER))[0] == 503
            (open_folder / name).unlink()
