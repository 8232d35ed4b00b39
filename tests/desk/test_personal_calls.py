"""Lists of persons by calls: within the scope of who calls, tried first, and taken back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.desk.call import NotFoundError
from oborona.desk.refusals import MisusedCallError, UnusableValueError
from oborona.errors import OboronaError, StoreError
from oborona.people.caller import Caller, Scope
from oborona.people.rights import Role
from tests.desk.calling import ADMIN, call, octets_below, person, site_of, take_back

JOE, ANN, EVE = "joe@b.example", "ann@a.example", "eve@c.example"
ADDRESSES = st.sampled_from([JOE, ANN, EVE, "bob@b.example"])
ACTS: dict[str, dict[str, Any]] = {
    "personal.allow": {"what": [EVE]},
    "personal.deny": {"what": [EVE]},
    "personal.remove": {"what": [EVE]},
    "personal.strict": {"factor": 0.5},
    "personal.import": {"content": b"name,email\nx,x@y.example\n"},
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def told(state: Path, address: str) -> Any:
    return call(site_of(state), "personal.show", person=address, contacts=True)


def stored(state: Path, address: str) -> Any:
    """Return what is kept of a person, but for when."""
    shown = told(state, address)
    timeless = [entry | {"time": 0, "note": ""} for entry in shown["entries"]]
    return shown | {"entries": sorted(timeless, key=str)}


def test_each_call_once(state: Path) -> None:
    site = site_of(state)
    done = call(site, "personal.allow", person="Joe@B.example", what=[ANN], reason="r")
    assert done["say"] == [f"allow address {ANN}"]
    assert done["entries"][0]["note"] == "by anna"
    assert done["undo"] == {
        "call": "personal.remove",
        "asked": {"person": JOE, "what": [ANN], "kind": "address", "contacts": False},
    }
    denied = call(site, "personal.deny", person=JOE, what=["s.example"], kind="domain", note="no")
    assert (denied["person"], denied["entries"][0]["note"]) == (JOE, "no")
    strict = call(site, "personal.strict", person=JOE, factor=0.5)
    assert (strict["factor"], strict["before"]) == (0.5, 1.0)
    imported = call(
        site, "personal.import", person=JOE, content=b"Name,E-mail Address\nEve,eve@c.example\n"
    )
    assert (imported["entries"], imported["new"]) == (1, 1)
    shown = told(state, JOE)
    assert [f"{entry['side']} {entry['value']}" for entry in shown["entries"]] == [
        f"allow {ANN}",
        "deny s.example",
        f"contact {EVE}",
    ]
    assert (shown["strictness"], shown["contacts"]) == (0.5, 1)
    exported = call(site, "personal.export", person=JOE)
    assert len(exported["entries"]) == 3
    removed = call(site, "personal.remove", person=JOE, everything=True)
    assert (removed["removed"], told(state, JOE)["entries"]) == (3, [])
    take_back(site, removed)
    assert told(state, JOE) == shown


@pytest.mark.parametrize("act", ACTS)
def test_what_is_tried_changes_nothing(state: Path, act: str) -> None:
    site = site_of(state)
    call(site, "personal.deny", person=JOE, what=[EVE])
    before, octets = told(state, JOE), octets_below(state)
    done = call(site, act, person=JOE, dry=True, **ACTS[act])
    assert done["dry"] is True
    assert (told(state, JOE), octets_below(state)) == (before, octets)


@pytest.mark.parametrize("act", ["personal.allow", "personal.deny", "personal.strict"])
def test_what_is_tried_begins_no_store(state: Path, act: str) -> None:
    call(site_of(state), act, person=JOE, dry=True, **ACTS[act])
    assert octets_below(state) == {}


@settings(max_examples=60, deadline=None)
@given(
    domains=st.frozensets(st.sampled_from(["a.example", "b.example"])),
    own=st.frozensets(ADDRESSES),
    address=ADDRESSES,
    role=st.sampled_from([Role.READER, Role.SUPPORT]),
)
def test_who_is_beyond_the_scope_is_neither_seen_nor_changed(
    domains: frozenset[str], own: frozenset[str], address: str, role: Role
) -> None:
    caller = person(role, scope=Scope(domains, own))
    others = role is Role.SUPPORT and address.rpartition("@")[2] in domains
    may = others or address in own
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        site = site_of(state)
        call(site, "personal.deny", person=address, what=[EVE])
        for name in ("personal.show", "personal.export"):
            assert _answers(site, name, caller, person=address) is may
        before = told(state, address)
        for act, asked in ACTS.items():
            assert _answers(site, act, caller, person=address, **asked) is may
        assert (told(state, address) == before) is not may


def _answers(site: Any, name: str, caller: Caller, **asked: Any) -> bool:
    try:
        call(site, name, caller, **asked)
    except NotFoundError:
        return False
    return True


_ENTRY = st.tuples(
    st.sampled_from(["personal.allow", "personal.deny"]),
    st.lists(st.sampled_from([ANN, EVE, "x@y.example"]), min_size=1, max_size=3, unique=True),
)


@settings(max_examples=40, deadline=None)
@given(before=st.lists(_ENTRY, max_size=3), act=_ENTRY, contact=st.booleans())
def test_what_is_taken_back_is_as_it_was(
    before: list[tuple[str, list[str]]], act: tuple[str, list[str]], contact: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        site = site_of(state)
        call(site, "personal.strict", person=JOE, factor=1.5)
        for name, values in before:
            call(site, name, person=JOE, what=values)
        if contact:
            call(site, "personal.import", person=JOE, content=b"email\nann@a.example\n")
        was = stored(state, JOE)
        done = call(site, act[0], person=JOE, what=act[1])
        if done["undo"] is None:  # some took the place of others, and some are new
            return
        take_back(site, done)
        assert stored(state, JOE) == was
        removed = call(site, "personal.remove", person=JOE, what=act[1])
        if removed["removed"]:
            take_back(site, removed)
            assert stored(state, JOE) == was


@pytest.mark.parametrize(
    ("name", "asked", "error"),
    [
        ("personal.show", {"person": "x" * 100_000}, UnusableValueError),
        ("personal.show", {"person": "a\x00@b.example"}, UnusableValueError),
        ("personal.deny", {"person": JOE, "what": ["\x1b[2J"]}, UnusableValueError),
        ("personal.deny", {"person": JOE, "what": ["x" * 1_000_000]}, UnusableValueError),
        ("personal.deny", {"person": JOE, "what": []}, UnusableValueError),
        ("personal.deny", {"person": JOE, "what": ["text"], "kind": "text"}, UnusableValueError),
        ("personal.deny", {"person": JOE, "what": [EVE], "expires": 1.0}, UnusableValueError),
        ("personal.deny", {"person": JOE, "what": [EVE], "expires": 1e300}, UnusableValueError),
        ("personal.allow", {"person": JOE, "what": [EVE], "beside": "x.example"}, MisusedCallError),
        ("personal.remove", {"person": JOE}, MisusedCallError),
        ("personal.remove", {"person": JOE, "what": [EVE], "everything": True}, MisusedCallError),
        ("personal.strict", {"person": JOE, "factor": 1e9}, UnusableValueError),
        ("personal.import", {"person": JOE, "content": b"\x00\xff" * 5000}, OboronaError),
        ("personal.import", {"person": JOE, "content": b'{"format": 1}'}, OboronaError),
        ("personal.deny", {"person": JOE, "what": [EVE] * 1001}, msgspec.ValidationError),
        ("personal.deny", {"person": JOE, "what": [EVE], "side": "x"}, msgspec.ValidationError),
        ("personal.deny", {"person": 5, "what": [EVE]}, msgspec.ValidationError),
    ],
)
def test_what_cannot_be_used_is_told(
    state: Path, name: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        call(site_of(state), name, **asked)
    assert len(str(raised.value)) < 600
    assert octets_below(state) == {}


def test_without_a_store_or_a_state_folder_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(MisusedCallError, match="no state folder"):
        call(site_of(tmp_path / "none"), "personal.show", person=JOE)
    with pytest.raises(StoreError):
        call(site_of(tmp_path), "personal.show", ADMIN, person=JOE)
