"""Reverse names that lead back, and those that do not."""

import pytest

from oborona.authentication.iprev import MAX_NAMES, check_iprev
from oborona.authentication.model import AuthResult, IpRev
from oborona.dns import DnsType
from tests.asking import Table
from tests.peers.dns import Records

PTR = "1.2.0.192.in-addr.arpa"
PTR6 = "1." + "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa"

ZONE: Records = {
    PTR: {"PTR": "mail.example.test."},
    PTR6: {"PTR": ["www.example.test.", "mail.example.test."]},
    "mail.example.test": {"A": ["192.0.2.9", "192.0.2.1"], "AAAA": "2001:db8::1"},
    "www.example.test": {"AAAA": "2001:db8::2"},
}


@pytest.mark.parametrize(
    "ip",
    ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "2001:DB8:0::0:1", "2001:db8::1%eth0"],
)
async def test_pass(ip: str) -> None:
    assert await check_iprev(ip, Table(ZONE)) == IpRev(
        result=AuthResult.PASS, name="mail.example.test"
    )


@pytest.mark.parametrize("ip", ["", "localhost", "192.0.2", "unix:/run/x", "1.2.3.4.5"])
async def test_no_address(ip: str) -> None:
    table = Table(ZONE)
    assert await check_iprev(ip, table) == IpRev()
    assert table.asked == []


@pytest.mark.parametrize(
    ("records", "result"),
    [
        ({}, "permerror"),  # no name
        ({PTR: {"TXT": "x"}}, "permerror"),
        ({PTR: {"PTR": "none.test."}}, "permerror"),  # a name without addresses
        ({PTR: {"PTR": "."}}, "permerror"),
        ({PTR: {"PTR": "a.test."}, "a.test": {"A": "192.0.2.2"}}, "fail"),
        ({PTR: {"PTR": ["none.test.", "a.test."]}, "a.test": {"A": "192.0.2.2"}}, "fail"),
        ({PTR: {"PTR": "a.test."}, "a.test": {"AAAA": "2001:db8::1"}}, "permerror"),
        (
            {PTR: {"CNAME": "b.arpa."}, "b.arpa": {"PTR": "a.test."}, "a.test": {"A": "192.0.2.1"}},
            "pass",
        ),  # RFC 2317
    ],
)
async def test_results(records: Records, result: str) -> None:
    found = await check_iprev("192.0.2.1", Table(records))
    assert found.result == result
    assert bool(found.name) == (result == "pass")


async def test_a_silent_dns_is_a_temporary_error() -> None:
    assert await check_iprev("192.0.2.1", Table(ZONE, broken=[(PTR, "PTR")])) == IpRev(
        result=AuthResult.TEMPERROR
    )
    two: Records = {PTR: {"PTR": ["slow.test.", "a.test."]}, "a.test": {"A": "192.0.2.2"}}
    broken = [("slow.test", "A")]
    assert await check_iprev("192.0.2.1", Table(two, broken=broken)) == IpRev(
        result=AuthResult.TEMPERROR
    )
    right: Records = {**two, "a.test": {"A": "192.0.2.1"}}
    assert (await check_iprev("192.0.2.1", Table(right, broken=broken))).result is AuthResult.PASS


async def test_a_limited_number_of_names_is_tried() -> None:
    table = Table({PTR: {"PTR": [f"{number}.test." for number in range(100)]}})
    await check_iprev("192.0.2.1", table)
    assert [kind for _name, kind in table.asked] == [DnsType.PTR] + [DnsType.A] * MAX_NAMES
