"""Against the servers that sites run: Unbound as the resolver, rbldnsd behind a DNS list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver import Resolver, ResolverAddress
from tests.peers.dns import Fault, Zones
from tests.peers.dns_servers import Rbldnsd, Unbound


@pytest.fixture
def unbound(zones: Zones) -> Iterator[Unbound]:
    zones.add(
        {
            "example.test": {
                "A": ["192.0.2.1", "192.0.2.2"],
                "MX": "10 mx.example.test",
                "TXT": "v=spf1 -all",
            },
            "mx.example.test": {"AAAA": "2001:db8::1"},
            "alias.test": {"CNAME": "second.test"},
            "second.test": {"CNAME": "example.test"},
            "loop.test": {"CNAME": "pool.test"},
            "pool.test": {"CNAME": "loop.test"},
            "long.test": {"TXT": "x" * 20_000},
            "1.2.0.192.in-addr.arpa": {"PTR": "mx.example.test"},
        }
    )
    with Unbound(zones) as server:
        yield server


async def test_unbound_answers_every_kind(unbound: Unbound) -> None:
    async with Resolver([ResolverAddress("127.0.0.1", unbound.port)], timeout_s=20.0) as resolver:
        assert sorted((await resolver.ask("Example.test", DnsType.A)).names) == [
            "192.0.2.1",
            "192.0.2.2",
        ]
        assert (await resolver.ask("mx.example.test", DnsType.AAAA)).names == ("2001:db8::1",)
        assert (await resolver.ask("example.test", DnsType.MX)).exchanges == (
            (10, "mx.example.test"),
        )
        assert (await resolver.ask("example.test", DnsType.TXT)).texts == (b"v=spf1 -all",)
        assert sorted((await resolver.ask("alias.test", DnsType.A)).names) == [
            "192.0.2.1",
            "192.0.2.2",
        ]
        assert (await resolver.ask("alias.test", DnsType.CNAME)).names == ("second.test",)
        assert (await resolver.ask("long.test", DnsType.TXT)).texts == (b"x" * 20_000,)
        assert resolver.stats.streams == 1
        assert (await resolver.ask("1.2.0.192.in-addr.arpa", DnsType.PTR)).names == (
            "mx.example.test",
        )
        denied = await resolver.ask("example.test", DnsType.AAAA)
        assert (denied.outcome, 0 < denied.ttl <= 300) == (DnsOutcome.NO_DATA, True)
        assert (await resolver.ask("alias.test", DnsType.PTR)).outcome is DnsOutcome.NO_DATA
        assert (await resolver.ask("nobody.test", DnsType.A)).outcome is DnsOutcome.NO_NAME
        assert (await resolver.ask("loop.test", DnsType.A)).outcome is DnsOutcome.TEMPERROR


async def test_what_unbound_can_t_resolve_is_an_error(unbound: Unbound, zones: Zones) -> None:
    zones.fault("*", Fault.SERVFAIL)
    async with Resolver([ResolverAddress("127.0.0.1", unbound.port)], timeout_s=30.0) as resolver:
        assert await resolver.ask("example.test", DnsType.A) == DnsAnswer(
            outcome=DnsOutcome.TEMPERROR, why="servfail"
        )


async def test_a_restarted_unbound_is_asked_again(unbound: Unbound) -> None:
    async with Resolver([ResolverAddress("127.0.0.1", unbound.port)], timeout_s=20.0) as resolver:
        assert (await resolver.ask("example.test", DnsType.TXT)).outcome is DnsOutcome.FOUND
        unbound.stop()
        assert (await resolver.ask("example.test", DnsType.A)).why == "unreachable"
        unbound.start()
        assert (await resolver.ask("example.test", DnsType.MX)).outcome is DnsOutcome.FOUND


async def test_rbldnsd_lists() -> None:
    zone = (
        "$SOA 300 ns.test. admin.test. 0 600 300 86400 60\n:127.0.0.2:Listed, see "
        "https://bl.test/$\n192.0.2.66\n"
    )
    with Rbldnsd({"bl.test:ip4set": zone, "bare.test:ip4set": "192.0.2.66\n"}) as lists:
        async with Resolver([ResolverAddress("127.0.0.1", lists.port)], timeout_s=20.0) as resolver:
            assert (await resolver.ask("66.2.0.192.bl.test", DnsType.A)).names == ("127.0.0.2",)
            assert (await resolver.ask("66.2.0.192.bl.test", DnsType.TXT)).texts == (
                b"Listed, see https://bl.test/192.0.2.66",
            )
            assert await resolver.ask("67.2.0.192.bl.test", DnsType.A) == DnsAnswer(
                outcome=DnsOutcome.NO_NAME, ttl=60
            )
            assert await resolver.ask("67.2.0.192.bare.test", DnsType.A) == DnsAnswer(
                outcome=DnsOutcome.NO_NAME
            )
            assert (await resolver.ask("other.test", DnsType.A)).why == "refused"
