"""Calls about models, and what is taught."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.errors import OboronaError
from oborona.feedback.events.model import EventKind
from oborona.people.rights import Role
from tests.cli.journaled import LOTTERY, LUNCH
from tests.desk.spoken_site import ANN, EVE, SpokenSite, caller


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    return SpokenSite(tmp_path)


def standing(site: SpokenSite) -> list[tuple[str, str, str]]:
    """Return the labels that stand: what, by whom, how."""
    return [
        (one["kind"], one["person"], one["state"])
        for one in site.ask("model.words")["labels"]
        if one["state"] != "taken-back"
    ]


def test_each_ask_answers(site: SpokenSite) -> None:
    assert site.ask("model.status")["speaks"] is False
    assert site.ask("model.history")["snapshots"] == []
    assert site.ask("model.words")["labels"] == []
    assert site.ask("model.final_status")["model"] is None


def test_what_is_taught_is_tried_first_and_taken_back(site: SpokenSite) -> None:
    site.say(site.lottery, EVE, EventKind.COMPLAINT, raw=LOTTERY)
    raw = [base64.b64encode(LUNCH).decode(), base64.b64encode(b"no mail").decode()]
    messages = [site.lottery, site.lunch, "0SAH375J007Q5"]
    stores = site.stores()
    tried = site.ask("teach", kind="spam", raw=raw, messages=messages, dry=True)
    assert site.stores() == stores
    assert tried["undo"] is None
    done = site.ask("teach", kind="spam", raw=raw, messages=messages)
    results = [one["result"] for one in done["messages"]]
    assert results == [one["result"] for one in tried["messages"]]
    assert results == ["new", "refused", "new", "new", "refused"]
    states = [state for _, _, state in standing(site)]
    assert sorted(states) == ["counted", "queued", "queued"], "what is not kept counts alone"
    again = site.ask("teach", kind="spam", messages=[site.lottery])
    assert again["messages"][0]["result"] == "duplicate"
    turned = site.ask("teach", kind="ham", messages=[site.lottery], dry=True)
    assert turned["messages"][0]["result"] == "replaced"
    undo = done["undo"]
    could = site.ask(undo["call"], **undo["asked"], dry=True)["taken_back"]
    assert site.ask(undo["call"], **undo["asked"])["taken_back"] == could
    assert standing(site) == []


def test_what_a_person_says_is_that_persons(site: SpokenSite) -> None:
    site.ask("teach", kind="spam", messages=[site.lunch], person=ANN.upper())
    assert standing(site) == [("spam", ANN, "counted")]
    scoped = caller(Role.SUPPORT, ["b.example"])
    assert site.ask("model.words", scoped)["labels"] == []
    assert len(site.ask("model.words", caller(Role.SUPPORT, ["a.example"]))["labels"]) == 1


def test_a_forged_id_above_another_message_counts_what_came(site: SpokenSite) -> None:
    """Somebody reports the lunch with the id of the lottery: the text is not the lottery's."""
    site.say(site.lottery, EVE, EventKind.COMPLAINT, raw=LUNCH)
    site.ask("teach", kind="spam", messages=[site.lottery])
    assert standing(site) == [("spam", "", "counted")]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("model.unlearn", {}),
        ("model.unlearn", {"words": [0]}),
        ("model.rollback", {"snapshot": 5}),
        ("model.final_rollback", {}),
        ("model.final_remove", {}),
        ("model.final_install", {"octets": base64.b64encode(b"no model").decode()}),
        ("model.final_install", {"octets": "%"}),
        ("teach", {"kind": "spam"}),
        ("teach", {"kind": "boring", "messages": ["x"]}),
        ("teach", {"kind": "spam", "messages": ["x"]}),
        ("teach", {"kind": "spam", "messages": ["0SAH375J007Q5"] * 1001}),
        ("teach", {"kind": "spam", "messages": ["0SAH375J007Q5"], "person": "nobody"}),
        ("model.words", {"most": 0}),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_what_is_no_order_is_refused_plainly(
    site: SpokenSite, name: str, asked: dict[str, object], dry: bool
) -> None:
    more = {"dry": dry} if name != "model.words" else {}
    with pytest.raises((OboronaError, msgspec.ValidationError)):
        site.ask(name, **asked, **more)


def test_dry_runs_of_models_change_nothing(site: SpokenSite) -> None:
    site.ask("teach", kind="spam", messages=[site.lunch])
    stores = site.stores()
    assert site.ask("model.anew", dry=True) == {"asked": False}
    assert site.ask("model.final_auto", dry=True)["done"] is False
    assert site.ask("model.unlearn", person="", dry=True)["taken_back"]
    assert site.stores() == stores
    assert site.ask("model.anew") == {"asked": True}


def test_a_site_without_a_secret_teaches_nothing(site: SpokenSite) -> None:
    (site.state / state_files.SECRET).unlink()
    with pytest.raises(OboronaError, match="no secret yet"):
        site.ask("teach", kind="spam", messages=[site.lunch])
