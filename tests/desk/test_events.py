"""Calls about events: what was said, taken back, and as before."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.desk.call import CallError, NotFoundError
from oborona.errors import OboronaError
from oborona.feedback.events.model import EventKind
from oborona.people.rights import Role
from tests.cli.journaled import LUNCH
from tests.desk.spoken_site import ANN, BOB, EVE, SpokenSite, caller

COMPLAINT, PARDON, TRAP = EventKind.COMPLAINT, EventKind.PARDON, EventKind.TRAP


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> SpokenSite:
    """What tests that change nothing share."""
    site = SpokenSite(tmp_path_factory.mktemp("spoken"))
    site.say(site.lunch, ANN, COMPLAINT, raw=LUNCH)
    site.say(site.lunch, BOB, PARDON)
    site.say(site.lottery, "", TRAP)
    site.say(site.lottery, EVE, COMPLAINT, decided=False)
    return site


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    return SpokenSite(tmp_path)


def test_each_ask_answers(spoken: SpokenSite) -> None:
    assert [one["id"] for one in spoken.ask("events.list")["events"]] == [4, 3, 2, 1]
    assert spoken.ask("events.show", id=1)["raw_octets"] == len(LUNCH)
    assert spoken.ask("events.raw", id=1)["octets"]
    assert {one["person"] for one in spoken.ask("events.persons")["persons"]} >= {ANN, BOB}
    assert spoken.ask("events.person", person=ANN.upper())["events"][0]["id"] == 1
    assert spoken.ask("events.rules")["rules"]
    (day,) = spoken.ask("events.thresholds")["days"]
    assert day["complaints"] == 20


def test_pages_follow_each_other(spoken: SpokenSite) -> None:
    seen, before = [], None
    while True:
        page = spoken.ask("events.list", most=1, before=before)
        seen += [one["id"] for one in page["events"]]
        before = page["next"]
        if before is None:
            break
    assert seen == [4, 3, 2, 1]


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(domains=st.sets(st.sampled_from(["a.example", "b.example", "e.example", "x.example", ""])))
def test_nothing_beyond_a_scope_is_shown(spoken: SpokenSite, domains: set[str]) -> None:
    who = caller(Role.SUPPORT, sorted(domains - {""}))
    shown = spoken.ask("events.list", who)["events"]
    assert all(one["person"].partition("@")[2] in domains for one in shown)
    assert len(shown) == len({"a.example", "b.example", "e.example"} & domains)
    for one in spoken.ask("events.persons", who)["persons"]:
        assert one["person"].partition("@")[2] in domains
    for ident, domain in ((1, "a.example"), (2, "b.example"), (3, "-"), (4, "e.example")):
        if domain in domains:
            assert spoken.ask("events.show", who, id=ident)["event"]["id"] == ident
            continue
        for call in ("events.show", "events.raw"):
            with pytest.raises(NotFoundError, match=f"there is no report {ident}"):
                spoken.ask(call, who, id=ident)
    if "a.example" not in domains:
        with pytest.raises(NotFoundError):
            spoken.ask("events.person", who, person=ANN)


def test_a_dry_run_changes_no_store(site: SpokenSite) -> None:
    ident = site.say(site.lunch, ANN, COMPLAINT)
    before = site.stores()
    told = site.ask("events.take_back", ids=[ident], dry=True)
    assert [one["id"] for one in told["events"]] == [ident]
    assert site.stores() == before


@pytest.mark.parametrize("decided", [True, False])
def test_what_was_taken_back_is_as_before(site: SpokenSite, decided: bool) -> None:
    ident = site.say(site.lunch, ANN, COMPLAINT, decided=decided)
    before = site.ask("events.show", id=ident)["event"]
    taken = site.ask("events.take_back", person=ANN, reason="a robot")
    now = site.ask("events.show", id=ident)["event"]
    assert (now["counts"], now["rules"], now["say"]) == (False, ["TAKEN_BACK"], "by anna: a robot")
    undo = taken["undo"]
    assert undo == {"call": "events.restore", "asked": {"ids": [ident]}}
    stores = site.stores()
    assert site.ask(undo["call"], **undo["asked"], dry=True)["events"] == [ident]
    assert site.stores() == stores
    assert site.ask(undo["call"], **undo["asked"])["events"] == [ident]
    after = site.ask("events.show", id=ident)["event"]
    for field in ("counts", "own", "weight", "rules", "say"):
        assert after[field] == before[field], field
    assert (after["decided"] is None) is not decided
    assert site.ask("events.restore", ids=[ident])["events"] == [], "twice is once"


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("events.list", {"person": "nobody"}),
        ("events.list", {"most": 0}),
        ("events.list", {"before": 1 << 63}),
        ("events.list", {"what": "murder"}),
        ("events.list", {"offset": 1}),
        ("events.show", {"id": -1}),
        ("events.show", {"id": 99}),
        ("events.person", {"person": "\x00@\x1b"}),
        ("events.take_back", {}),
        ("events.take_back", {"ids": [1], "person": ANN}),
        ("events.take_back", {"ids": [1], "since": 5.0}),
        ("events.take_back", {"ids": [99]}),
        ("events.restore", {"ids": "1"}),
    ],
)
def test_what_is_no_question_is_refused_plainly(
    spoken: SpokenSite, name: str, asked: dict[str, object]
) -> None:
    with pytest.raises((CallError, msgspec.ValidationError)):
        spoken.ask(name, **asked)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    person=st.text(st.characters(exclude_categories=["Cs"])),
    rule=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_any_text_is_answered_or_refused(spoken: SpokenSite, person: str, rule: str) -> None:
    try:
        spoken.ask("events.list", person=person, rule=rule)
    except OboronaError as error:
        assert str(error)  # noqa: PT017 - what matters is that it is one of ours
