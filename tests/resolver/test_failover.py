"""Servers that are silent, away or unwilling, and the deadline over all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import dns.message
import pytest

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver import Resolver, ResolverAddress
from oborona.resolver.server_health import LAST_S, SILENT, ServerHealth
from tests.peers.dns import Fault, Zones

Make = Callable[..., Resolver]
SLACK_S = 5.0  # bounds a hang on a busy machine
FOUND = DnsAnswer(outcome=DnsOutcome.FOUND, records=("192.0.2.1",), ttl=300)
RECORDS = {"example.test": {"A": "192.0.2.1", "TXT": "x" * 3000}}


@pytest.fixture(autouse=True)
def fill(zones: Zones) -> None:
    zones.add(RECORDS)


@pytest.fixture
def second() -> Iterator[Zones]:
    with Zones(RECORDS) as server:
        yield server


async def ask(resolver: Resolver, kind: DnsType = DnsType.A) -> DnsAnswer:
    return await asyncio.wait_for(resolver.ask("example.test", kind), SLACK_S)


@pytest.mark.parametrize(
    "fault", [Fault.HANG, Fault.WRONG_ID, Fault.WRONG_NAME, Fault.WRONG_KIND, Fault.CUT_OFF]
)
async def test_a_question_that_nobody_answers_ends_in_its_time(
    make: Make, zones: Zones, fault: Fault
) -> None:
    zones.fault("*", fault)
    async with make(timeout_s=0.3) as resolver:
        begin = time.monotonic()
        assert await ask(resolver) == DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="timeout")
        assert time.monotonic() - begin >= 0.29
    assert sum(not one.tcp for one in zones.asked) == 2  # tries


async def test_the_deadline_holds_over_a_chain_of_slow_links(make: Make, zones: Zones) -> None:
    zones.add({f"n{number}.test": {"CNAME": f"n{number + 1}.test"} for number in range(10)})

    def slowly(question: dns.message.Message) -> list[bytes]:
        time.sleep(0.1)
        return [zones.answer(question, chase=False).to_wire()]

    zones.reply("*", slowly)
    async with make(timeout_s=0.35) as resolver:
        answer = await asyncio.wait_for(resolver.ask("n0.test", DnsType.A), SLACK_S)
        assert answer == DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="timeout")
    assert len({one.name for one in zones.asked}) < 8


async def test_an_answer_after_the_first_turn_is_as_good(make: Make, zones: Zones) -> None:
    zones.fault("example.test", Fault.HANG)  # the second try
    zones.delay("example.test", 0.6, times=1)  # the first: it comes behind the second question
    async with make(timeout_s=1.2) as resolver:
        assert await ask(resolver) == FOUND
        assert resolver.stats.sent == 2
        assert resolver.stats.timeouts == 1


async def test_a_lost_datagram_is_sent_again(make: Make, zones: Zones) -> None:
    zones.fault("example.test", Fault.HANG, times=1)
    async with make() as resolver:
        assert await ask(resolver) == FOUND
    ids = [one.id for one in zones.asked]
    assert len(ids) == 2


async def test_the_next_server_is_asked_when_the_first_is_silent(
    make: Make, zones: Zones, second: Zones
) -> None:
    zones.fault("*", Fault.HANG)
    async with make(second, timeout_s=1.0) as resolver:
        assert await ask(resolver) == FOUND
        assert resolver.stats.timeouts == 1
    assert (len(zones.asked), len(second.asked)) == (1, 1)


@pytest.mark.parametrize("fault", [Fault.SERVFAIL, Fault.REFUSED, Fault.FORMERR])
async def test_the_next_server_is_asked_at_once_when_the_first_is_unwilling(
    make: Make, zones: Zones, second: Zones, fault: Fault
) -> None:
    zones.fault("*", fault)
    async with make(second, timeout_s=60.0) as resolver:
        assert await ask(resolver) == FOUND
        second.fault("*", Fault.REFUSED)
        assert await ask(resolver, DnsType.MX) == DnsAnswer(
            outcome=DnsOutcome.TEMPERROR, why=fault.value
        )
    assert (len(zones.asked), len(second.asked)) == (2, 2)


async def test_an_unwilling_server_s_word_stands_when_the_other_is_silent(
    make: Make, zones: Zones, second: Zones
) -> None:
    zones.fault("*", Fault.SERVFAIL)
    second.fault("*", Fault.HANG)
    async with make(second, timeout_s=0.3) as resolver:
        assert (await ask(resolver)).why == "servfail"


async def test_a_server_that_is_away_is_known_at_once(
    make: Make, zones: Zones, second: Zones
) -> None:
    zones.stop()
    async with make(second, timeout_s=60.0) as resolver:
        assert await ask(resolver) == FOUND
        assert resolver.stats.unreachable == 1
        second.stop()
        assert await ask(resolver, DnsType.MX) == DnsAnswer(
            outcome=DnsOutcome.TEMPERROR, why="unreachable"
        )
        zones.start()
        assert (await ask(resolver, DnsType.TXT)).texts == (b"x" * 3000,)
        second.start()
        zones.stop()
        assert (await ask(resolver, DnsType.AAAA)).outcome is DnsOutcome.NO_DATA


async def test_a_server_without_tcp_is_asked_no_more(
    make: Make, zones: Zones, second: Zones
) -> None:
    zones.fault("*", Fault.CUT_OFF)
    async with make(second, timeout_s=1.0) as resolver:
        assert (await ask(resolver, DnsType.TXT)).texts == (b"x" * 3000,)
        assert resolver.stats.streams == 2
    assert [one.tcp for one in second.asked] == [False, True]


async def test_a_silent_server_is_asked_last_for_a_while(
    make: Make, zones: Zones, second: Zones
) -> None:
    zones.fault("*", Fault.HANG)
    async with make(second, timeout_s=0.3) as resolver:
        for number in range(SILENT):
            assert (await resolver.ask(f"n{number}.test", DnsType.A)).outcome is DnsOutcome.NO_NAME
        asked = len(zones.asked)
        assert asked == SILENT
        assert (await resolver.ask("another.test", DnsType.A)).outcome is DnsOutcome.NO_NAME
        assert len(zones.asked) == asked


def test_standing_is_forgotten_in_time_or_by_an_answer() -> None:
    one, two = ResolverAddress("192.0.2.1"), ResolverAddress("192.0.2.2")
    standing = ServerHealth([one, two])
    for _ in range(SILENT):
        assert standing.order(10.0) == [one, two]
        standing.silent(one, 10.0)
    assert standing.order(10.0 + LAST_S - 0.1) == [two, one]
    assert standing.order(10.0 + LAST_S) == [one, two]
    standing.silent(one, 20.0)
    assert standing.order(20.0) == [two, one]
    for _ in range(SILENT):
        standing.silent(two, 20.0)
    assert standing.order(20.0) == [one, two]
    standing.answered(two)
    assert standing.order(20.0) == [two, one]
    standing.answered(one)
    assert standing.order(20.0) == [one, two]


async def test_a_server_no_way_leads_to() -> None:
    async with Resolver([ResolverAddress("fe80::1%nowhere")], timeout_s=60.0) as resolver:
        assert await ask(resolver) == DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="unreachable")


async def test_a_server_that_may_not_be_asked() -> None:
    # EACCES: a broadcast
    async with Resolver([ResolverAddress("255.255.255.255")], timeout_s=60.0) as resolver:
        assert await ask(resolver) == DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="unreachable")
        assert resolver.stats.unreachable == 1


async def test_many_questions_to_a_server_that_is_away_all_end_at_once(
    make: Make, zones: Zones
) -> None:
    zones.stop()
    async with make(timeout_s=60.0) as resolver:
        asking = (resolver.ask(f"n{number}.test", DnsType.A) for number in range(20))
        answers = await asyncio.wait_for(asyncio.gather(*asking), SLACK_S)
        assert {answer.why for answer in answers} == {"unreachable"}
        assert resolver.stats.sent + resolver.stats.unreachable >= 20
        zones.start()
        assert await ask(resolver) == FOUND
