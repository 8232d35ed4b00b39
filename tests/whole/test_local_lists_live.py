"""The site's own lists behind a real Postfix: who is kept out, who is let in unasked, and files
that change under a running daemon.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers.dns import Zones
from tests.whole.gate import LETTER, SPAM, Gate, eventually, reference

POLICY = """
[[local_list]]
name = "KEPT_OUT"
action = "deny"
of = ["client", "sender"]
file = "kept-out.list"
[[local_list]]
name = "PARTNERS"
action = "allow"
of = ["client"]
entries = ["9.4.0.0/24"]
[[dns_list]]
name = "BAD_CLIENTS"
zone = "bl.test"
of = ["client"]
score = 250
[[dns_list]]
name = "BAD_LINKS"
zone = "links.test"
of = ["links"]
score = 250
"""
KEPT_OUT = "9.5.0.0/16      # all of it\n2001:470:5::/48\n.evil.example\n"
LISTED = {"127.0.0.2", "9.4.0.1", "9.6.0.1"}
RECORDS = {f"{'.'.join(reversed(ip.split('.')))}.bl.test": {"A": "127.0.0.2"} for ip in LISTED} | {
    "test.links.test": {"A": "127.0.0.2"}, "shop.example.links.test": {"A": "127.0.0.2"}
}  # fmt: skip


@pytest.fixture(scope="module")
def dns() -> Iterator[Zones]:
    with Zones(RECORDS) as running:
        yield running


@pytest.fixture(scope="module")
def gate(dns: Zones) -> Iterator[Gate]:
    with Gate(dns.setting, POLICY, lists={"kept-out.list": KEPT_OUT}) as running:
        yield running


@pytest.mark.parametrize("ip", ["9.5.200.3", "2001:470:5::1"])
def test_a_client_in_a_network_that_is_kept_out_is_refused_and_not_asked_about(
    gate: Gate, dns: Zones, ip: str
) -> None:
    before = len(dns.asked)
    _, reply = gate.send(ip)
    assert reply.startswith("554 5.7.1 Client refused, reference "), (
        "what we keep ourselves is nobody's business"
    )
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["id"] == reference(reply)
    assert (verdict["stage"], verdict["decided_by"]) == ("connect", "KEPT_OUT")
    assert [
        one.name
        for one in dns.asked[before:]
        if "in-addr" not in one.name and "ip6" not in one.name
    ] == []


def test_a_sender_that_is_kept_out_is_refused_at_its_recipient(gate: Gate) -> None:
    _, reply = gate.send("9.7.0.1", sender="eve@mail.evil.example")
    assert reply.startswith("550 5.7.1 Sender refused, reference ")


def test_a_client_that_is_let_in_is_asked_nothing_about_whatever_lists_have(
    gate: Gate, dns: Zones
) -> None:
    assert gate.send("9.6.0.1")[-1].startswith("554"), "of anybody else"
    before = len(dns.asked)
    assert gate.send("9.4.0.1", SPAM + b"https://www.shop.example/\r\n")[-1].startswith("250")
    (verdict,) = gate.verdicts("9.4.0.1", 1)
    assert (verdict["stage"], verdict["verdict"], verdict["decided_by"]) == (
        "content",
        "accept",
        "PARTNERS",
    )
    assert [
        one.name for one in dns.asked[before:] if one.name.endswith((".bl.test", ".links.test"))
    ] == []


def test_a_list_file_that_changes_counts_within_a_moment_and_a_broken_one_does_not(
    gate: Gate,
) -> None:
    ip = "9.8.0.1"
    assert gate.send(ip)[-1].startswith("250")
    path = gate.policy_folder / "kept-out.list"
    path.write_text(f"{KEPT_OUT}{ip}\n")
    eventually(lambda: len(gate.events("policy loaded")) == 1)
    assert gate.send(ip)[-1].startswith("554")

    path.write_text(f"{KEPT_OUT}not an address\n")
    eventually(lambda: len(gate.events("policy refused, the old one stays")) == 1)
    assert "kept-out.list:4" in str(gate.events("policy refused, the old one stays")[0])
    assert gate.send(ip)[-1].startswith("554"), "the old list stays"

    path.write_text(KEPT_OUT)
    eventually(lambda: len(gate.events("policy loaded")) == 2)
    assert gate.send(ip, LETTER)[-1].startswith("250")
