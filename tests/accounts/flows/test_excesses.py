"""Limits on flows: who is over, who gets no verdict, and when nobody is stopped for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from oborona.accounts.directory import AccountDirectory
from oborona.accounts.excess import check_excess, parse_excess
from oborona.accounts.flows.excesses import FlowRuling, excess_of, rule_on_flows, sure
from oborona.accounts.flows.store import (
    ExporterWindow,
    FileState,
    FlowFile,
    FlowStore,
    SourceSums,
    SourceWindow,
)
from oborona.accounts.sending_account import SendingAccount
from oborona.policy.flow_limit_table import FlowCount, FlowSubject, FlowWindowName
from oborona.policy.flow_limits import FlowFacts, FlowLimit

NOW: Final = 1_795_000_020.0
START: Final = 1_795_000_020 - 60
HOUR: Final = FlowWindowName.HOUR
KNOWN: Final = AccountDirectory()
KNOWN.learn(
    [
        SendingAccount(id="a", customer="firm", rating=90, networks=("192.0.2.0/28",)),
        SendingAccount(id="b", customer="firm", rating=20, networks=("192.0.2.16/28",)),
    ],
    anew=True,
)


def limit(
    count: str = "streams", each: str = "address", most: float = 100, **more: Any
) -> FlowLimit:
    return FlowLimit(
        name="A",
        each=FlowSubject(each),
        count=FlowCount(count),
        window=HOUR,
        limit=most,
        most=more.pop("formula", lambda _: float(most)),
        excused=more.pop("excused", lambda _: False),
        **more,
    )


def sums(address: str = "192.0.2.1", streams: float = 101, **more: Any) -> SourceSums:
    given: dict[str, Any] = {
        "packets": streams * 10, "octets": streams * 1000, "refused": 0, "destinations": 5,
        "at_once": 3, "timed": True, "sampled": False, "latest": START,
    }  # fmt: skip
    return SourceSums(address=address, streams=streams, **given | more)


def ruled(one: FlowLimit, *rows: SourceSums, fresh: int = START) -> FlowRuling:
    return rule_on_flows([one], {HOUR: rows}, fresh, KNOWN, NOW)


def test_what_is_over_and_what_is_not() -> None:
    assert ruled(limit(), sums(streams=100)).passed == ()
    (passed,) = ruled(limit(), sums()).passed
    assert (passed.subject, passed.account, passed.value, passed.most) == (
        "192.0.2.1",
        "a",
        101,
        100,
    )
    (unknown,) = ruled(limit(), sums("198.51.100.1")).passed
    assert unknown.account == ""
    assert ruled(limit(), sums(), fresh=START + 1).passed == (), "it sends no more"


def test_a_customer_adds_up_and_each_account_that_sends_has_an_excess() -> None:
    rows = sums("192.0.2.1", 40), sums("192.0.2.2", 45), sums("192.0.2.17", 30)
    assert ruled(limit(), *rows).passed == ()
    passed = ruled(limit(each="customer"), *rows, sums("198.51.100.1", 500)).passed
    assert [(one.account, one.sums.address, one.value) for one in passed] == [
        ("a", "192.0.2.2", 115),
        ("b", "192.0.2.17", 115),
    ]
    quiet = sums("192.0.2.17", 30, latest=START - 600)
    assert [one.account for one in ruled(limit(each="customer"), *rows[:2], quiet).passed] == ["a"]
    (network,) = ruled(limit(each="network", most=80), *rows).passed
    assert (network.subject, network.value) == ("192.0.2.0/28", 85)


@pytest.mark.parametrize("count", ["streams", "destinations", "at_once", "refused"])
def test_of_a_sampled_exporter_streams_get_no_verdict(count: str) -> None:
    huge = {"streams": 10**6, "destinations": 10**6, "at_once": 10**6, "refused": 10**6}
    ruling = ruled(limit(count), sums(**huge, sampled=True))  # type: ignore[arg-type]
    assert (ruling.passed, ruling.unjudged) == ((), (("A", "192.0.2.1"),))
    one_of_two = sums("192.0.2.2", **huge), sums("192.0.2.1", sampled=True)
    assert ruled(limit(count, "customer"), *one_of_two).unjudged == (("A", "firm"),)


@pytest.mark.parametrize("count", ["packets", "octets"])
def test_of_a_sampled_exporter_what_is_scaled_is_judged(count: str) -> None:
    assert ruled(limit(count), sums(sampled=True)).passed


def test_where_times_can_not_be_believed_at_once_gets_no_verdict() -> None:
    assert ruled(limit("at_once"), sums(at_once=500)).passed
    assert ruled(limit("at_once"), sums(at_once=500, timed=False)).unjudged
    assert ruled(limit("at_once"), sums(at_once=None, timed=False)).passed == ()
    assert ruled(limit("streams"), sums(at_once=None, timed=False)).passed


def test_destinations_and_at_once_do_not_add_up() -> None:
    rows = (
        sums("192.0.2.1", destinations=60, at_once=70),
        sums("192.0.2.2", destinations=50, at_once=60),
    )
    for count in ("destinations", "at_once"):
        assert ruled(limit(count, "customer"), *rows).passed == ()
        passed = ruled(limit(count, "customer", most=59), *rows).passed
        assert [one.value for one in passed] == [{"destinations": 60, "at_once": 70}[count]]


def test_formulas_know_the_account_and_one_that_fails_stops_nobody() -> None:
    def formula(facts: FlowFacts) -> float | None:
        assert facts.streams == 101
        return {90: 200.0, 20: 50.0}.get(facts.rating or 0)

    of_rating = limit(formula=formula)
    assert ruled(of_rating, sums("192.0.2.1")).passed == ()
    assert ruled(of_rating, sums("192.0.2.17")).passed
    assert ruled(of_rating, sums("198.51.100.1")).faults == ("A: limit: none",)
    (fault,) = ruled(limit(formula=lambda _: 1 / 0), sums()).faults
    assert "ZeroDivisionError" in fault
    assert ruled(limit(excused=lambda facts: facts.customer == "firm"), sums()).passed == ()


def exporter(name: str = "203.0.113.1", *, records: int = 9, datagrams: int = 9) -> ExporterWindow:
    return ExporterWindow(
        start=START,
        exporter=name,
        records=records,
        flows=records,
        datagrams=datagrams,
        failures=0,
        times_wrong=0,
        lag_s=1.0,
        shared=0.0,
        sampling=1,
    )


def test_when_an_account_may_be_stopped() -> None:
    heard = [exporter(), exporter("203.0.113.2")]
    assert sure(heard, {}, named=True)
    assert sure(heard, {"203.0.113.1": 0.01}, named=True)
    assert not sure(heard, {"203.0.113.1": 0.011}, named=True)
    assert not sure(heard, {}, named=False)
    assert not sure([exporter(datagrams=0)], {}, named=True), "nobody knows what was lost"
    assert not sure([], {}, named=True)
    silent = exporter("203.0.113.9", records=0)
    assert sure([*heard, silent], {"203.0.113.9": 0.5}, named=True), "it told nothing of ours"


def test_an_excess_can_be_written_down_and_says_what_was_seen() -> None:
    (passed,) = ruled(limit(), sums(sampled=False)).passed
    excess = excess_of(passed, NOW, certain=True)
    check_excess(excess)
    assert parse_excess(msgspec.json.encode(excess)) == excess
    assert (excess.metric, excess.address, excess.shadow) == ("flow.streams", "192.0.2.1", False)
    assert excess.evidence["destinations"] == 5
    doubtful = excess_of(passed, NOW, certain=False)
    assert doubtful.shadow
    assert "doubt" in doubtful.evidence


def test_sums_of_windows(tmp_path: Path) -> None:
    def window(start: int, address: str, **more: Any) -> SourceWindow:
        given: dict[str, Any] = {
            "packets": 2**62, "octets": 2**62, "streams": 10, "at_once": 4, "destinations": 3,
            "refused": 1, "sampled": False,
        }  # fmt: skip
        return SourceWindow(start=start, address=address, **given | more)

    with FlowStore(tmp_path / "flows.db") as store:
        file = FlowFile(name="f", size=1, state=FileState.TAKEN, taken=NOW)
        assert store.latest(NOW) is None
        rows = [
            window(START - 3600, "192.0.2.1", streams=1000),
            window(START - 60, "192.0.2.1", at_once=None, destinations=7),
            window(START, "192.0.2.1", sampled=True),
            window(START, "192.0.2.2"),
        ]
        store.take(
            file, rows, [exporter(), msgspec.structs.replace(exporter(), start=START + 9999)]
        )
        assert store.latest(NOW) == START
        one, two = sorted(store.sums(START - 3599), key=lambda row: row.address)
    assert one == SourceSums(
        address="192.0.2.1",
        streams=20,
        packets=float(2**63),
        octets=float(2**63),
        refused=2,
        destinations=7,
        at_once=4,
        timed=False,
        sampled=True,
        latest=START,
    )
    assert (two.streams, two.timed, two.sampled) == (10, True, False)
