"""Questions and answers of every kind, over real sockets."""

from __future__ import annotations

from collections.abc import Callable

import dns.flags
import dns.message
import pytest

from oborona.dns import DnsAnswer, DnsOutcome, DnsRecord, DnsType
from oborona.resolver import Resolver, ResolverStats
from tests.peers.dns import Fault, Values, Zones

Make = Callable[..., Resolver]

RECORDS: dict[str, dict[str, Values]] = {
    "example.test": {
        "A": ["192.0.2.1", "192.0.2.2"],
        "AAAA": "2001:0db8:0:0::1",
        "MX": ["10 MX1.example.test", "20 mx2.example.test"],
        "TXT": ["v=spf1 -all", b"\xff" * 300],
        "NS": "ns.example.test",
        "SOA": "ns.example.test root.example.test 1 2 3 4 5",
    },
    "nullmx.test": {"MX": "0 ."},
    "1.2.0.192.in-addr.arpa": {"PTR": r"Odd\.label.example.test"},
    "alias.test": {"CNAME": "second.test"},
    "second.test": {"CNAME": "example.test"},
    "dangling.test": {"CNAME": "nobody.test"},
    "loop.test": {"CNAME": "pool.test"},
    "pool.test": {"CNAME": "loop.test"},
    "xn--bcher-kva.test": {"A": "192.0.2.3"},
    "": {"NS": "a.root.test"},
    "long.test": {"TXT": "x" * 20_000},
}


@pytest.fixture(autouse=True)
def fill(zones: Zones) -> None:
    zones.add(RECORDS)


@pytest.mark.parametrize(
    ("name", "kind", "records"),
    [
        ("example.test", DnsType.A, ("192.0.2.1", "192.0.2.2")),
        ("EXAMPLE.test.", DnsType.AAAA, ("2001:db8::1",)),
        ("example.test", DnsType.MX, ((10, "mx1.example.test"), (20, "mx2.example.test"))),
        ("example.test", DnsType.TXT, (b"v=spf1 -all", b"\xff" * 300)),
        ("example.test", DnsType.NS, ("ns.example.test",)),
        ("example.test", DnsType.SOA, ("ns.example.test root.example.test 1 2 3 4 5",)),
        ("nullmx.test", DnsType.MX, ((0, ""),)),
        ("1.2.0.192.in-addr.arpa", DnsType.PTR, (r"odd\.label.example.test",)),
        ("alias.test", DnsType.A, ("192.0.2.1", "192.0.2.2")),
        ("alias.test", DnsType.CNAME, ("second.test",)),
        ("bücher.test", DnsType.A, ("192.0.2.3",)),
        ("long.test", DnsType.TXT, (b"x" * 20_000,)),
        (".", DnsType.NS, ("a.root.test",)),
    ],
)
async def test_records_are_found(
    make: Make, name: str, kind: DnsType, records: tuple[DnsRecord, ...]
) -> None:
    async with make() as resolver:
        assert await resolver.ask(name, kind) == DnsAnswer(
            outcome=DnsOutcome.FOUND, records=records, ttl=300
        )


async def test_an_answer_has_records_by_their_kind(make: Make) -> None:
    async with make() as resolver:
        assert (await resolver.ask("example.test", DnsType.TXT)).texts == (
            b"v=spf1 -all",
            b"\xff" * 300,
        )
        assert (await resolver.ask("example.test", DnsType.MX)).exchanges[0] == (
            10,
            "mx1.example.test",
        )
        assert (await resolver.ask("example.test", DnsType.A)).names == ("192.0.2.1", "192.0.2.2")


@pytest.mark.parametrize(
    ("name", "kind", "outcome"),
    [
        ("example.test", DnsType.PTR, DnsOutcome.NO_DATA),
        ("test", DnsType.A, DnsOutcome.NO_DATA),  # has names below it
        ("nobody.test", DnsType.A, DnsOutcome.NO_NAME),
        ("dangling.test", DnsType.A, DnsOutcome.NO_NAME),
        ("alias.test", DnsType.PTR, DnsOutcome.NO_DATA),
    ],
)
async def test_denials(make: Make, name: str, kind: DnsType, outcome: DnsOutcome) -> None:
    async with make() as resolver:
        assert await resolver.ask(name, kind) == DnsAnswer(outcome=outcome, ttl=300)


@pytest.mark.parametrize(
    "name", ["", "..", "a..test", "x" * 64 + ".test", "y" * 300, "\ud800", "ü" * 70 + ".test"]
)
async def test_what_can_be_no_name_costs_no_question(make: Make, zones: Zones, name: str) -> None:
    async with make() as resolver:
        assert await resolver.ask(name, DnsType.A) == DnsAnswer(outcome=DnsOutcome.NO_NAME)
        assert resolver.known(name, DnsType.A) == DnsAnswer(outcome=DnsOutcome.NO_NAME)
    assert zones.asked == []


