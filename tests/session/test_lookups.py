"""Everything of a process that asks, made from its settings, against a DNS server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from oborona.authentication.model import AuthResult
from oborona.config import DnsSettings, Settings, SiteSettings
from oborona.message.parse import parse
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.session import lookups as asking_module
from oborona.session.lookups import DnsLookups
from oborona.types import Client, Envelope
from tests.authentication.signing import LETTER, dkim_field, rsa
from tests.peers.dns import Fault, Zones

IP = "9.10.11.12"
SIGNED = dkim_field(LETTER, rsa()) + LETTER
LIST = '[[dns_list]]\nname = "{name}"\nzone = "{zone}"\nof = ["client"]\nscore = 60\n'
ENVELOPE = Envelope(client=Client(ip=IP), helo="mail.example.org", sender="anna@example.org")


@asynccontextmanager
async def asking(
    zones: Zones, site: SiteSettings | None = None, **dns: object
) -> AsyncIterator[DnsLookups]:
    settings = Settings(dns=DnsSettings(servers=zones.setting, **dns), site=site or SiteSettings())  # type: ignore[arg-type]
    opened = DnsLookups(settings, "mx.test")
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    text = LIST.format(name="ONE", zone="one.test") + LIST.format(name="DEAD", zone="dead.test")
    (tmp_path / "10.toml").write_text(text)
    return load_policy(tmp_path, SCHEMA)


@pytest.fixture
def world(zones: Zones) -> Zones:
    """A sender who has everything, a list that has him, and a list that is dead."""
    zones.add(
        {
            "12.11.10.9.in-addr.arpa": {"PTR": "mail.example.org."},
            "mail.example.org": {"A": IP, "TXT": "v=spf1 a -all"},
            "example.org": {"TXT": f"v=spf1 ip4:{IP} -all"},
            "s1._domainkey.example.org": {"TXT": rsa().record},
            "_dmarc.example.org": {"TXT": "v=DMARC1; p=reject"},
            "2.0.0.127.one.test": {"A": "127.0.0.2"},
            "12.11.10.9.one.test": {"A": "127.0.0.4"},
        }
    )
    zones.fault("*.dead.test", Fault.HANG)
    return zones


async def test_a_sender_is_proved_and_each_question_reaches_the_server_once(
    world: Zones, policy: Policy
) -> None:
    async with asking(world, timeout_s=0.3) as opened:
        await opened.begin(policy)
        inquirer = opened.inquirer()
        for _ in range(2):
            evidence = await inquirer.whole(parse(SIGNED), ENVELOPE, policy, truncated=False)
            inquirer.end_message()
            identity = evidence.identity
            assert {identity.spf.result, identity.spf_helo.result, identity.iprev.result} == {
                AuthResult.PASS
            }
            assert (identity.dkim_domains, identity.dmarc.result) == (
                ("example.org",),
                AuthResult.PASS,
            )
            assert [one.name for one in evidence.listings] == ["ONE"], "the dead list is not asked"
            assert evidence.unanswered == ()
        inquirer.close()
    asked = [
        (one.name.lower(), one.kind) for one in world.asked if not one.name.endswith("dead.test")
    ]
    assert len(asked) == len(set(asked)), "two messages, and the second cost nothing"
    assert not [name for name, _ in asked if "9.10" in name and name.endswith("dead.test")]


async def test_a_dead_list_holds_up_neither_the_start_nor_the_others(
    world: Zones, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_module, "AT_START_S", 0.3)
    async with asking(world, timeout_s=20) as opened:
        started = time.monotonic()
        await opened.begin(policy)
        assert time.monotonic() - started < 10
        assert {name: one.state for name, one in opened.lists.statuses().items()} == {
            "ONE": "healthy",
            "DEAD": "unknown",
        }


@pytest.mark.parametrize(
    ("questions", "unanswered"),
    [
        (0, {"spf", "dkim", "dmarc", "iprev", "ONE"}),
        (1000, set()),
    ],
)
async def test_a_message_asks_within_its_budget_and_names_who_was_not_asked(
    world: Zones, policy: Policy, questions: int, unanswered: set[str]
) -> None:
    async with asking(world, message_questions=questions) as opened:
        world.heal()
        await opened.begin(policy)
        evidence = await opened.inquirer().whole(parse(SIGNED), ENVELOPE, policy, truncated=False)
        assert set(evidence.unanswered) == unanswered
        assert (evidence.identity.spf.result is AuthResult.TEMPERROR) == ("spf" in unanswered)


async def test_budgets_are_of_one_message_each(world: Zones, policy: Policy) -> None:
    async with asking(world, message_questions=4) as opened:
        inquirer = opened.inquirer()
        for number in range(3):
            # new to the cache: SPF of MAIL FROM and HELO, and the organisation's DMARC
            domain = f"{number}.test"
            here = msgspec.structs.replace(ENVELOPE, helo=domain, sender=f"anna@mail.{domain}")
            letter = LETTER.replace(b"example.org", domain.encode())
            evidence = await inquirer.whole(parse(letter), here, policy, truncated=False)
            assert evidence.unanswered == ()
            inquirer.end_message()
        inquirer.close()


@pytest.mark.parametrize("keeps_nothing", ["no SOA", "TTL 0", "no cache"])
async def test_an_answer_that_may_not_be_kept_is_asked_for_once_a_message(
    policy: Policy, keeps_nothing: str
) -> None:
    ttl, negative_ttl = (0, 0) if keeps_nothing == "TTL 0" else (300, None)
    with Zones(
        {"s1._domainkey.example.org": {"TXT": rsa().record}}, ttl=ttl, negative_ttl=negative_ttl
    ) as zones:
        entries = 0 if keeps_nothing == "no cache" else 10_000
        async with asking(zones, cache_entries=entries) as opened:
            inquirer = opened.inquirer()
            for times in (1, 2):
                await inquirer.whole(parse(SIGNED), ENVELOPE, policy, truncated=False)
                inquirer.end_message()
                assert zones.count("_dmarc.example.org") == times
                assert zones.count("s1._domainkey.example.org") == (
                    times if keeps_nothing != "no SOA" else 1
                )
            inquirer.close()


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.SERVFAIL, Fault.GARBAGE])
async def test_a_dns_that_fails_leaves_everything_unknown_in_bounded_time(
    world: Zones, policy: Policy, fault: Fault
) -> None:
    world.fault("*", fault)
    async with asking(world, timeout_s=0.2, message_s=0.5) as opened:
        async with asyncio.timeout(20):
            evidence = await opened.inquirer().whole(
                parse(SIGNED), ENVELOPE, policy, truncated=False
            )
        assert set(evidence.unanswered) == {"spf", "dkim", "dmarc", "iprev"}
        assert evidence.listings == ()


async def test_closing_ends_what_is_asked(world: Zones, policy: Policy) -> None:
    world.fault("*", Fault.HANG)
    async with asking(world, timeout_s=30, message_s=60) as opened:
        waiting = asyncio.create_task(
            opened.inquirer().whole(parse(SIGNED), ENVELOPE, policy, truncated=False)
        )
        watching = asyncio.create_task(opened.watch(lambda: policy))
        while len(world.asked) < 5:  # noqa: ASYNC110 - another thread's list
            await asyncio.sleep(0.01)
        watching.cancel()
        await opened.close()
        async with asyncio.timeout(20):
            evidence = await waiting
        assert "spf" in evidence.unanswered
        for _ in range(10):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(
    ("ip", "port", "own"),
    [
        ("198.51.100.7", "", True),
        ("198.51.101.7", "", False),
        ("::ffff:198.51.100.7", "25", True),
        ("2001:db8::1", "", True),
        ("2001:db9::1", "", False),
        ("203.0.113.1", "587", True),
        ("203.0.113.1", "25", False),
        ("203.0.113.1", "", False),
        ("", "465", True),
        ("", "", False),
        ("no address", "", False),
    ],
)
async def test_who_is_one_of_ours(zones: Zones, ip: str, port: str, own: bool) -> None:
    site = SiteSettings(networks="198.51.100.0/24 2001:db8::/32", submission_ports="465 587")
    async with asking(zones, site) as opened:
        assert opened.is_own(ip, port) is own


async def test_what_a_message_falls_to_by_chance_is_spread_over_all_percents(zones: Zones) -> None:
    async with asking(zones) as opened:
        drawn = [opened._means.sample() for _ in range(2000)]
    assert all(0 <= one < 100 for one in drawn)
    assert min(drawn) < 10
    assert max(drawn) > 90
