"""What a unit has to be let reach: what the settings name beyond private networks, and all where
they can't tell.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oborona.config import ResolverAddress, load_settings
from oborona.daemon.confinement.egress import ANY, egress_networks

CONFIG = Path(__file__).resolve().parents[3] / "etc/oborona.toml"
HERE = (ResolverAddress("127.0.0.1"),)


@pytest.mark.parametrize(
    ("settings", "resolvers", "wanted"),
    [
        ({}, HERE, ()),
        ({}, ("192.168.1.1", "fd00::53", "fe80::1", "::1", "100.100.2.136"), ()),
        ({}, ("127.0.0.53", "203.0.113.9"), ("203.0.113.9",)),
        ({}, ("2001:db8::53", "198.51.100.1"), ("198.51.100.1", "2001:db8::53")),
        ({"engines.rspamd.ask": "inet:198.51.100.7:11333"}, HERE, ("198.51.100.7",)),
        ({"engines.rspamd.ask": "inet:10.0.0.7:11333"}, HERE, ()),
        ({"engines.clamd.ask": "unix:/run/clamav/clamd.ctl"}, HERE, ()),
        ({"alarm.webhook": "https://hooks.example/abc"}, HERE, (ANY,)),
        ({"alarm.webhook": "http://127.0.0.1:9/abc"}, HERE, ()),
        (
            {"console.enabled": "true", "console.oidc_issuer": "https://sso.example/a"},
            HERE,
            (ANY,),
        ),
        ({"console.oidc_issuer": "https://sso.example/a"}, HERE, ()),
        ({"alarm.mail_server": "[2001:db8::25]:25"}, HERE, ("2001:db8::25",)),
        ({"alarm.mail_server": "mail.shop.example:25"}, HERE, (ANY,)),
        (
            {
                "doors.milter.listen": "inet:8890@0.0.0.0",
                "doors.milter.allowed": "203.0.113.0/24 10.1.0.0/16",
            },
            HERE,
            ("203.0.113.0/24",),
        ),
        (
            {
                "doors.http.listen": "inet:8891@10.1.1.1",
                "doors.http.allowed": "2001:db8::/32 10.0.0.0/8",
            },
            HERE,
            ("2001:db8::/32",),
        ),
        ({"doors.proxy.listen": "inet:25@0.0.0.0"}, HERE, ("0.0.0.0/0", "::/0")),
        ({"doors.proxy.listen": "inet:10025@127.0.0.1"}, HERE, ()),
        (
            {"intake.mail_listen": "inet6:8025@::", "intake.allowed": "198.51.100.1"},
            HERE,
            ("198.51.100.1",),
        ),
        (
            {
                "doors.milter.listen": "inet:8890@0.0.0.0",
                "doors.milter.allowed": "127.0.0.0/8 192.168.7.0/24 fd00::/8",
            },
            HERE,
            (),
        ),
        ({"doors.milter.listen": "unix:/run/oborona/milter.sock"}, HERE, ()),
        ({"doors.proxy.next_hop": "inet:10026@203.0.113.4"}, HERE, ()),  # it is closed
        ({"counters.store": "cluster", "cluster.nodes": "10.0.0.1:6379 10.0.0.2:6379"}, HERE, ()),
        (
            {"counters.store": "cluster", "cluster.nodes": "10.0.0.1:6379 203.0.113.2:6379"},
            HERE,
            (ANY,),
        ),
        ({"cluster.nodes": "10.0.0.1:6379 203.0.113.2:6379"}, HERE, ()),  # nobody asks it
        (
            {"doors.http.listen": "inet:8891@0.0.0.0", "doors.http.keys_file": "/etc/keys"},
            HERE,
            (ANY,),
        ),
        (
            {"doors.http.listen": "inet:8891@127.0.0.1", "doors.http.keys_file": "/etc/keys"},
            HERE,
            (),
        ),
        ({"mailboxes.imap": "inet:993@imap.shop.example"}, HERE, (ANY,)),
        (
            {"flows.source": "clickhouse", "flows.url": "https://[2001:db8::7]:8443/?database=a"},
            HERE,
            ("2001:db8::7",),
        ),
        ({"flows.source": "clickhouse", "flows.url": "http://10.0.0.7:8123"}, HERE, ()),
        ({"flows.source": "nfdump", "flows.url": "http://203.0.113.7:8123"}, HERE, ()),
    ],
)
def test_what_the_settings_lead_to(
    settings: dict[str, str], resolvers: tuple[ResolverAddress | str, ...], wanted: tuple[str, ...]
) -> None:
    asked = [one if isinstance(one, ResolverAddress) else ResolverAddress(one) for one in resolvers]
    assert egress_networks(load_settings(CONFIG, settings).settings, asked) == wanted


def test_the_command_shows_it() -> None:
    oborona = Path(sys.executable).with_name("oborona")
    said = subprocess.run(
        [
            oborona,
            f"--config={CONFIG}",
            "--set=dns.servers=203.0.113.9 10.0.0.1",
            "unit",
            "addresses",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert said.stdout.split() == ["203.0.113.9"]
