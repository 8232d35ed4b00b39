"""Refusals are collapsed within bounds, and each reference that is told is one that is recorded."""

from __future__ import annotations

import logging

import pytest

from oborona.journal import refusal_ledger
from oborona.journal.refusal import COLLAPSE_S, REFERENCES
from oborona.journal.refusal_ledger import RefusalLedger
from oborona.types import Action, Stage
from tests.journal.entries import NOON
from tests.journal.refusals import make_refusal


def recorded(ledger: RefusalLedger) -> set[object]:
    """Write all that waits; return the references."""
    references = set[object]()
    while ledger.waiting:
        batch = ledger.batch(7)
        references |= {row[0] for row in batch.fresh}
        ledger.written(batch)
    return references


def test_the_same_once_more_is_told_the_same_reference() -> None:
    ledger = RefusalLedger()
    first = make_refusal()
    told = {ledger.take(first), *(ledger.take(make_refusal(helo=f"h{n}")) for n in range(1000))}
    assert told == {first.id}
    batch = ledger.batch(500)
    assert len(batch.fresh) == 1
    (grown,) = batch.grown
    assert (grown.times, grown.named, grown.head) == (1001, 1001, first.id)


def test_others_of_the_network_have_references_of_their_own_up_to_a_number() -> None:
    ledger = RefusalLedger()
    told = [ledger.take(make_refusal(sender=f"s{n}@a.example")) for n in range(3 * REFERENCES)]
    assert len(set(told[:REFERENCES])) == REFERENCES
    assert len(set(told[REFERENCES:])) == 1
    again = [ledger.take(make_refusal(sender=f"s{n}@a.example")) for n in range(3 * REFERENCES)]
    assert again == told
    assert recorded(ledger) == set(told), "and each of them is recorded"


@pytest.mark.parametrize(
    "change",
    [
        {"client_ip": "198.51.101.7"},
        {"stage": Stage.SENDER},
        {"decided_by": "OTHER"},
        {"verdict": Action.TEMPFAIL},
        {"door": "proxy"},
        {"time": NOON + COLLAPSE_S},
        {"time": NOON - COLLAPSE_S},
    ],
)
def test_another_network_reason_or_time_is_another_row(change: dict[str, object]) -> None:
    ledger = RefusalLedger()
    first, other = make_refusal(), make_refusal(**change)
    assert (ledger.take(first), ledger.take(other)) == (first.id, other.id)
    assert [row[1] for row in ledger.batch(500).fresh] == [first.id, other.id], "heads"


def test_a_neighbour_in_the_network_is_of_the_same_row() -> None:
    ledger = RefusalLedger()
    for one, other in (("192.0.2.1", "192.0.2.255"), ("2001:db8::1", "2001:db8::ffff:1")):
        first, second = make_refusal(client_ip=one), make_refusal(client_ip=other)
        assert (ledger.take(first), ledger.take(second)) == (first.id, second.id)
        assert [row[1] for row in ledger.batch(500).fresh][-2:] == [first.id, first.id]


def test_too_many_networks_are_taken_together_by_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_ledger, "OPEN_ROWS", 10)
    ledger = RefusalLedger()
    told = [ledger.take(make_refusal(client_ip=f"10.0.{n}.1")) for n in range(200)]
    assert len(set(told)) == 11
    assert recorded(ledger) == set(told)
    assert len(ledger._open) == 11
    later = make_refusal(client_ip="10.0.199.1", time=NOON + COLLAPSE_S)
    assert ledger.take(later) == later.id, "what is over makes room"
    assert len(ledger._open) == 1
    assert ledger._apart == 1


def test_what_does_not_fit_is_told_once_and_later_ones_are_recorded_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(refusal_ledger, "WAITING_ROWS", 10)
    ledger = RefusalLedger()
    told = [ledger.take(make_refusal(client_ip=f"10.0.{n}.1")) for n in range(100)]
    assert len(set(told)) == 100, "everybody is told one"
    assert ledger.lost == 90
    assert len(caplog.messages) == 1
    lost = make_refusal(client_ip="10.0.99.1")
    assert recorded(ledger) == set(told[:10])
    assert "recorded again; 90" in caplog.messages[1]
    assert ledger.take(lost) == lost.id, "a reference that was lost is not told again"
    assert recorded(ledger) == {lost.id}


def test_nothing_grows_while_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPEN_ROWS", "APART", "WAITING_ROWS"):
        monkeypatch.setattr(refusal_ledger, name, 20)
    ledger = RefusalLedger()
    for n in range(5000):
        when = NOON + n * 7
        ledger.take(make_refusal(client_ip=f"10.{n % 250}.{n % 7}.1", time=when))
        ledger.take(make_refusal(client_ip=f"10.{n % 250}.{n % 7}.1", time=when, sender=f"{n}"))
    assert len(ledger._fresh) <= 20
    assert len(ledger._open) <= 21
    assert len(ledger._grown) <= 42
    assert sum(len(row.known) for row in ledger._open.values()) == ledger._apart <= 21


def test_what_was_not_written_waits_with_its_newest_numbers() -> None:
    ledger = RefusalLedger()
    refusal = make_refusal()
    ledger.take(refusal)
    ledger.take(make_refusal())
    failed = ledger.batch(500)
    ledger.take(make_refusal())
    again = ledger.batch(500)
    assert (failed.fresh, failed.grown[0].times, again.grown[0].times) == (again.fresh, 2, 3)
    ledger.written(failed)
    assert ledger.waiting == 1, "it has grown since"
    ledger.written(ledger.batch(500))
    assert ledger.waiting == 0


def test_recipients_of_a_refusal_are_added_to_its_row() -> None:
    ledger = RefusalLedger()
    refusal = make_refusal()
    ledger.take(refusal)
    ledger.add_recipients(refusal, 4)
    ledger.add_recipients(make_refusal(decided_by="NOBODY_TOOK_IT"), 4)
    ledger.add_recipients(refusal, 0)
    (grown,) = ledger.batch(500).grown
    assert (grown.times, grown.named) == (1, 5)


@pytest.mark.parametrize(
    "text", ["", "\0\x1b[2J\r\n", "\ud800\udcff", "é" * 100_000, "x" * 1_000_000]
)
def test_whatever_a_peer_says_is_taken(text: str) -> None:
    ledger = RefusalLedger()
    refusal = make_refusal(
        client_ip=text, helo=text, sender=text, recipients=(text,) * 1000, login=text, queue_id=text
    )
    assert ledger.take(refusal) == refusal.id
    (row,) = ledger.batch(500).fresh
    assert sum(len(one) for one in row if isinstance(one, str | bytes)) < 12_000
