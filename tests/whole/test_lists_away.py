"""A server of DNS lists that goes away and comes back: mail flows all the while, and the list
counts while it answers, not before and not after.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from oborona.reputation.dnsbl.health import FIRST_S, LOST, SPAN_S
from tests.peers.dns_servers import Rbldnsd
from tests.whole.gate import Gate, eventually

LISTED = "9.1.0.1"
POLICY = '[[dns_list]]\nname = "BAD_CLIENTS"\nzone = "bl.test"\nof = ["client"]\nscore = 250\n'
SICK, WELL = "DNS list counts nothing until it is well", "DNS list is well"
MUCH_S = 8.0  # for a message, on a busy machine; what waits for the DNS waits 1 s at most


@pytest.fixture(scope="module")
def lists() -> Iterator[Rbldnsd]:
    """A server that is not there yet."""
    with Rbldnsd(
        {"bl.test:ip4trie": f"$TTL 1\n:127.0.0.2:listed\n127.0.0.2\n{LISTED}\n"}
    ) as running:
        running.stop()
        yield running


@pytest.fixture(scope="module")
def gate(lists: Rbldnsd) -> Iterator[Gate]:
    settings = {"dns.timeout_s": 0.5, "dns.message_s": 1}
    with Gate(lists.setting, POLICY, settings=settings) as running:
        yield running


def in_time(gate: Gate, ip: str) -> str:
    """Send a message; return the last reply, which must not be long in coming."""
    began = time.monotonic()
    reply = gate.send(ip)[-1]
    assert time.monotonic() - began < MUCH_S
    return reply


def healthy(gate: Gate) -> str:
    found = re.search(
        r'^oborona_dns_list_healthy\{list="BAD_CLIENTS",worker="0"\} (\S+)$',
        gate.oborona.run("metrics").stdout,
        re.MULTILINE,
    )
    return found[1] if found else "not there"


@pytest.mark.slow
def test_a_list_counts_while_its_server_answers(gate: Gate, lists: Rbldnsd) -> None:
    assert in_time(gate, LISTED).startswith("250"), "nothing is known of it yet"
    (sick,) = gate.events(SICK)
    assert sick["list"] == "BAD_CLIENTS"

    lists.start()
    eventually(lambda: bool(gate.events(WELL)), FIRST_S + 10)
    assert in_time(gate, LISTED).startswith("554 5.7.1 Client refused, listed by BAD_CLIENTS")
    eventually(lambda: healthy(gate) == "1.0", every_s=0.5)

    lists.stop()
    time.sleep(1.1)  # its last answer is forgotten
    for number in range(LOST):
        if number == LOST - 1:
            time.sleep(SPAN_S)
        assert in_time(gate, LISTED if not number else f"9.2.0.{number}").startswith("250")
    eventually(lambda: len(gate.events(SICK)) == 2)
    assert f"no answer to {LOST} of {LOST} questions" in gate.events(SICK)[1]["why"]
    assert in_time(gate, LISTED).startswith("250")
    assert {one["verdict"] for one in gate.events("verdict") if one["client"] != LISTED} == {
        "accept"
    }
    eventually(lambda: healthy(gate) == "0.0", every_s=0.5)
    told = gate.oborona.run("doctor").stdout
    assert "worker 0 does not ask it since" in told
    assert "no answer" in told
