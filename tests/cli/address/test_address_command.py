"""`oborona address`: asked of a real DNS server; its exit status is for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.accounts.addresses.listing import ListingState, OwnListing
from oborona.accounts.addresses.store import AddressStore
from oborona.cli import main
from tests.peers.dns import Fault, Zones

LIST = '[[dns_list]]\nname = "ONE"\nzone = "one.test"\nof = ["client"]\nscore = 60\nsay = "seen ({code})"\n'
SOUND = {"2.0.0.127.one.test": {"A": "127.0.0.2"}, "7.0.1.9.one.test": {"A": "127.0.0.4"}}


@pytest.fixture
def zones() -> Iterator[Zones]:
    with Zones(SOUND) as running:
        yield running


class Site:
    """A site with one DNS list, and no daemon."""

    def __init__(self, folder: Path, zones: Zones) -> None:
        self.folder = folder
        (folder / "policy.d").mkdir()
        (folder / "policy.d/10-list.toml").write_text(LIST)
        (folder / "state").mkdir()
        self.settings = folder / "oborona.toml"
        self.settings.write_text(
            f'[dns]\nservers = "{zones.setting}"\n[paths]\npolicy = "{folder}/policy.d"\n'
            f'state = "{folder}/state"\n'
        )

    def run(self, *words: str, status: int = 0) -> Result:
        done = CliRunner().invoke(main, ["--config", str(self.settings), *words])
        assert done.exit_code == status, done.output
        return done


@pytest.fixture
def site(tmp_path: Path, zones: Zones) -> Site:
    return Site(tmp_path, zones)


def test_an_address_is_asked_about_at_this_moment(site: Site) -> None:
    assert "9.1.0.7  ONE: listed: seen (127.0.0.4)" in site.run("address", "9.1.0.7").stdout
    assert "9.1.0.8  ONE: clean" in site.run("address", "9.1.0.8").stdout
    told = json.loads(site.run("address", "9.1.0.7", "--json").stdout)
    assert told["lists"] == [{"list": "ONE", "state": "listed", "say": "seen (127.0.0.4)"}]
    assert (told["holders"], told["incidents"], told["streams"]) == ([], [], None)


def test_whether_it_may_be_given_away_is_the_exit_status(site: Site, zones: Zones) -> None:
    site.run("address", "9.1.0.8", "--assign")
    site.run("address", "9.1.0.7", "--assign", status=1)
    zones.fault("9.0.1.9.one.test", Fault.SERVFAIL)
    site.run("address", "9.1.0.9", "--assign", status=os.EX_TEMPFAIL)
    site.run("address", "10.0.0.1", "--assign", status=os.EX_TEMPFAIL)


def test_a_list_that_is_wrong_about_its_test_points_says_nothing(site: Site, zones: Zones) -> None:
    zones.add({"1.0.0.127.one.test": {"A": "127.0.0.2"}})
    told = site.run("address", "9.1.0.7", "--assign", status=os.EX_TEMPFAIL).stdout
    assert "9.1.0.7  ONE: unknown: " in told


def test_who_had_it_and_an_open_incident_are_told(site: Site) -> None:
    account = json.dumps(
        {"account": "joe", "customer": {"id": "c17"}, "networks": [{"network": "9.1.0.0/28"}]}
    )
    imported = CliRunner().invoke(
        main, ["--config", str(site.settings), "account", "import", "-"], input=account
    )
    assert imported.exit_code == 0, imported.output
    assert "joe of customer c17 has 9.1.0.0/28 from " in site.run("address", "9.1.0.8").stdout
    excess = {
        "account": "joe",
        "limit": "L",
        "metric": "m",
        "window": "hour",
        "value": 9,
        "most": 1,
    }
    reported = CliRunner().invoke(
        main,
        ["--config", str(site.settings), "incident", "report", "-"],
        input=json.dumps(excess | {"at": 1_795_171_200, "address": "9.1.0.8"}),
    )
    assert reported.exit_code == 0, reported.output
    told = site.run("address", "9.1.0.8", "--assign", status=1).stdout
    assert "incident 1 of joe: L, " in told
    site.run("incident", "close", "1", "--not-spam")
    site.run("address", "9.1.0.8", "--assign")


def test_without_an_address_what_the_rounds_found_is_listed(site: Site) -> None:
    none = CliRunner().invoke(main, ["--config", str(site.settings), "address"])
    assert none.exit_code != 0
    assert "no own address was asked about yet" in none.stderr
    found = OwnListing(
        address="9.1.0.7", list="ONE", state=ListingState.LISTED, since=1.0, asked=1.0, say="seen"
    )
    with AddressStore(site.folder / "state" / state_files.ADDRESSES) as store:
        store.note(put=[found])
    assert "9.1.0.7  ONE since 1970-01-01" in site.run("address").stdout
    assert json.loads(site.run("address", "--json").stdout)["address"] == "9.1.0.7"
    site.run("address", "--assign", status=2)


@pytest.mark.parametrize(
    "text", ["", "x", "9.1.0", "9.1.0.7/24", "fe80::1%eth0", "9" * 5000, "\u202e9.1.0.7"]
)
def test_what_is_no_address_is_said(site: Site, text: str) -> None:
    assert "is no address" in site.run("address", text, status=2).stderr
