"""A real server of DNS lists, asked through the resolver that workers use."""

from collections.abc import AsyncIterator, Iterator

import pytest

from oborona.dns import DnsType
from oborona.reputation.dnsbl import (
    DnsblFault,
    DnsblHealth,
    DnsblInputs,
    DnsblListing,
    DnsblState,
    DnsblStateChange,
    DnsList,
    parse,
    questions,
    read,
)
from oborona.reputation.networks import NOWHERE
from oborona.reputation.subject import ListSubject
from oborona.resolver import Resolver, ResolverAddress
from tests.peers.dns_servers import Rbldnsd

ZEN = (
    "$TTL 1\n:127.0.0.2:spam\n127.0.0.2\n9.10.11.0/24 :127.0.0.4:infected\n9.10.11.7 "
    ":127.0.0.10:dial-up\n!9.10.11.8\n"
)
SIX = "$TTL 1\n:127.0.0.2:spam\n::ffff:7f00:2\n2001:470:1::/48\n"
DBL = "$TTL 1\n:127.0.1.2:spam\ntest\n.spam.example\nphish.example.net :127.0.1.4:phishing\n"
DENIED = "$TTL 1\n:127.255.255.254:query refused, open resolver\n0.0.0.0/0\n"
WORLD = "$TTL 1\n:127.0.0.2:we are closed\n0.0.0.0/0\n"
EMPTY = "$TTL 1\n:127.0.0.2:gone\n"


def zen(zone: str = "zen.test") -> DnsList:
    return DnsList(
        name="ZEN",
        zone=zone,
        of=(ListSubject.CLIENT,),
        codes=parse({"127.0.0.2": 150, "127.0.0.4-7": 120, "127.0.0.10": 60}, None),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[Rbldnsd]:
    zones = {
        "zen.test:ip4trie": ZEN, "six.test:ip6trie": SIX, "dbl.test:dnset": DBL, "denied.test:ip4trie": DENIED,
        "world.test:ip4trie": WORLD, "empty.test:ip4trie": EMPTY,
    }  # fmt: skip
    with Rbldnsd(zones) as running:
        yield running


@pytest.fixture
async def resolver(server: Rbldnsd) -> AsyncIterator[Resolver]:
    async with Resolver([ResolverAddress("127.0.0.1", server.port)]) as asking:
        yield asking


async def probed(health: DnsblHealth, resolver: Resolver, now: float) -> list[DnsblStateChange]:
    events = [
        health.heard(question, await resolver.ask(question.name, DnsType.A), now)
        for question in health.due(now)
    ]
    return [event for event in events if event is not None]


async def looked(one: DnsList, asked: DnsblInputs, resolver: Resolver) -> list[DnsblListing]:
    results = [
        read(question, await resolver.ask(question.name, DnsType.A))
        for question in questions([one], asked, NOWHERE, lambda _: True)
    ]
    return [result for result in results if isinstance(result, DnsblListing)]


@pytest.mark.parametrize(
    ("client", "code", "score"),
    [
        ("9.10.11.12", "127.0.0.4", 120),
        ("9.10.11.7", "127.0.0.10", 60),
        ("9.10.11.8", "", 0),
        ("9.10.12.1", "", 0),
    ],
)
async def test_clients_are_listed_with_their_codes(
    resolver: Resolver, client: str, code: str, score: float
) -> None:
    listings = await looked(zen(), DnsblInputs(client=client), resolver)
    assert [(one.asked, one.codes, one.score) for one in listings] == (
        [(client, (code,), score)] if code else []
    )


async def test_ipv6_clients_are_listed(resolver: Resolver) -> None:
    six = DnsList(
        name="SIX",
        zone="six.test",
        of=(ListSubject.CLIENT,),
        codes=parse({}, 5),
        ipv4=False,
        ipv6=True,
    )
    assert [event.state for event in await probed(DnsblHealth([six]), resolver, 0.0)] == [
        DnsblState.HEALTHY
    ]
    assert len(await looked(six, DnsblInputs(client="2001:470:1::25"), resolver)) == 1
    assert len(await looked(six, DnsblInputs(client="2001:470:2::25"), resolver)) == 0


async def test_names_of_every_subject_are_listed(resolver: Resolver) -> None:
    subjects = (ListSubject.HELO, ListSubject.SENDER, ListSubject.FROM, ListSubject.LINKS)
    dbl = DnsList(
        name="DBL",
        zone="dbl.test",
        of=subjects,
        codes=parse({"127.0.1.2": 100, "127.0.1.4": 150}, None),
        whole=True,
    )
    assert [event.state for event in await probed(DnsblHealth([dbl]), resolver, 0.0)] == [
        DnsblState.HEALTHY
    ]
    asked = DnsblInputs(
        helo="mx.spam.example",
        sender="a@example.net",
        from_=("b@spam.example",),
        links=("phish.example.net", "www.example.net"),
    )
    listings = await looked(dbl, asked, resolver)
    assert [(one.of, one.asked, one.score) for one in listings] == [
        (ListSubject.HELO, "mx.spam.example", 100),
        (ListSubject.FROM, "spam.example", 100),
        (ListSubject.LINKS, "phish.example.net", 150),
    ]


@pytest.mark.parametrize(
    ("zone", "fault"),
    [
        ("denied.test", DnsblFault.REFUSED),
        ("world.test", DnsblFault.LISTED),
        ("empty.test", DnsblFault.NOT_LISTED),
        ("nobody.test", DnsblFault.TEMPERROR),
    ],
)
async def test_a_list_that_can_not_be_believed_is_found_out(
    resolver: Resolver, zone: str, fault: DnsblFault
) -> None:
    one = zen(zone)
    health = DnsblHealth([one])
    (event,) = await probed(health, resolver, 0.0)
    assert (event.state, event.fault) == (DnsblState.SICK, fault)
    assert not health.asks(one)
    if zone == "denied.test":
        assert await looked(one, DnsblInputs(client="9.10.11.12"), resolver) == []


async def test_a_list_that_begins_to_refuse_is_out_and_comes_back(
    resolver: Resolver, server: Rbldnsd
) -> None:
    one = zen()
    health = DnsblHealth([one])
    assert [event.state for event in await probed(health, resolver, 0.0)] == [DnsblState.HEALTHY]
    server.write("zen.test:ip4trie", DENIED)
    try:
        (question,) = questions([one], DnsblInputs(client="9.77.1.1"), NOWHERE, health.asks)
        event = health.heard(question, await resolver.ask(question.name, DnsType.A), 1.0)
        assert event is not None
        assert (event.state, event.fault) == (DnsblState.SICK, DnsblFault.REFUSED)
        assert questions([one], DnsblInputs(client="9.77.1.1"), NOWHERE, health.asks) == ()
    finally:
        server.write("zen.test:ip4trie", ZEN)
    async with Resolver(
        [ResolverAddress("127.0.0.1", server.port)]
    ) as later:  # what the other one still remembers is not waited for
        assert [event.state for event in await probed(health, later, 20.0)] == [DnsblState.HEALTHY]
    assert health.asks(one)
