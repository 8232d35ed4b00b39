"""Entities by calls: told as commands tell them, tried first, and taken back."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona import secret
from oborona.desk.refusals import (
    MisusedCallError,
    NothingDoneError,
    UnknownNameError,
    UnusableValueError,
)
from oborona.message.shingles import ShingleType
from oborona.types import Action, Amounts, CounterPrefix
from tests.cli.remembered import Happened, bring_in, journal, remember, run, shingle
from tests.desk.calling import call, octets_below, site_of, take_back

BAD, GOOD = "198.51.100.7", "192.0.2.1"
ENTITIES = st.sampled_from(
    [BAD, "192.0.2.0/24", "ann@example.org", "example.org", "link:x.example"]
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    remember(
        folder,
        [
            Happened(BAD, Amounts(seen=40, spam=40, traps=2)),
            Happened(BAD, Amounts(seen=7), 60.0, CounterPrefix.REFUSED),
            Happened(GOOD, Amounts(seen=30, reads=9)),
        ],
    )
    journal(folder, [{"client_ip": BAD}, {"client_ip": GOOD}])
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A state folder with a secret, and nothing else."""
    (tmp_path / "bare").mkdir()
    secret.make(tmp_path / "bare")
    return tmp_path / "bare"


def timeless(told: Any) -> Any:
    return told | {"now": 0, "buckets": [], "days": []}


def test_an_entity_is_shown_as_the_command_shows_it(state: Path) -> None:
    site = site_of(state)
    call(site, "reputation.set", entity=BAD, flag="bad", reason="traps")
    call(site, "reputation.note", entity=BAD, text="again")
    told = call(site, "reputation.show", entity=BAD)
    assert timeless(told) == timeless(json.loads(run(state, "show", BAD, "--json").stdout))
    assert (told["kind"], told["judgement"]["flag"]) == ("address", "bad")
    assert sum(bucket["spam"] for bucket in told["buckets"]) == 40
    assert (len(told["buckets"]), len(told["days"])) == (144, 14)
    assert any(measure["say"] for measure in told["judgement"]["measures"])
    assert (told["pin"]["by"], told["pin"]["reason"]) == ("anna", "traps")
    assert [note["text"] for note in told["notes"]] == ["again"]
    assert [change["what"] for change in told["changes"]] == ["note", "pin"]


def test_lists_are_as_the_commands_have_them(state: Path) -> None:
    site = site_of(state)
    call(site, "reputation.set", entity=GOOD, flag="good", reason="ours")

    def lines(*words: str) -> list[Any]:
        return [json.loads(line) for line in run(state, *words, "--json").stdout.splitlines()]

    assert call(site, "reputation.top")["entities"] == lines("top")
    assert call(site, "reputation.top")["entities"][0]["entity"] == BAD
    assert call(site, "reputation.log", entity=GOOD)["changes"] == lines("log")
    assert call(site, "reputation.stats")["kinds"] == lines("stats")
    (flagged,) = call(site, "reputation.export", flag="bad")["entities"]
    assert (flagged["entity"], flagged["kind"], flagged["pinned"]) == (BAD, "address", False)
    exported = json.loads(run(state, "export", "--json").stdout)["entities"]
    assert [entity["entity"] for entity in exported] == [BAD]


def test_an_override_from_its_birth_to_its_end(bare: Path) -> None:
    site, until = site_of(bare), time.time() + 1000
    done = call(site, "reputation.set", entity=BAD, flag="poor", reason="r", until=until)
    assert done["before"] is None
    assert done["undo"] == {"call": "reputation.clear", "asked": {"entity": BAD}}
    again = call(site, "reputation.set", entity=BAD, flag="bad", reason="worse")
    assert again["before"]["flag"] == "poor"
    take_back(site, again)
    (change, *_) = call(site, "reputation.log")["changes"]
    assert (change["flag"], change["until"], change["reason"]) == ("poor", until, "r")
    cleared = call(site, "reputation.clear", entity=BAD, reason="over")
    assert cleared["pin"]["flag"] == "poor"
    with pytest.raises(NothingDoneError, match="no manual override"):
        call(site, "reputation.clear", entity=BAD, reason="over")
    imported = call(
        site,
        "reputation.import",
        content=b"192.0.2.1\nco.uk\n",
        called="theirs",
        flag="good",
        reason="r",
        skip_broken=True,
    )
    assert (imported["pins"], imported["own"], imported["origin"]) == (1, 0, "theirs")
    assert "public suffix" in imported["passed_over"][0]


def test_counts_are_forgotten_and_verdicts_taken_back(state: Path) -> None:
    site = site_of(state)
    cleared = call(site, "reputation.clear", entity=GOOD, counts=True, reason="moved")
    assert (cleared["pin"], cleared["counts"], cleared["undo"]) == (None, True, None)
    bring_in(state)
    assert call(site, "reputation.show", entity=GOOD)["days"][-1]["seen"] == 0
    pieces = {"shingles": (shingle(state, BAD),), "client_ip": BAD}
    spam = {"verdict": Action.SPAM, "decided_by": "rules", "score": 120.0}
    (ident,) = journal(state, [pieces | spam])
    tried = call(site, "reputation.forgive", ident=ident, reason="ours", dry=True)
    assert (tried["client"], tried["pieces"], tried["dry"]) == (BAD, 1, True)
    assert call(site, "reputation.forgive", ident=ident, reason="ours")["first"] is True
    with pytest.raises(NothingDoneError, match="taken back before"):
        call(site, "reputation.forgive", ident=ident, reason="ours")
    with pytest.raises(UnknownNameError):
        call(site, "reputation.forgive", ident="0" * 13, reason="ours")


