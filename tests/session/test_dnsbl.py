"""The DNS lists of a worker: whom they are asked about, when they are believed, what they say of
themselves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from oborona.config import parse_servers
from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.reputation.dnsbl import DnsblInputs, DnsList
from oborona.reputation.dnsbl.health import FIRST_S, HEALTHY_S, LOST, SPAN_S
from oborona.reputation.networks import NOWHERE, networks
from oborona.resolver import BudgetedAsker, Resolver
from oborona.session import dnsbl as lists_module
from oborona.session.dnsbl import HEALTHY, QUESTIONS, DnsblClient, DnsblResult
from tests.asking import Table
from tests.peers.dns import Fault, Records, Zones

WALL = 1_800_000_000.0
IP = "9.10.11.12"
TABLE = '[[dns_list]]\nname = "{name}"\nzone = "{zone}"\nof = ["client"]\nscore = 60\n'
NOBODY = DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=60)


def right(zone: str) -> Records:
    """A list that has its test point, and our client."""
    return {
        f"2.0.0.127.{zone}": {"A": "127.0.0.2"},
        f"12.11.10.9.{zone}": {"A": "127.0.0.4"},
    }


class Bank:
    """Lists with a clock, and a DNS that a test changes."""

    def __init__(self, folder: Path, *zones: str, own: str = "") -> None:
        self.now = 1000.0
        self.folder = folder
        self.policy = self.lists_of(*zones)
        self.dns = Table({name: said for zone in zones for name, said in right(zone).items()})
        self.lists = DnsblClient(self.dns, networks(own), lambda: self.now, lambda: WALL + self.now)

    def lists_of(self, *zones: str) -> tuple[DnsList, ...]:
        text = "".join(
            TABLE.format(name=zone.partition(".")[0].upper(), zone=zone) for zone in zones
        )
        (self.folder / "10.toml").write_text(text)
        return load_policy(self.folder, SCHEMA).dns_lists

    def say(self, name: str, code: str) -> None:
        self.dns.broken.discard((name, "A"))
        self.dns.zones.add({name: {"A": code}})

    def fail(self, name: str) -> None:
        self.dns.broken.add((name, "A"))

    async def probe(self) -> None:
        await self.lists.probe(self.policy)

    async def look(self, client: str = IP) -> DnsblResult:
        return await self.lists.look(DnsblInputs(client=client), self.policy, self.dns)

    def state(self, name: str) -> str:
        return self.lists.statuses()[name].state


class Unknowing(Table):
    """Has no answer at hand."""

    def known(self, name: str, kind: DnsType) -> DnsAnswer | None:
        return None


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, dict[str, object]]]:
    return [
        (record.levelname, record.getMessage(), record.__dict__["fields"])
        for record in caplog.records
        if record.name == "oborona.lists"
    ]


async def test_a_list_is_asked_once_it_has_shown_that_it_is_well(tmp_path: Path) -> None:
    bank = Bank(tmp_path, "one.test", "two.test")
    assert bank.lists.statuses() == {}
    assert await bank.look() == DnsblResult()
    assert bank.dns.asked == []
    bank.dns.zones.remove("2.0.0.127.two.test")
    await bank.probe()
    assert (bank.state("ONE"), bank.state("TWO")) == ("healthy", "sick")
    looked = await bank.look()
    assert [(one.name, one.score, one.codes) for one in looked.listings] == [
        ("ONE", 60, ("127.0.0.4",))
    ]
    assert looked.unanswered == (), "who is not asked can't fail to answer"
    assert "its test point" in bank.lists.statuses()["TWO"].why


async def test_a_list_that_does_not_answer_holds_up_no_other(tmp_path: Path) -> None:
    bank = Bank(tmp_path, "one.test", "dead.test")
    ask = bank.dns.ask

    async def wait_for(name: str, kind: DnsType) -> DnsAnswer:
        if name.endswith(".dead.test"):
            await asyncio.Event().wait()
        return await ask(name, kind)

    bank.dns.ask = wait_for  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await bank.probe()
    assert (bank.state("ONE"), bank.state("DEAD")) == ("healthy", "unknown")


async def test_questions_and_answers_are_counted(tmp_path: Path) -> None:
    bank = Bank(tmp_path, "one.test")
    await bank.probe()
    bank.fail("14.11.10.9.one.test")
    for last in (12, 13, 14, 14):
        await bank.look(f"9.10.11.{last}")
    assert bank.lists.statuses()["ONE"].state == "healthy"
    assert HEALTHY.values == {("ONE",): 1}
    assert QUESTIONS.values == {
        ("ONE", "listed"): 1,
        ("ONE", "unanswered"): 2,
        ("ONE", "unlisted"): 1,
    }
    assert (await bank.look("9.10.11.14")).unanswered == ("ONE",)


async def test_our_own_networks_are_not_asked_about(tmp_path: Path) -> None:
    bank = Bank(tmp_path, "one.test", own="9.10.0.0/16")
    await bank.probe()
    bank.dns.asked.clear()
    assert await bank.look() == DnsblResult()
    assert await bank.look("10.0.0.1") == DnsblResult()
    assert bank.dns.asked == []
    await bank.look("9.11.0.1")
    assert bank.dns.asked == [("1.0.11.9.one.test", DnsType.A)]


async def test_a_list_that_falls_silent_is_left_alone_until_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona.lists")
    bank = Bank(tmp_path, "one.test")
    await bank.probe()
    assert lines(caplog) == [("INFO", "DNS list is well", {"list": "ONE"})]
    caplog.clear()
    bank.now += HEALTHY_S
    bank.fail("12.11.10.9.one.test")
    for _ in range(LOST - 1):
        await bank.look()
    bank.now += SPAN_S
    for _ in range(3):
        await bank.look()
    status = bank.lists.statuses()["ONE"]
    assert (status.state, status.since) == ("sick", WALL + 1000 + HEALTHY_S + SPAN_S)
    assert HEALTHY.values == {("ONE",): 0}
    assert QUESTIONS.values == {
        ("ONE", "listed"): 0,
        ("ONE", "unanswered"): LOST,
        ("ONE", "unlisted"): 0,
    }, "nobody waits for it any more"
    ((level, text, fields),) = lines(caplog)
    assert (level, text, fields["list"]) == (
        "WARNING",
        "DNS list counts nothing until it is well",
        "ONE",
    )
    assert "timeout" in str(fields["why"])
    caplog.clear()
    bank.now += FIRST_S - 1
    await bank.probe()
    assert bank.state("ONE") == "sick"
    bank.now += 2
    await bank.probe()
    assert bank.state("ONE") == "healthy"
    assert bank.lists.statuses()["ONE"].since == 0
    assert [text for _, text, _ in lines(caplog)] == ["DNS list is well"]


BAD: dict[str, tuple[str, str]] = {
    "refuses us": ("12.11.10.9.one.test", "127.255.255.254"),
    "is made up on the way": ("12.11.10.9.one.test", "203.0.113.80"),
    "lists the world": ("1.0.0.127.one.test", "127.0.0.2"),
}


@pytest.mark.parametrize(("name", "code"), BAD.values(), ids=BAD)
async def test_a_list_that_can_not_be_believed_counts_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, code: str
) -> None:
    bank = Bank(tmp_path, "one.test")
    await bank.probe()
    bank.say(name, code)
    bank.now += HEALTHY_S
    await bank.probe()
    looked = await bank.look()
    assert bank.state("ONE") == "sick"
    assert looked.listings == ()
    await bank.look()
    assert sum(level == "WARNING" for level, _, _ in lines(caplog)) == 1, "said once"


async def test_used_up_budgets_are_no_fault_of_a_list(tmp_path: Path) -> None:
    bank = Bank(tmp_path, "one.test")
    await bank.probe()
    for _ in range(3 * LOST):
        bank.now += 1
        spent = BudgetedAsker(Unknowing(), questions=0, seconds=1)
        assert (await bank.lists.look(DnsblInputs(client=IP), bank.policy, spent)).unanswered == (
            "ONE",
        )
    assert bank.state("ONE") == "healthy"


async def test_a_moment_without_the_resolver_makes_no_list_sick(tmp_path: Path) -> None:
    links = TABLE.replace("client", "links").format(name="ONE", zone="one.test")
    (tmp_path / "10.toml").write_text(links + 'probe = ""\n')
    policy = load_policy(tmp_path, SCHEMA).dns_lists
    asked = DnsblInputs(links=tuple(f"l{number}.test" for number in range(6)))
    with Zones({}) as zones:
        async with Resolver(parse_servers(zones.setting), timeout_s=0.3) as resolver:
            lists = DnsblClient(resolver, NOWHERE, time.monotonic, time.time)
            await lists.probe(policy)
            zones.fault("*", Fault.HANG)
            for _ in range(3):  # a burst, and what the resolver remembers of it
                assert (await lists.look(asked, policy, resolver)).unanswered == ("ONE",)
            status = lists.statuses()["ONE"]
    assert (status.state, QUESTIONS.value("ONE", "unanswered")) == ("healthy", 18)


async def test_the_zone_with_its_key_is_in_no_word_of_ours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bank = Bank(tmp_path, "one.k3y.test")
    await bank.probe()
    bank.say("12.11.10.9.one.k3y.test", "127.255.255.254")
    await bank.look()
    told = f"{bank.lists.statuses()} {[record.__dict__ for record in caplog.records]}"
    assert "ONE" in told
    assert "k3y" not in told


async def test_lists_of_a_new_policy_are_probed_and_those_that_stay_keep_their_health(
    tmp_path: Path,
) -> None:
    bank = Bank(tmp_path, "one.test")
    await bank.probe()
    bank.policy = bank.lists_of("one.test", "two.test")
    assert bank.lists.statuses().keys() == {"ONE"}
    bank.dns.asked.clear()
    await bank.probe()
    assert (bank.state("ONE"), bank.state("TWO")) == ("healthy", "sick")
    assert {name.partition("127.")[2] for name, _ in bank.dns.asked} == {"two.test"}, (
        "ONE is not due yet"
    )
    bank.policy = bank.lists_of("two.test")
    await bank.probe()
    assert bank.lists.statuses().keys() == {"TWO"}


async def test_they_are_probed_by_the_clock_until_the_worker_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists_module, "PROBE_S", 0.01)
    bank = Bank(tmp_path, "one.test")
    bank.fail("2.0.0.127.one.test")
    watch = asyncio.create_task(bank.lists.watch(lambda: bank.policy))
    async with asyncio.timeout(30):
        while not bank.lists.statuses() or bank.state("ONE") != "sick":  # noqa: ASYNC110 - has no event
            await asyncio.sleep(0.01)
        bank.say("2.0.0.127.one.test", "127.0.0.2")
        bank.now += FIRST_S
        while bank.state("ONE") != "healthy":  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def never(name: str, kind: DnsType) -> DnsAnswer:
        await asyncio.Event().wait()
        return NOBODY

    bank.dns.ask = never  # type: ignore[method-assign]
    bank.now += HEALTHY_S
    await asyncio.sleep(0.05)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "no probe is left"
