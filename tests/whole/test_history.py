"""What the counters remember of a client decides at connect, and what is refused there is not
remembered; grey mail of strangers comes again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from oborona import secret, state_files
from oborona.client_network import client_network
from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.policy.memory_age import ALL_MAIL
from oborona.types import (
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Metric,
    Shingle,
    Window,
)
from tests.peers.dns import Zones
from tests.whole.gate import CONTACT, LETTER, SPAM, Gate, eventually, reference

BUCKET_S = 600


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as dns, Gate(dns.setting) as running:
        # else it refuses nobody
        remember(running, (ALL_MAIL,), Amounts(seen=1), time.time() - 12 * 86_400)
        yield running


@pytest.fixture(autouse=True)
def shipped(gate: Gate) -> Iterator[None]:
    """The next test finds the policy that ships."""
    yield
    gate.policy("")


def seen(gate: Gate, shingle: Shingle, prefix: CounterPrefix = CounterPrefix.IN) -> int:
    with open_reader(gate.oborona.state / state_files.COUNTERS) as store:
        (row,) = asyncio.run(store.read([shingle], time.time(), prefix))
    return row[Window.FORTNIGHT][Metric.SEEN]


def remember(
    gate: Gate,
    shingles: tuple[Shingle, ...],
    amounts: Amounts,
    when: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> None:
    """Add to the counters beside the running daemon, and wait until they have it."""
    before = seen(gate, shingles[0], prefix)
    counters = LmdbCounters(gate.oborona.state / state_files.COUNTERS, "test")
    counters.add(CountedPieces(shingles=shingles, pairs=()), amounts, when, prefix)
    counters.flush(time.time())
    counters.close()
    eventually(lambda: seen(gate, shingles[0], prefix) >= before + amounts.seen)


def of_client(gate: Gate, ip: str) -> tuple[Shingle, ...]:
    """What an address and its network are counted under, the address first."""
    hasher = Hasher(secret.load(gate.oborona.state).shingles)
    return envelope_shingles(Envelope(client=Client(ip=ip)), hasher).shingles


def test_a_young_memory_refuses_nobody() -> None:
    with Zones() as dns, Gate(dns.setting) as young:
        ip = "9.1.1.9"
        remember(young, of_client(young, ip), Amounts(seen=60, spam=60), time.time() - 700)
        assert not young.send(ip)[-1].startswith("5")
        remember(young, (ALL_MAIL,), Amounts(seen=1), time.time() - 12 * 86_400)
        eventually(lambda: young.send(ip)[-1].startswith("554 5.7.1 Client refused"))


def test_an_address_that_sends_nothing_but_spam_is_refused_at_connect_and_that_is_not_counted(
    gate: Gate,
) -> None:
    ip = "9.1.1.1"
    spams = 0
    while (reply := gate.send(ip, SPAM)[-1]).startswith("550 5.7.1 Message refused as spam"):
        spams += 1
        assert spams < 40, "it never learns"
    assert spams >= 10
    assert reply.startswith("554 5.7.1 Client refused, reference "), "which names no list"
    assert reply.endswith(f"; {CONTACT}")
    verdicts = gate.verdicts(ip, spams + 1)
    assert verdicts[-1]["id"] == reference(reply)
    assert (verdicts[-1]["stage"], verdicts[-1]["decided_by"]) == ("connect", "REPIP_BAD")
    assert "spam of" in verdicts[-1]["reason"]

    address = of_client(gate, ip)[0]
    eventually(lambda: seen(gate, address) == spams)
    for _ in range(3):
        assert gate.send(ip)[-1].startswith("554")
    assert gate.send("9.1.1.77")[-1].startswith("250"), "its neighbour is another one"
    gate.verdicts("9.1.1.77", 1)
    eventually(lambda: seen(gate, of_client(gate, "9.1.1.77")[0]) == 1)
    assert seen(gate, address) == spams, "what was counted later is there, refusals are not"


def test_an_address_of_many_people_is_not_refused_for_a_few_bad_ones(gate: Gate) -> None:
    ip = "9.1.2.1"
    remember(gate, of_client(gate, ip), Amounts(seen=40), time.time() - 2 * 86_400)
    remember(gate, of_client(gate, ip), Amounts(seen=20, spam=20), time.time())
    assert gate.send(ip)[-1].startswith("250")
    assert [one["stage"] for one in gate.verdicts(ip, 1)] == ["content"]

    remember(gate, of_client(gate, ip), Amounts(seen=180, spam=180), time.time())
    assert gate.send(ip)[-1].startswith("554"), "more bad than good mail is too much"


def test_our_own_people_have_no_reputation_to_lose(gate: Gate) -> None:
    ip = "9.1.3.1"
    remember(gate, of_client(gate, ip), Amounts(seen=50, spam=50), time.time())
    assert gate.send(ip)[-1].startswith("554")
    assert gate.send(ip, submission=True)[-1].startswith("250")


def test_a_poor_history_is_put_off_or_made_to_wait_as_the_policy_says(gate: Gate) -> None:
    ip = "9.1.4.1"
    remember(gate, of_client(gate, ip), Amounts(seen=5, spam=5), time.time())
    assert gate.send(ip)[-1].startswith("250"), "by default nothing is done about it"
    assert "POOR_HISTORY" in gate.verdicts(ip, 1)[0]["reason"]

    gate.policy('[repip]\npoor = "tempfail"\n')
    _, reply = gate.send(ip)
    assert reply.startswith("451 4.7.1 Try again later, reference ")
    put_off = gate.verdicts(ip, 2)[-1]
    assert (put_off["stage"], put_off["verdict"], put_off["decided_by"]) == (
        "connect",
        "tempfail",
        "REPIP_POOR",
    )

    gate.policy('[repip]\npoor = "slow"\nslow_s = 1.5\n')
    began = time.monotonic()
    assert gate.send(ip)[-1].startswith("250")
    assert time.monotonic() - began >= 1.5


def test_grey_mail_of_a_stranger_is_let_in_when_it_comes_again(gate: Gate) -> None:
    ip = "9.1.5.1"
    # ann sent the spam of the tests before
    letter = LETTER.replace(b"ann@a.example", b"eve@b.example")
    gate.policy(
        "[greylist]\nenabled = true\nscore = 60\n"
        '[[rule]]\nname = "GREYISH"\nwhen = "contains(subject, \'lunch\')"\nscore = 70\n'
    )
    for _ in range(2):
        assert gate.send(ip, letter, sender="eve@b.example")[-1].startswith(
            "451 4.7.1 Try again later, reference "
        )
    for verdict in gate.verdicts(ip, 2):
        assert (verdict["stage"], verdict["verdict"], verdict["decided_by"]) == (
            "content",
            "tempfail",
            "greylisted",
        )
        assert verdict["score"] == 80.0  # 10 of them for a client without a name
    assert seen(gate, of_client(gate, ip)[0]) == 0, (
        "what was put off comes again, and is counted then"
    )

    hasher = Hasher(secret.load(gate.oborona.state).shingles)
    known = hasher.shingle(ShingleType.CLIENT_NETWORK, f"{client_network(ip)}\0eve@b.example")
    eventually(lambda: seen(gate, known, CounterPrefix.GREY) == 2)
    remember(gate, (known,), Amounts(seen=1), time.time() - 2 * BUCKET_S, CounterPrefix.GREY)
    assert gate.send(ip, letter, sender="other@b.example")[-1].startswith("451"), (
        "it is about this sender"
    )
    assert gate.send(ip, letter, sender="eve@b.example")[-1].startswith("250")
    eventually(lambda: seen(gate, of_client(gate, ip)[0]) == 1)
