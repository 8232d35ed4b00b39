"""Networks in masses: the narrowest around an address, against the standard library's
arithmetic.
"""

import re
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.networks import Address, Network, NetworkSet, network, networks, pack, plain

# Few bits vary, so that networks lie inside each other and addresses inside networks.
FOUR = st.integers(0, 63).map(lambda low: IPv4Address(0xC0000200 + low))
SIX = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(
    lambda halves: IPv6Address((0x20010DB8 << 96) + (halves[0] << 64) + halves[1])
)
ADDRESSES = st.one_of(FOUR, SIX, st.ip_addresses())


@st.composite
def some_networks(draw: st.DrawFn) -> Network:
    address = draw(ADDRESSES)
    bits = address.max_prefixlen
    length = draw(
        st.one_of(st.integers(0, bits), st.integers(bits - 6, bits), st.sampled_from([63, 64, 65]))
    ) % (bits + 1)
    kind = IPv4Network if address.version == 4 else IPv6Network
    return kind((int(address), length), strict=False)


@given(st.lists(some_networks(), max_size=40), st.lists(ADDRESSES, min_size=1, max_size=20))
def test_the_narrowest_network_is_found(wanted: list[Network], asked: list[Address]) -> None:
    table = NetworkSet((pack(wanted[:7]), pack(wanted[7:])))
    assert len(table) == len(set(wanted))
    for address in [
        *asked,
        *(one.network_address for one in wanted),
        *(one.broadcast_address for one in wanted),
    ]:
        around = [one for one in wanted if address in one]
        expected = max(around, key=lambda one: one.prefixlen) if around else None
        assert table.find(address) == expected
        assert (address in table) == bool(around)


def test_no_networks_hold_nothing() -> None:
    assert len(NetworkSet()) == 0
    assert IPv4Address("0.0.0.0") not in NetworkSet()
    assert IPv6Address("::") not in NetworkSet()


def test_a_deep_nest_is_climbed_to_its_end() -> None:
    nest: list[Network] = [
        IPv4Network((0xFFFFFFFF >> 32 - n << 32 - n if n else 0, n)) for n in range(33)
    ]
    table = NetworkSet((pack(nest),))
    for length in range(32):
        address = IPv4Address(0xFFFFFFFF ^ 1 << 31 - length)  # leaves the nest at this length
        assert table.find(address) == nest[length]
    assert table.find(IPv4Address("255.255.255.255")) == nest[32]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:DB8::7", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:c000:207", "192.0.2.7"),
        ("", None),
        ("192.0.2", None),
        ("192.0.2.07", None),
        ("fe80::1%eth0", None),
        ("[192.0.2.7]", None),
        ("192.0.2.7 ", None),
        ("x" * 10_000, None),
    ],
)
def test_addresses_are_read(text: str, address: str | None) -> None:
    found = plain(text)
    assert (None if found is None else str(found)) == address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("192.0.2.0/255.255.255.0", "192.0.2.0/24"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::/0", "::/0"),
        ("2001:db8::/32", "2001:db8::/32"),
    ],
)
def test_networks_are_read(text: str, shown: str) -> None:
    assert str(network(text)) == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("192.0.2.1/24", "has bits set behind its length; the network is 192.0.2.0/24"),
        ("2001:db8::1/32", "has bits set behind its length; the network is 2001:db8::/32"),
        ("192.0.2.0/33", "is no address and no network"),
        ("192.0.2.256", "is no address and no network"),
        ("fe80::%eth0/64", "has a zone"),
        ("", "is no address and no network"),
        ("/24", "is no address and no network"),
    ],
)
def test_a_wrong_network_is_told(text: str, words: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(words)):
        network(text)


def test_a_site_writes_its_networks_in_one_line() -> None:
    own = networks("192.0.2.0/24,2001:db8::/32  198.51.100.7")
    assert [IPv4Address("192.0.2.200") in own, IPv6Address("2001:db8:1::1") in own] == [True, True]
    assert [IPv4Address("198.51.100.7") in own, IPv4Address("198.51.100.8") in own] == [True, False]
    assert len(networks("")) == 0
    with pytest.raises(ValueError, match=r"^192\.0\.2\.1/24 has bits set"):
        networks("198.51.100.7 192.0.2.1/24")


@given(st.text(max_size=60))
def test_any_text_is_networks_or_refused(text: str) -> None:
    plain(text)
    with suppress(ValueError):
        networks(text)
