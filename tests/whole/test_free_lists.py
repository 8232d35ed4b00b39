"""The walk of an admin: DNS lists off, turned on by `oborona attach` while mail flows, proved by
`oborona doctor`, refused for too many questions, and off again.

The lists answer as the real ones do, from a real server, and a real Postfix is before us.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.peers.dns import Zones
from tests.peers.dns_servers import Rbldnsd
from tests.whole.gate import Gate, eventually

LISTED, OTHER = "9.1.0.1", "9.1.0.2"
ZEN, DBL, PSBL = "zen.spamhaus.org:ip4trie", "dbl.spamhaus.org:dnset", "psbl.surriel.com:ip4trie"
ZEN_WELL = f"$TTL 1\n127.0.0.2 :127.0.0.2:listed\n{LISTED} :127.0.0.9:DROP\n"
OVER_QUOTA = "$TTL 1\n:127.255.255.255:too many\n0.0.0.0/0\n"
SICK, WELL, LOADED = "DNS list counts nothing until it is well", "DNS list is well", "policy loaded"


@pytest.fixture(scope="module")
def lists() -> Iterator[Rbldnsd]:
    zones = {
        ZEN: ZEN_WELL,
        DBL: "$TTL 1\n:127.0.1.2:listed\ndbltest.com\nspammer.example\n",
        PSBL: "$TTL 1\n:127.255.255.254:public resolver\n0.0.0.0/0\n",
    }
    with Rbldnsd(zones) as running:
        yield running


@pytest.fixture(scope="module")
def gate(lists: Rbldnsd) -> Iterator[Gate]:
    with (
        # rbldnsd refuses what is not in its zones, and the daemon asks the next one
        Zones() as others,
        Gate(f"{lists.setting} {others.setting}") as running,
    ):
        yield running


def attach(gate: Gate, *words: str) -> str:
    """Attach, wait until the daemon has the policy, and return what was said."""
    before = len(gate.events(LOADED))
    done = gate.oborona.run("attach", "exim", "--yes", *words)
    assert done.returncode == 0, done.stderr
    eventually(lambda: len(gate.events(LOADED)) > before)
    return done.stdout


def of(gate: Gate, what: str, name: str) -> list[str]:
    return [event.get("why", "") for event in gate.events(what) if event["list"] == name]


@pytest.mark.slow
def test_free_lists_from_attach_to_a_refusal_and_off_again(gate: Gate, lists: Rbldnsd) -> None:
    assert gate.send(LISTED)[-1].startswith("250"), "no list is on"
    assert not [name for name in lists.asked() if name.endswith("spamhaus.org")]

    told = attach(gate, "--messages-a-day", "20000", "--no-commercial")
    assert "DNS lists: 8 of 12 are on" in told
    eventually(lambda: bool(of(gate, WELL, "SPAMHAUS_ZEN")) and bool(of(gate, SICK, "PSBL")))
    assert gate.send(LISTED)[-1].startswith(
        "554 5.7.1 Client refused, listed by SPAMHAUS_ZEN (https://check.spamhaus.org/query/ip/"
    )
    assert gate.send(OTHER)[-1].startswith("250"), "PSBL refuses us, which says nothing of a client"
    reports = json.loads(gate.oborona.run("doctor", "--json").stdout)
    said = {report["what"]: report for report in reports}
    assert said["DNS list SPAMHAUS_ZEN"]["state"] == "OK"
    assert said["DNS list SPAMHAUS_DBL"]["state"] == "OK"
    assert said["DNS list PSBL"]["state"] != "OK"
    assert "8 of 12 are on" in said["free lists"]["finding"]

    sick_before = of(gate, SICK, "SPAMHAUS_ZEN")
    lists.write(ZEN, OVER_QUOTA)
    eventually(lambda: gate.send(LISTED)[-1].startswith("250"), every_s=1.2)
    for number in range(5):
        assert gate.send(f"9.3.0.{number}")[-1].startswith("250"), "a refusal is no listing"
    told_sick = of(gate, SICK, "SPAMHAUS_ZEN")[len(sick_before) :]
    assert told_sick == ["too many queries (127.255.255.255)"], "it is said once"
    asked = [name for name in lists.asked() if name.startswith("4.0.3.9.")]
    assert [name for name in asked if name.endswith("zen.spamhaus.org")] == []

    assert "DNS lists: none is on; [free_lists] is off" in attach(gate, "--lists", "none")
    before = len(lists.asked())
    assert gate.send("9.4.0.1")[-1].startswith("250")
    asked = [name for name in lists.asked()[before:] if name.startswith("1.0.4.9.")]
    assert [name for name in asked if not name.endswith(".in-addr.arpa")] == []
