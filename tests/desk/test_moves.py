"""Calls about moves: judged again, taken back one by one or all, stopped and let go on."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.desk.call import CallError, NotAllowedError, NotFoundError
from oborona.errors import StoreError
from oborona.people.rights import Role
from oborona.recheck.moves import MoveState, MoveStore
from tests.cli.recheck.test_command import SPAM, decided
from tests.desk.spoken_site import SpokenSite, caller

SUPPORT = caller(Role.SUPPORT)


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    """Moves of two messages are decided, and the recheck stands still."""
    spoken = SpokenSite(tmp_path)
    decided(spoken.state, spoken.lunch)
    decided(spoken.state, spoken.lottery, recipient="eve@e.example")
    with MoveStore(spoken.state / state_files.MOVES) as moves:
        moves.pause("too many", now=time.time())
    return spoken


def states(site: SpokenSite) -> list[str]:
    return [one["state"] for one in site.ask("recheck.moves")["moves"]]


def test_each_ask_answers(site: SpokenSite) -> None:
    told = site.ask("recheck.status")
    assert (told["paused"], told["moves"]["decided"], told["runs"]) == ("too many", 2, False)
    assert [one["id"] for one in site.ask("recheck.moves")["moves"]] == [2, 1]
    assert [one["id"] for one in site.ask("recheck.moves", message=site.lunch)["moves"]] == [1]
    page = site.ask("recheck.moves", most=1)
    assert site.ask("recheck.moves", before=page["next"])["moves"][0]["id"] == 1


def test_moves_are_found_by_their_state_and_undone_by_their_rule(site: SpokenSite) -> None:
    with MoveStore(site.state / state_files.MOVES) as moves:
        (rule, *_) = moves.since(0.0)[0].why.split()
    assert site.ask("recheck.undo", since=0.0, rule="NO_SUCH_RULE", dry=True)["moves"] == []
    with pytest.raises(CallError, match="a rule goes with a time"):
        site.ask("recheck.undo", moves=[1], rule=rule)
    site.ask("recheck.undo", moves=[1])
    found = site.ask("recheck.moves", state="undone", most=1)
    assert ([one["id"] for one in found["moves"]], found["next"]) == ([1], 1)
    assert [one["id"] for one in site.ask("recheck.moves", state="decided")["moves"]] == [2]
    assert site.ask("recheck.moves", state="done") == {"moves": [], "next": None}
    undone = site.ask("recheck.undo", since=0.0, rule=f" {rule.lower()} ")
    assert [one["id"] for one in undone["moves"]] == [2]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("recheck.undo", {"moves": [1, 2]}),
        ("recheck.undo", {"since": 0.0}),
        ("recheck.resume", {}),
        ("recheck.discard", {}),
        ("recheck.look", {"recipient": "bob@b.example"}),
    ],
)
def test_a_dry_run_tells_and_changes_no_store(
    site: SpokenSite, name: str, asked: dict[str, object]
) -> None:
    before = site.stores()
    told = site.ask(name, dry=True, **asked)
    assert site.stores() == before
    done = site.ask(name, **asked)
    if name != "recheck.look":
        assert done["moves"] == told["moves"]


def test_who_may_undo_one_undoes_one_message(site: SpokenSite) -> None:
    for asked in ({"moves": [1, 2]}, {"messages": [site.lunch, site.lottery]}, {"since": 0.0}):
        with pytest.raises(NotAllowedError, match="one message at a time"):
            site.ask("recheck.undo", SUPPORT, **asked)
    assert [one["id"] for one in site.ask("recheck.undo", SUPPORT, moves=[1])["moves"]] == [1]
    assert states(site) == ["decided", "undone"]


def test_what_is_beyond_a_scope_is_not_there(site: SpokenSite) -> None:
    who = caller(Role.DUTY, ["b.example"])
    assert [one["id"] for one in site.ask("recheck.moves", who)["moves"]] == [1]
    with pytest.raises(NotFoundError):
        site.ask("recheck.undo", who, moves=[2])
    assert site.ask("recheck.undo", who, messages=[site.lottery])["moves"] == []
    with pytest.raises(NotFoundError, match="no such message"):
        site.ask("recheck.look", caller(Role.DUTY, ["e.example"]), message=site.lunch)
    site.ask("recheck.undo", who, since=0.0)
    assert states(site) == ["decided", "undone"]


def test_what_a_look_has_decided_is_taken_back_alone(tmp_path: Path) -> None:
    site = SpokenSite(tmp_path)
    (tmp_path / "policy" / "20.toml").write_text(SPAM)
    dry = site.ask("recheck.look", message=site.lunch, dry=True)
    assert (dry["copies"][0]["target"], dry["moves"]) == ("Junk", [])
    assert not (site.state / state_files.MOVES).exists()
    looked = site.ask("recheck.look", message=site.lunch)
    assert looked["undo"] == {"call": "recheck.undo", "asked": {"moves": looked["moves"]}}
    site.ask(looked["undo"]["call"], **looked["undo"]["asked"])
    assert states(site) == [MoveState.UNDONE]


def test_several_messages_are_looked_at_in_one_order(tmp_path: Path) -> None:
    site = SpokenSite(tmp_path)
    (tmp_path / "policy" / "20.toml").write_text(SPAM)
    both = [site.lunch, site.lottery, site.lunch]
    dry = site.ask("recheck.look", messages=both, dry=True)
    assert {copy["id"] for copy in dry["copies"]} <= {site.lunch, site.lottery}
    looked = site.ask("recheck.look", messages=both)
    assert looked["undo"]["asked"] == {"moves": looked["moves"]}
    with pytest.raises(CallError, match="one of both"):
        site.ask("recheck.look", message=site.lunch, messages=[site.lottery])


def test_discarded_moves_are_kept_and_the_recheck_goes_on(site: SpokenSite) -> None:
    assert site.ask("recheck.discard") == {"moves": 2, "runs": False}
    assert states(site) == ["kept", "kept"]
    assert site.ask("recheck.status")["paused"] is None
    assert site.ask("recheck.resume")["moves"] == 0


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("recheck.moves", {"message": "no id"}),
        ("recheck.moves", {"most": -1}),
        ("recheck.undo", {}),
        ("recheck.undo", {"messages": ["x"]}),
        ("recheck.undo", {"moves": [99]}),
        ("recheck.undo", {"moves": [1], "since": 0.0}),
        ("recheck.look", {}),
        ("recheck.look", {"recipient": "nobody"}),
        ("recheck.look", {"message": "\x00"}),
    ],
)
def test_what_is_no_order_is_refused_plainly(
    site: SpokenSite, name: str, asked: dict[str, object]
) -> None:
    with pytest.raises((CallError, msgspec.ValidationError)):
        site.ask(name, **asked)


def test_a_site_without_moves_says_so(tmp_path: Path) -> None:
    site = SpokenSite(tmp_path)
    for name in ("recheck.status", "recheck.moves", "recheck.resume", "recheck.discard"):
        with pytest.raises(StoreError, match="there is no file of moves"):
            site.ask(name)
