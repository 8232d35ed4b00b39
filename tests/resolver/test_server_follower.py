"""A resolver that follows the system's file, and says when the DNS is of no use."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import dns.message
import pytest

from oborona.dns import DnsOutcome, DnsType
from oborona.resolver import FollowedServers, Resolver, ResolverAddress
from oborona.resolver.server_follower import FAILING
from tests.peers.dns import Zones

RECORDS = {"example.test": {"A": "192.0.2.1"}}
AWAY = "127.0.0.9"  # nobody listens at its port 53


@pytest.fixture
def second() -> Iterator[Zones]:
    with Zones({"example.test": {"A": "192.0.2.2"}}) as server:
        yield server


def name(file: Path, *addresses: str) -> None:
    fresh = file.with_name("fresh")
    fresh.write_text("# made by hand\n" + "".join(f"nameserver {one}\n" for one in addresses))
    fresh.replace(file)


async def test_another_file_is_other_servers(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    name(file, AWAY)
    async with Resolver([ResolverAddress(AWAY)]) as resolver:
        followed = FollowedServers(resolver, follows=True, file=file)
        followed.look()
        assert resolver.servers == (ResolverAddress(AWAY),)
        name(file, "127.0.0.8", "::1")
        followed.look()
        assert followed.servers == "127.0.0.8:53 [::1]:53"
        file.unlink()
        followed.look()
        assert resolver.servers == (ResolverAddress("127.0.0.1"),), (
            "as the system does without a file"
        )
        name(file, AWAY)
        followed.look()
        assert resolver.servers == (ResolverAddress(AWAY),)
        os.utime(file, (1, 1))
        before = resolver.servers
        followed.look()
        assert resolver.servers is before, "the same servers are no change"


async def test_servers_of_the_settings_stay(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    async with Resolver([ResolverAddress("127.0.0.7")]) as resolver:
        followed = FollowedServers(resolver, follows=False, file=file)
        name(file, AWAY)
        followed.look()
        assert followed.servers == "127.0.0.7:53"


async def test_questions_under_way_go_on_and_new_ones_go_elsewhere(
    zones: Zones, second: Zones
) -> None:
    zones.add(RECORDS)

    def slowly(question: dns.message.Message) -> list[bytes]:
        time.sleep(0.2)
        return [zones.answer(question, chase=False).to_wire()]

    zones.reply("*", slowly)
    async with Resolver([ResolverAddress(zones.host, zones.port)], cache_entries=0) as resolver:
        asked = asyncio.create_task(resolver.ask("example.test", DnsType.A))
        await asyncio.sleep(0.1)
        assert zones.asked
        resolver.use([ResolverAddress(second.host, second.port)])
        assert (await asked).records == ("192.0.2.1",)
        assert (await resolver.ask("example.test", DnsType.A)).records == ("192.0.2.2",)


async def test_it_is_said_once_that_the_dns_is_of_no_use_and_once_that_it_is_back(
    zones: Zones, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona.dns")
    zones.add(RECORDS)
    async with Resolver([ResolverAddress(AWAY)], cache_entries=0) as resolver:
        followed = FollowedServers(resolver, follows=False)
        for number in range(FAILING - 1):
            assert (
                await resolver.ask(f"n{number}.test", DnsType.A)
            ).outcome is DnsOutcome.TEMPERROR
        followed.look()
        assert followed.trouble == ""
        await resolver.ask("example.test", DnsType.A)
        followed.look()
        followed.look()
        assert followed.trouble.startswith(
            f"{FAILING} questions in a row to {AWAY}:53 brought nothing (unreachable), since "
        )
        assert [one.levelname for one in caplog.records] == ["WARNING"]
        resolver.use([ResolverAddress(zones.host, zones.port)])
        await resolver.ask("example.test", DnsType.A)
        followed.look()
        assert followed.trouble == ""
        assert "answers again" in caplog.text