async def test_a_loop_of_cnames_is_an_error(make: Make, zones: Zones) -> None:
    async with make() as resolver:
        assert await resolver.ask("loop.test", DnsType.A) == DnsAnswer(
            outcome=DnsOutcome.TEMPERROR, why="cname-loop"
        )
        zones.fault("*", Fault.NO_CHASE)
        assert await resolver.ask("pool.test", DnsType.A) == DnsAnswer(
            outcome=DnsOutcome.TEMPERROR, why="cname-loop"
        )
    assert zones.count("loop.test") == 2


async def test_cnames_are_asked_on_where_the_server_does_not(make: Make, zones: Zones) -> None:
    zones.fault("*", Fault.NO_CHASE)
    async with make() as resolver:
        assert (await resolver.ask("alias.test", DnsType.AAAA)).names == ("2001:db8::1",)
        assert (await resolver.ask("dangling.test", DnsType.A)).outcome is DnsOutcome.NO_NAME
    assert [one.name for one in zones.asked] == [
        "alias.test", "second.test", "example.test", "dangling.test", "nobody.test",
    ]  # fmt: skip


async def test_cut_answers_are_fetched_over_tcp(make: Make, zones: Zones) -> None:
    zones.fault("example.test", Fault.TRUNCATED)
    async with make() as resolver:
        assert (await resolver.ask("example.test", DnsType.A)).names == ("192.0.2.1", "192.0.2.2")
        assert resolver.stats == ResolverStats(questions=1, sent=1, streams=1)
    assert [one.tcp for one in zones.asked] == [False, True]


async def test_questions_say_what_size_of_datagram_they_take(make: Make, zones: Zones) -> None:
    seen: list[dns.message.Message] = []

    def reply(question: dns.message.Message) -> list[bytes]:
        seen.append(question)
        return [zones.answer(question).to_wire()]

    zones.reply("*", reply)
    async with make() as resolver:
        await resolver.ask("Example.test", DnsType.MX)
    assert (seen[0].edns, seen[0].payload, seen[0].flags) == (0, 1232, dns.flags.RD)


@pytest.mark.parametrize("fault", [Fault.SERVFAIL, Fault.REFUSED, Fault.FORMERR, Fault.NOTIMP])
async def test_a_server_s_error_is_nobody_s_guilt(make: Make, zones: Zones, fault: Fault) -> None:
    zones.fault("example.test", fault)
    async with make() as resolver:
        answer = await resolver.ask("example.test", DnsType.A)
        assert answer == DnsAnswer(outcome=DnsOutcome.TEMPERROR, why=fault.value)
        assert resolver.stats.servfails == (fault is Fault.SERVFAIL)
        assert resolver.stats.refused == (fault is not Fault.SERVFAIL)
    assert zones.count("example.test") == 1  # it has said that it can't


async def test_answers_are_kept(make: Make, zones: Zones) -> None:
    now = 50.0
    async with make(clock=lambda: now) as resolver:
        assert resolver.known("example.test", DnsType.A) is None
        first = await resolver.ask("example.test", DnsType.A)
        denied = await resolver.ask("nobody.test", DnsType.A)
        now += 100
        again = await resolver.ask("EXAMPLE.TEST.", DnsType.A)
        assert (again.records, again.ttl) == (first.records, 200)
        assert resolver.known("example.test", DnsType.A) == again
        assert await resolver.ask("nobody.test", DnsType.A) == DnsAnswer(
            outcome=denied.outcome, ttl=200, again=True
        )
        # another question
        assert (await resolver.ask("example.test", DnsType.AAAA)).names == ("2001:db8::1",)
        now += 200
        assert await resolver.ask("example.test", DnsType.A) == first
        assert resolver.stats == ResolverStats(questions=6 + 1, cached=3, sent=4)
    assert zones.count("example.test", "A") == 2
    assert zones.count("nobody.test", "A") == 1


async def test_a_failure_is_kept_for_a_moment(make: Make, zones: Zones) -> None:
    now = 50.0
    zones.fault("example.test", Fault.SERVFAIL, times=1)
    async with make(clock=lambda: now) as resolver:
        assert (await resolver.ask("example.test", DnsType.A)).outcome is DnsOutcome.TEMPERROR
        assert (await resolver.ask("example.test", DnsType.A)).why == "servfail"
        assert zones.count("example.test") == 1
        now += 2
        assert (await resolver.ask("example.test", DnsType.A)).outcome is DnsOutcome.FOUND


async def test_denials_without_soa_are_not_kept(make: Make, zones: Zones) -> None:
    zones.negative_ttl = None
    async with make() as resolver:
        for _ in range(2):
            assert await resolver.ask("nobody.test", DnsType.A) == DnsAnswer(
                outcome=DnsOutcome.NO_NAME
            )
    assert zones.count("nobody.test") == 2
