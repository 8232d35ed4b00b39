"""Signatures by calls: added, proposed, decided about, tried first, and taken back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.desk.refusals import (
    MisusedCallError,
    NothingDoneError,
    UnknownNameError,
    UnusableValueError,
)
from oborona.desk.signatures.store import open_signatures
from oborona.stores.signatures.rows import SignatureState
from tests.desk.calling import call, octets_below, site_of, take_back

LETTER = "From: Ann <ann@a.example>\nSubject: news\n\n{}\n"
SPAM = [
    LETTER.format(f"Claim your golden parrot prize at the harbour office now, number {number}").encode()
    for number in range(6)
]  # fmt: skip
HAM = [LETTER.format("the minutes of the meeting on Tuesday, as we agreed").encode()]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def in_force(site: Any) -> list[Any]:
    """Return the store's signatures in force, but for their ids."""
    with open_signatures(site) as store:
        stored = [record.signature for record in store.all(SignatureState.ACTIVE)]
    return sorted((msgspec.structs.asdict(one) | {"id": ""} for one in stored), key=str)


def test_each_call_once(state: Path) -> None:
    site = site_of(state)
    added = call(site, "signatures.add", value="golden parrot", reason="r", score=7.0)
    name = added["id"]
    assert added["undo"] == {"call": "signatures.remove", "asked": {"names": [name]}}
    same = call(site, "signatures.add", value="Golden  Parrot", reason="r")
    assert (same["new"], same["undo"]) == (False, None)
    shown = call(site, "signatures.show", name=name)
    assert (shown["signature"]["author"], shown["signature"]["owner"]) == ("anna", "anna")
    (listed,) = call(site, "signatures.list", owner="anna")["signatures"]
    assert listed == shown
    assert (shown["state"], shown["expired"], shown["hits"]["total"]) == ("active", False, 0)
    found = call(site, "signatures.test", messages=[SPAM[0], HAM[0]])["found"]
    assert found[0] == [name]
    assert call(site, "signatures.test", messages=HAM, value="the meeting")["found"] == [["s1"]]
    ended = call(site, "signatures.expire", name=name, until=4e9)
    assert (ended["until"], ended["before"]) == (4e9, 0)
    take_back(site, ended)
    assert call(site, "signatures.show", name=name)["signature"]["expires"] == 0
    before = in_force(site)
    removed = call(site, "signatures.remove", names=[name])
    assert in_force(site) == []
    take_back(site, removed)
    assert in_force(site) == before
    imported = call(site, "signatures.import", content=b"blue parrot\n# x\n", reason="r")
    assert (imported["added"], imported["same"], len(in_force(site))) == (1, 0, 2)
    take_back(site, imported)
    assert in_force(site) == before


def test_what_good_mail_has_is_not_added(state: Path) -> None:
    site = site_of(state)
    with pytest.raises(NothingDoneError, match="1 of 1 good messages"):
        call(site, "signatures.add", value="the meeting", reason="r", ham=HAM)
    assert in_force(site) == []


def test_proposals_are_decided_about(state: Path) -> None:
    site = site_of(state)
    tried = call(site, "signatures.propose", spam=SPAM, ham=HAM, dry=True, limit=2)
    assert tried["proposals"]
    assert {proposal["id"] for proposal in tried["proposals"]} == {"-"}
    assert in_force(site) == []
    proposed = call(site, "signatures.propose", spam=SPAM, ham=HAM, limit=2)
    names = [proposal["id"] for proposal in proposed["proposals"]]
    waiting = call(site, "signatures.proposals")["proposals"]
    assert [proposal["id"] for proposal in waiting] == names
    first, *others = names
    accepted = call(site, "signatures.accept", names=[first])
    assert (accepted["state"], len(in_force(site))) == ("active", 1)
    take_back(site, accepted)
    assert in_force(site) == []
    with pytest.raises(UnusableValueError, match="is no proposal"):
        call(site, "signatures.accept", names=[first])
    if others:
        call(site, "signatures.decline", names=others)
    assert call(site, "signatures.proposals")["proposals"] == []


@pytest.mark.parametrize(
    ("act", "asked"),
    [
        ("signatures.add", {"value": "blue parrot"}),
        ("signatures.remove", {"names": ["s1"]}),
        ("signatures.expire", {"name": "s1", "until": 1.0}),
        ("signatures.import", {"content": b"blue parrot"}),
        ("signatures.propose", {"spam": SPAM}),
    ],
)
def test_what_is_tried_changes_nothing(state: Path, act: str, asked: dict[str, Any]) -> None:
    site = site_of(state)
    call(site, "signatures.add", value="golden parrot", reason="r")
    before = octets_below(state), in_force(site)
    assert call(site, act, dry=True, reason="r", **asked)["dry"] is True
    assert (octets_below(state), in_force(site)) == before


_VALUES = st.sampled_from(["golden parrot", "blue parrot", "green parrot", "claim your prize"])


@settings(max_examples=30, deadline=None)
@given(before=st.lists(_VALUES, max_size=3, unique=True), value=_VALUES, flag=st.sampled_from(["spam", "ham"]))  # fmt: skip
def test_what_is_taken_back_is_as_it_was(before: list[str], value: str, flag: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = site_of(Path(folder))
        names = [call(site, "signatures.add", value=one, reason="r")["id"] for one in before]
        was = in_force(site)
        done = call(site, "signatures.add", value=value, flag=flag, reason="r", expires=4e9)
        if done["undo"] is not None:
            take_back(site, done)
        assert in_force(site) == was
        if names:
            take_back(site, call(site, "signatures.remove", names=names))
            assert in_force(site) == was


@pytest.mark.parametrize(
    ("name", "asked", "error"),
    [
        ("signatures.add", {"value": "x" * 10**6, "reason": "r"}, UnusableValueError),
        ("signatures.add", {"value": "", "reason": "r"}, UnusableValueError),
        ("signatures.add", {"value": "(" * 50, "kind": "pattern", "reason": "r"}, UnusableValueError),
        ("signatures.add", {"value": "golden parrot", "reason": "r", "expires": 1e300}, UnusableValueError),
        ("signatures.add", {"value": "x y", "kind": "odd"}, msgspec.ValidationError),
        ("signatures.show", {"name": "s" + "9" * 10**5}, UnknownNameError),
        ("signatures.show", {"name": "\x1b[2J"}, UnknownNameError),
        ("signatures.remove", {"names": ["s1"]}, UnknownNameError),
        ("signatures.remove", {"names": []}, msgspec.ValidationError),
        ("signatures.accept", {"names": ["s1"] * 1001}, msgspec.ValidationError),
        ("signatures.expire", {"name": "s1", "until": -1.0}, msgspec.ValidationError),
        ("signatures.expire", {"name": "s1", "until": 1.0}, UnknownNameError),
        ("signatures.import", {"content": b"\xff\xfe"}, MisusedCallError),
        ("signatures.import", {"content": b'{"id": 1}'}, MisusedCallError),
        ("signatures.test", {"messages": [b"x"] * 1001}, msgspec.ValidationError),
        ("signatures.test", {"messages": [b"\x00" * 1000], "value": ""}, UnusableValueError),
        ("signatures.propose", {"spam": SPAM, "limit": 0}, msgspec.ValidationError),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(
    state: Path, name: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        call(site_of(state), name, **asked)
    assert len(str(raised.value)) < 600
