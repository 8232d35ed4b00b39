"""The resolver that settings and the system describe."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.config import DnsSettings
from oborona.dns import DnsType
from oborona.resolver import ResolverAddress, open_resolver
from oborona.resolver.factory import max_questions_under_way, system_servers
from tests.peers.dns import Fault, Zones

HERE = (ResolverAddress("127.0.0.1"),)


async def test_settings_name_servers_and_limits(zones: Zones) -> None:
    zones.add({"example.test": {"A": "192.0.2.1"}})
    with Zones() as silent:
        silent.fault("*", Fault.HANG)
        servers = f"{silent.setting} {zones.setting}"
        async with open_resolver(
            DnsSettings(servers=servers, timeout_s=0.5, cache_entries=0)
        ) as resolver:
            assert (await resolver.ask("example.test", DnsType.A)).names == ("192.0.2.1",)
            assert (await resolver.ask("example.test", DnsType.A)).names == ("192.0.2.1",)
            assert resolver.stats.cached == 0
            zones.fault("*", Fault.HANG)
            assert (await resolver.ask("example.test", DnsType.A)).why == "timeout"
    assert zones.count("example.test") == 2 + 2


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("nameserver 192.0.2.53\nnameserver 2001:db8::53\n", (ResolverAddress("192.0.2.53"), ResolverAddress("2001:db8::53"))),
        (("# nameserver 192.0.2.1\n;nameserver 192.0.2.2\n\tnameserver\t192.0.2.3 # "
            "x\nsearch a b\n"), (ResolverAddress("192.0.2.3"),)),
        ("nameserver fe80::1%eth0", (ResolverAddress("fe80::1%eth0"),)),
        ("nameserver 192.0.2.1\n" * 4, (ResolverAddress("192.0.2.1"),) * 3),
        ("nameserver example.test\nnameserver\nnameserver 192.0.2.1:54\nnameserver [::1]\n", HERE),
        ("options rotate\n", HERE),
        ("", HERE),
        ("\udcff\0nameserver \udcfe\n", HERE),
    ],
)  # fmt: skip
def test_the_system_names_servers(
    tmp_path: Path, text: str, servers: tuple[ResolverAddress, ...]
) -> None:
    file = tmp_path / "resolv.conf"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert system_servers(file) == servers


def test_a_system_without_a_file_asks_this_machine(tmp_path: Path) -> None:
    assert system_servers(tmp_path / "none") == HERE
    assert system_servers(tmp_path) == HERE


def test_sockets_leave_files_for_others() -> None:
    near, far = ResolverAddress("127.0.0.1"), ResolverAddress("192.0.2.53")
    assert max_questions_under_way([near, near], 1024) == 2000
    assert max_questions_under_way([far], 1024) == 128
    assert max_questions_under_way([far, near, far], 1024) == 64
    assert max_questions_under_way([far], 65_536) == 2000
    assert max_questions_under_way([far] * 3, 8) == 1
    assert max_questions_under_way([far], -1) == 2000  # no limit


async def test_without_a_setting_the_system_s_servers_are_asked() -> None:
    async with open_resolver(DnsSettings()) as resolver:
        assert resolver.servers == system_servers()
