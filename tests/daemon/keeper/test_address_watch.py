"""The watch over own addresses, asking a real DNS server: what is new is told once, a list that
goes wrong tells nobody anything, and a stop loses no place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.account import AccountNetwork, AccountRecord
from oborona.accounts.addresses.list_round import LOOK_S
from oborona.accounts.addresses.listing import AGAIN_S, ListingState
from oborona.accounts.addresses.store import AddressStore
from oborona.accounts.excess import Excess
from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import InspectorRules
from oborona.accounts.inspector.inspector import Inspector
from oborona.config import parse_servers
from oborona.daemon.keeper.address_watch import AddressWatch
from oborona.daemon.keeper.listing_report import ListingReport
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.policy.account_tests import AccountTests
from oborona.reputation.networks import network
from oborona.resolver import Resolver
from oborona.telemetry.alert import Alert
from tests.peers.dns import Fault, Zones

POLICY = "".join(
    f'[[dns_list]]\nname = "{name}"\nzone = "{zone}"\nof = ["client"]\nscore = 60\n'
    for name, zone in (("ONE", "one.test"), ("TWO", "two.test"))
)
SOUND = {
    "2.0.0.127.one.test": {"A": "127.0.0.2"},
    "2.0.0.127.two.test": {"A": "127.0.0.2"},
}
HOURS = 1.0


class Alarm:
    """What people are told."""

    def __init__(self) -> None:
        self.alerts: list[Alert] = []

    async def raise_(self, alert: Alert) -> None:
        self.alerts.append(alert)


class Site:
    """A state folder whose watch asks a DNS server, by a clock of its own."""

    def __init__(self, folder: Path, zones: Zones, *networks: str) -> None:
        self.state, self.zones, self.networks = folder / "state", zones, networks
        self.state.mkdir()
        self.policy = folder / "policy.d"
        self.policy.mkdir()
        (self.policy / "10-lists.toml").write_text(POLICY)
        self.now = 1_800_000_000.0
        self.alarm = Alarm()
        self.accounts = self.state / state_files.ACCOUNTS

    def take(self, excess: Excess) -> None:
        """Be the inspector."""
        with IncidentStore(self.accounts) as store:
            rules = InspectorRules()
            Inspector(store, AccountTests, rules, live=True, clock=lambda: self.now).take(excess)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AddressWatch]:
        async with Resolver(parse_servers(self.zones.setting), timeout_s=2.0) as resolver:
            watch = AddressWatch(
                self.state,
                map(network, self.networks),
                every_hours=HOURS,
                policy=PolicyInForce(self.state, self.policy),
                asker=resolver,
                report=ListingReport(self.accounts, self.alarm, self),  # type: ignore[arg-type]
                clock=lambda: self.now,
            )
            try:
                yield watch
            finally:
                watch.close()

    async def go_on(self, watch: AddressWatch, seconds: float) -> None:
        """Let time pass as the daemon does, from step to step."""
        until = self.now + seconds
        while self.now < until:
            pause = await watch.step()
            assert pause >= LOOK_S, "nothing wakes more than once a second"
            self.now += min(pause, until - self.now)

    def known(self) -> list[tuple[str, str, ListingState]]:
        with AddressStore(self.state / state_files.ADDRESSES) as store:
            return [(one.address, one.list, one.state) for one in store.listings()]


@pytest.fixture
def zones() -> Iterator[Zones]:
    with Zones(SOUND, ttl=0, negative_ttl=0) as running:
        yield running


def asked(zones: Zones, zone: str) -> list[str]:
    return [one.name for one in zones.asked if one.name.endswith(zone) and ".127." not in one.name]


async def test_each_address_is_asked_of_each_list_in_a_round(tmp_path: Path, zones: Zones) -> None:
    site = Site(tmp_path, zones, "9.1.0.0/27")
    async with site.watch() as watch:
        await site.go_on(watch, HOURS * 3600 - 1)
        for zone in (".one.test", ".two.test"):
            names = asked(zones, zone)
            assert sorted(names) == sorted(f"{number}.0.1.9{zone}" for number in range(32))
    assert (site.alarm.alerts, site.known()) == ([], [])


async def test_a_new_listing_is_told_once_with_its_account_and_its_end_closes_it(
    tmp_path: Path, zones: Zones
) -> None:
    site = Site(tmp_path, zones)
    joe = AccountRecord(id="joe", logins=("joe",), networks=(AccountNetwork(network="9.1.0.0/29"),))
    with IncidentStore(site.accounts) as store:
        store.put([joe], by="test", now=site.now)
    zones.add({"3.0.1.9.one.test": {"A": "127.0.0.4"}})
    async with site.watch() as watch:
        await site.go_on(watch, AGAIN_S)
        assert site.alarm.alerts == [], "it was said once only"
        await site.go_on(watch, 3 * 3600)
        (alert,) = site.alarm.alerts
        assert alert.title == "9.1.0.3 is on ONE"
        assert "9.1.0.3 of joe is on ONE: " in alert.text
        assert site.known() == [("9.1.0.3", "ONE", ListingState.LISTED)]
        with IncidentStore(site.accounts) as store:
            (incident,) = store.incidents()
            assert (incident.account, incident.address, incident.metric) == (
                "joe",
                "9.1.0.3",
                "listed",
            )
            assert store.find("joe").block is None  # type: ignore[union-attr]
        zones.remove("3.0.1.9.one.test")
        await site.go_on(watch, 3 * 3600)
        assert site.known() == []
        with IncidentStore(site.accounts) as store:
            (incident,) = store.incidents()
            assert incident.verdict is IncidentVerdict.OVER
    assert len(site.alarm.alerts) == 1


async def test_a_list_that_lists_the_whole_world_tells_nobody_anything(
    tmp_path: Path, zones: Zones
) -> None:
    site = Site(tmp_path, zones, "9.1.0.0/26")
    async with site.watch() as watch:
        await site.go_on(watch, 610)
        zones.add({"*.one.test": {"A": "127.0.0.2"}})
        await site.go_on(watch, 200)
        assert {state for *_, state in site.known()} == {ListingState.SUSPECTED}
        await site.go_on(watch, 3 * 3600)
        number = len(asked(zones, ".one.test"))
        await site.go_on(watch, 3600)
        assert len(asked(zones, ".one.test")) == number, "it is sick, and asked no more"
        zones.remove("*.one.test")
        await site.go_on(watch, 3 * 3600)
        assert site.known() == []
    assert site.alarm.alerts == []


async def test_no_answer_is_unknown_and_asked_again_soon(tmp_path: Path, zones: Zones) -> None:
    site = Site(tmp_path, zones, "9.1.0.0/30")
    zones.fault("1.0.1.9.two.test", Fault.SERVFAIL)
    async with site.watch() as watch:
        await site.go_on(watch, 1800)
        assert site.known() == [("9.1.0.1", "TWO", ListingState.UNKNOWN)]
    zones.heal()
    async with site.watch() as watch:  # with a resolver that remembers nothing
        await site.go_on(watch, AGAIN_S + 60)
    assert site.known() == []


async def test_a_stop_in_the_middle_of_a_round_goes_on_where_it_was(
    tmp_path: Path, zones: Zones
) -> None:
    site = Site(tmp_path, zones, "9.1.0.0/27")
    async with site.watch() as watch:
        await site.go_on(watch, 1800)
    before = asked(zones, ".one.test")
    assert 0 < len(before) < 32
    async with site.watch() as watch:
        await site.go_on(watch, 1799)
    assert sorted(asked(zones, ".one.test")) == sorted(f"{n}.0.1.9.one.test" for n in range(32))


async def test_what_is_ours_no_more_and_a_list_that_is_off_are_forgotten(
    tmp_path: Path, zones: Zones
) -> None:
    site = Site(tmp_path, zones, "9.1.0.0/30")
    zones.add({"1.0.1.9.one.test": {"A": "127.0.0.4"}, "1.0.1.9.two.test": {"A": "127.0.0.4"}})
    async with site.watch() as watch:
        await site.go_on(watch, 2 * 3600)
    assert len(site.known()) == 2
    (site.policy / "20-off.toml").write_text('[[dns_list]]\nname = "TWO"\nenabled = false\n')
    async with site.watch() as watch:
        await watch.step()
    assert [one for _, one, _ in site.known()] == ["ONE"]
    site.networks = ("9.2.0.0/30",)
    async with site.watch() as watch:
        await watch.step()
    assert site.known() == []
