"""Karma behind a real Postfix: a good author's past lets a grey letter through, his forger's not.

Malware stays, a bad past tightens, refusals are written down.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator, Sequence

import pytest

from oborona import secret, state_files
from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.memory_age import ALL_MAIL
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, Window
from tests.peers.dns import Zones
from tests.whole.gate import Gate, eventually
from tests.whole.signed import letter, publish, signed

ANN = "ann@good.example"
GREY = """
[[rule]]
name = "GREYISH"
when = "contains(subject, 'lunch')"
score = 105
[[rule]]
name = "TEPID"
when = "contains(subject, 'dinner')"
score = 80
[[rule]]
name = "KNOWN_SENDER"
enabled = false
[[rule]]
name = "KNOWN_CORRESPONDENT"
enabled = false
"""
PROGRAM = (
    b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: "
    b"text/plain\r\n\r\nAt noon?\r\n--x\r\n"
    b'Content-Type: application/octet-stream; name="lunch.exe"\r\nContent-Disposition: '
    b'attachment; filename="lunch.exe"\r\n'
    b"Content-Transfer-Encoding: base64\r\n\r\n"
    + base64.b64encode(b"MZ" + bytes(200))
    + b"\r\n--x--\r\n"
)


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as dns:
        for domain in ("good.example", "poor.example"):
            publish(dns, domain, policy="none")
        with Gate(dns.setting, GREY) as running:
            aged(running)
            yield running


def hasher(gate: Gate) -> Hasher:
    return Hasher(secret.load(gate.oborona.state).shingles)


def count(gate: Gate, shingle: Shingle, prefix: CounterPrefix = CounterPrefix.IN) -> int:
    with open_reader(gate.oborona.state / state_files.COUNTERS) as store:
        (row,) = asyncio.run(store.read([shingle], time.time(), prefix))
    return row[Window.FORTNIGHT][Metric.SEEN]


def aged(gate: Gate) -> None:
    """Let the counters reach back twelve days, else nobody is refused."""
    counters = LmdbCounters(gate.oborona.state / state_files.COUNTERS, "old")
    counters.add(
        CountedPieces(shingles=(ALL_MAIL,), pairs=()), Amounts(seen=1), time.time() - 12 * 86_400
    )
    counters.flush(time.time())
    counters.close()
    eventually(lambda: count(gate, ALL_MAIL) >= 1)


def remember(
    gate: Gate, of: Sequence[tuple[ShingleType, str]], amounts: Amounts, days: Sequence[float]
) -> None:
    """Bring some days of mail into the counters beside the running daemon, and wait until they have
    it.
    """
    keys = hasher(gate)
    found = tuple(keys.shingle(kind, piece) for kind, piece in of)
    before = count(gate, found[0])
    reached = [bytes((kind,)) + piece.encode() for kind, piece in of]
    readers = [b"reader%d@example.test" % number for number in range(8)]
    pairs = keys.pairs(
        ShingleType.ENTITY_RECIPIENT, ShingleType.ENTITY_RECIPIENTS, reached, readers
    )
    counters = LmdbCounters(gate.oborona.state / state_files.COUNTERS, "test")
    for ago in days:
        counters.add(
            CountedPieces(shingles=found, pairs=tuple(pairs)), amounts, time.time() - ago * 86_400
        )
    counters.flush(time.time())
    counters.close()
    eventually(lambda: count(gate, found[0]) >= before + amounts.seen * len(days))


def test_a_good_past_helps_its_owner_and_nobody_else(gate: Gate) -> None:
    ip = "9.1.7.1"
    grey = signed(
        letter("good.example").replace(b"Subject: Lunch", b"Subject: Grey lunch"), "good.example"
    )
    assert b"X-Mras: Probable" in gate.held(gate.send(ip, grey, sender=ANN)[-1]), (
        "nobody knows her yet"
    )
    of = [
        (ShingleType.AUTHOR, ANN),
        (ShingleType.AUTHOR_DOMAIN, "good.example"),
        (ShingleType.CLIENT_IP, ip),
        (ShingleType.CLIENT_NETWORK, "9.1.7.0/24"),
    ]
    remember(gate, of, Amounts(seen=60, reads=40), (1.5, 3, 5, 7, 9, 11, 12))

    let_in = gate.held(gate.send(ip, grey, sender=ANN)[-1]).replace(b"\n\t", b" ")
    assert b"X-Mras: Ok" in let_in
    assert b"KARMA=-" in let_in
    assert b"author +" in let_in

    for forged, client in (
        (letter("good.example"), "9.1.7.1"),
        (letter("good.example"), "9.200.7.1"),
    ):
        raw = forged.replace(b"Subject: Lunch", b"Subject: Grey lunch")
        told = gate.held(gate.send(client, raw, sender="eve@elsewhere.example")[-1])
        assert b"X-Mras: Probable" in told, "her name in From is not hers"
        assert b"author +" not in told

    with_program = signed(
        letter("good.example")
        .replace(b"Subject: Lunch", b"Subject: Grey lunch")
        .partition(b"\r\n\r\n")[0]
        + b"\r\n"
        + PROGRAM,
        "good.example",
    )
    (*_, reply) = gate.send(ip, with_program, sender=ANN)
    assert reply.startswith("550 5.7.1 Message refused as spam"), (
        "an account that was broken into has its owner's karma"
    )
    assert "nothing for executable-attachment, +" in gate.verdict(reply)["reason"]


def test_a_bad_past_tightens(gate: Gate) -> None:
    ip, eve = "9.1.8.1", "ann@poor.example"
    tepid = signed(
        letter("poor.example").replace(b"Subject: Lunch", b"Subject: dinner"), "poor.example"
    )
    assert b"X-Mras: Ok" in gate.held(gate.send(ip, tepid, sender=eve)[-1])
    remember(
        gate,
        [(ShingleType.AUTHOR, eve), (ShingleType.AUTHOR_DOMAIN, "poor.example")],
        Amounts(seen=40, spam=40),
        (0.3, 1.2, 2),
    )
    told = gate.held(gate.send(ip, tepid, sender=eve)[-1])
    assert b"X-Mras: Probable" in told
    assert b"KARMA=" in told


def test_what_is_refused_before_its_content_is_written_beside_the_counts(gate: Gate) -> None:
    ip = "9.1.9.1"
    remember(
        gate,
        [(ShingleType.CLIENT_IP, ip), (ShingleType.CLIENT_NETWORK, "9.1.9.0/24")],
        Amounts(seen=50, spam=50),
        (0.1,),
    )
    address = hasher(gate).shingle(ShingleType.CLIENT_IP, ip)
    for _ in range(3):
        assert gate.send(ip)[-1].startswith("554")
    eventually(lambda: count(gate, address, CounterPrefix.REFUSED) == 3)
    assert count(gate, address) == 50, "and not among them"
