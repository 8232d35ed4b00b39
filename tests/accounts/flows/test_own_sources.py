"""Which sources of flows are ours."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import NEVER_OURS, AddressTable, OwnSources
from oborona.reputation.networks import Network

NETWORKS = st.one_of(
    st.builds(
        lambda address, bits: ip_network((address, bits), strict=False),
        st.ip_addresses(v=4).map(str),
        st.integers(0, 32),
    ),
    st.builds(
        lambda address, bits: ip_network((address, bits), strict=False),
        st.ip_addresses(v=6).map(str),
        st.integers(0, 128),
    ),
)


@given(st.lists(NETWORKS, max_size=6), st.lists(st.ip_addresses(), max_size=12), st.data())
def test_ours_are_those_in_our_networks_that_are_nobody_elses(
    networks: list[Network], addresses: list[IPv4Address | IPv6Address], data: st.DataObject
) -> None:
    if networks:  # some that lie within, at their edges
        for network in networks:
            addresses += [network[0], network[-1]]
    table = AddressTable()
    own = OwnSources(networks, table)
    ids = np.array([table.id_of(str(address)) for address in addresses], dtype=np.int64)
    told = own.select(ids).tolist()
    for number, is_ours in zip(ids.tolist(), told, strict=True):
        address = ip_address(table.text_of(number))  # mapped ones are IPv4
        inside = any(address in n for n in networks if n.version == address.version)
        nobodys = any(address in n for n in NEVER_OURS if n.version == address.version)
        assert is_ours == (inside and not nobodys)


def test_private_addresses_are_never_ours() -> None:
    table = AddressTable()
    own = OwnSources([ip_network("0.0.0.0/0"), ip_network("::/0")], table)
    ids = np.array(
        [table.id_of(text) for text in ("10.1.2.3", "127.0.0.1", "fe80::1", "192.0.2.1")]
    )
    assert own.select(ids).tolist() == [False, False, False, True]