@pytest.mark.parametrize(
    ("act", "asked"),
    [
        ("reputation.set", {"entity": BAD, "flag": "good"}),
        ("reputation.clear", {"entity": BAD, "counts": True}),
        ("reputation.note", {"entity": BAD, "text": "x"}),
        ("reputation.import", {"content": b"192.0.2.9\n", "flag": "bad"}),
    ],
)
def test_what_is_tried_changes_nothing(state: Path, act: str, asked: dict[str, Any]) -> None:
    site = site_of(state)
    call(site, "reputation.set", entity=BAD, flag="bad", reason="traps")
    before = octets_below(state), call(site, "reputation.log")
    assert call(site, act, dry=True, reason="r", **asked)["dry"] is True
    assert (octets_below(state), call(site, "reputation.log")) == before


_PIN = st.tuples(
    ENTITIES,
    st.sampled_from(["good", "unknown", "poor", "bad"]),
    st.sampled_from([0.0, 2e9, 4e9]),
    st.sampled_from(["why", "because"]),
)


@settings(max_examples=40, deadline=None)
@given(pins=st.lists(_PIN, max_size=4), last=_PIN)
def test_what_is_taken_back_is_as_it_was(pins: list[Any], last: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        secret.make(state)
        site = site_of(state)
        for entity, flag, until, reason in pins:
            call(site, "reputation.set", entity=entity, flag=flag, until=until, reason=reason)
        was = _pins(site)
        entity, flag, until, reason = last
        take_back(
            site,
            call(site, "reputation.set", entity=entity, flag=flag, until=until, reason=reason),
        )
        assert _pins(site) == was
        if entity in was:
            take_back(site, call(site, "reputation.clear", entity=entity, reason="r"))
            assert _pins(site) == was


def _pins(site: Any) -> dict[str, Any]:
    """Return which overrides are in force, but for since when."""
    from oborona.desk.reputation.pin_store import pins_for_reading

    with pins_for_reading(site) as store:
        pins = [] if store is None else store.all(time.time())
    return {pin.name: (pin.flag, pin.until, pin.reason) for pin in pins}


@pytest.mark.parametrize(
    ("name", "asked", "error"),
    [
        ("reputation.set", {"entity": BAD, "flag": "bad"}, UnusableValueError),
        ("reputation.set", {"entity": BAD, "flag": "bad", "reason": "a\nb"}, UnusableValueError),
        ("reputation.set", {"entity": BAD, "flag": "bad", "reason": "r" * 9999}, UnusableValueError),
        ("reputation.set", {"entity": "x" * 10**6, "flag": "bad", "reason": "r"}, UnusableValueError),
        ("reputation.set", {"entity": "list:<n.x.example>", "flag": "bad", "reason": "r"}, UnusableValueError),
        ("reputation.set", {"entity": BAD, "flag": "bad", "reason": "r", "until": 1.0}, UnusableValueError),
        ("reputation.set", {"entity": BAD, "flag": "bad", "reason": "r", "until": -1e300}, UnusableValueError),
        ("reputation.note", {"entity": BAD, "text": "\x1b[2J"}, UnusableValueError),
        ("reputation.note", {"entity": "\x00", "text": "x"}, UnusableValueError),
        ("reputation.forgive", {"ident": "x" * 10**6, "reason": "r"}, UnusableValueError),
        ("reputation.import", {"content": b"x"}, MisusedCallError),
        ("reputation.import", {"content": b"{"}, MisusedCallError),
        ("reputation.import", {"content": b"{}", "flag": "bad", "reason": "r"}, MisusedCallError),
        ("reputation.import", {"content": b"\xff", "flag": "bad", "reason": "r"}, MisusedCallError),
        ("reputation.import", {"content": b"co.uk", "flag": "bad", "reason": "r"}, MisusedCallError),
        ("reputation.import", {"content": b"x", "flag": "bad", "reason": "r", "seconds": 1e300}, UnusableValueError),
        ("reputation.top", {"kind": "x" * 10**6}, UnusableValueError),
        ("reputation.top", {"limit": 0}, msgspec.ValidationError),
        ("reputation.top", {"limit": 10**9}, msgspec.ValidationError),
        ("reputation.log", {"entity": "\x1b"}, UnusableValueError),
        ("reputation.log", {"limit": 10**9}, msgspec.ValidationError),
        ("reputation.export", {"flag": "unknown"}, UnusableValueError),
        ("reputation.export", {"kinds": ["odd"]}, UnusableValueError),
        ("reputation.export", {"kinds": ["address"] * 99}, msgspec.ValidationError),
        ("reputation.show", {"entity": BAD, "more": 1}, msgspec.ValidationError),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(
    bare: Path, name: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    before = octets_below(bare)
    with pytest.raises(error) as raised:
        call(site_of(bare), name, **asked)
    assert len(str(raised.value)) < 600
    assert octets_below(bare) == before


def test_an_entity_without_a_name_is_taken_back_by_its_hash(bare: Path) -> None:
    site, named = site_of(bare), f"{ShingleType.CLIENT_IP.name.lower()}:{7:016x}"
    done = call(site, "reputation.set", entity=named, flag="bad", reason="r")
    assert done["undo"]["asked"] == {"entity": named}
    take_back(site, done)
    assert _pins(site) == {}
