"""Who has and had an own address."""

from __future__ import annotations

import tempfile
from ipaddress import ip_address, ip_network
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oborona.accounts.account import AccountNetwork, AccountRecord, Customer
from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.accounts.addresses.holders import holders, incidents_at
from oborona.accounts.excess import Excess
from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import InspectorRules
from oborona.accounts.inspector.inspector import Inspector
from oborona.policy.account_tests import AccountTests
from oborona.reputation.networks import plain

NOW = 1_800_000_000.0


def record(name: str, *networks: str) -> AccountRecord:
    return AccountRecord(
        id=name,
        logins=(name,),
        customer=Customer(id=f"c-{name}"),
        networks=tuple(AccountNetwork(network=one) for one in networks),
    )


def test_an_address_that_goes_from_one_to_another_has_both_in_its_history(tmp_path: Path) -> None:
    path = tmp_path / "accounts.db"
    with IncidentStore(path) as store:
        store.put([record("joe", "9.1.0.0/28", "9.2.0.0/28")], by="test", now=NOW)
        store.put([record("joe", "9.2.0.0/28")], by="test", now=NOW + 10)
        store.put(
            [record("ann", "9.1.0.0/28"), record("wide", "9.1.0.0/16")], by="test", now=NOW + 20
        )
        store.put([record("ann", "9.1.0.0/28")], by="test", now=NOW + 30)  # again: the same time
        found = [
            (one.account, one.customer, one.begun, one.ended) for one in holders(store, "9.1.0.7")
        ]
        assert sorted(found[:2]) == [
            ("ann", "c-ann", NOW + 20, 0.0),
            ("wide", "c-wide", NOW + 20, 0.0),
        ]
        assert found[2:] == [("joe", "c-joe", NOW, NOW + 10)]
        assert holders(store, "9.9.9.9") == []
        assert store.forget("joe", now=NOW)
        assert [one.account for one in holders(store, "9.1.0.7")].count("joe") == 0
    networks = AccountNetworks.of(path)
    assert [networks.holder(one) for one in ("9.1.0.7", "9.1.3.7", "9.2.0.1", "x")] == [
        "ann", "wide", "", "",
    ]  # fmt: skip
    assert AccountNetworks.of(tmp_path / "none").networks == ()


def test_an_open_incident_is_among_those_told_however_many_came_after_it(tmp_path: Path) -> None:
    with IncidentStore(tmp_path / "accounts.db") as store:
        inspector = Inspector(store, AccountTests, InspectorRules(), live=False, clock=lambda: NOW)
        for number in range(12):
            excess = Excess(
                account=f"a{number}", limit="L", metric="m", window="hour", value=9, most=1, at=NOW,
                address="9.1.0.7",
            )  # fmt: skip
            inspector.take(excess)
        for ident in range(2, 13):
            verdict = IncidentVerdict.NOT_SPAM
            store.close_incident(ident, verdict, by="test", note="", now=NOW)
        found = [one.id for one in incidents_at(store, "9.1.0.7", 10)]
    assert found == [1, *range(12, 3, -1)]


def around(address: str) -> st.SearchStrategy[str]:
    bits = ip_address(address).max_prefixlen
    return st.integers(0, bits).map(lambda some: str(ip_network((address, some), strict=False)))


@settings(max_examples=40)
@given(
    st.ip_addresses().map(str),
    st.lists(st.ip_addresses().map(str), max_size=3),
    st.data(),
)
def test_whoever_has_a_network_around_an_address_has_it(
    address: str, others: list[str], data: st.DataObject
) -> None:
    at = plain(address)
    assume(at is not None)
    networks = {data.draw(around(one)) for one in (address, *others)}
    with (
        tempfile.TemporaryDirectory() as folder,
        IncidentStore(Path(folder, "accounts.db")) as store,
    ):
        store.put(
            [record(f"a{number}", one) for number, one in enumerate(networks)], by="test", now=NOW
        )
        found = {one.network for one in holders(store, address)}
    assert found == {one for one in networks if at in ip_network(one)}
