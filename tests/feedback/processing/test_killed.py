"""kill -9 before and after each transaction of whoever believes: what follows from events is there
once, as if nobody had been killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from oborona import state_files
from oborona.daemon.trainer.lists import PersonalLists
from oborona.feedback.events.model import EventChannel, EventDecision, EventKind
from oborona.sqlite_file import SharedSqliteFile
from oborona.stores.persons.store import PersonStore as Persons
from oborona.types import Action
from tests.feedback.processing.scene import HAM, SPAM, Scene

ANN, BOB = "ann@b.example", "bob@b.example"
MOST_POINTS: Final = 500  # of a run; there are some 100
FORKING: Final = multiprocessing.get_context("fork")


def begun(state: Path) -> Scene:
    """Return a site whose persons have real lists."""
    state.mkdir(exist_ok=True)
    scene = Scene(state)
    scene.lists = PersonalLists(state)  # type: ignore[assignment] # as real as the others
    scene.believer = scene.begun()
    scene.deliver(7, SPAM, ANN, BOB)
    scene.deliver(8, HAM, ANN, BOB, verdict=Action.SPAM)
    return scene


def said(scene: Scene) -> None:
    """Say something of every sort."""
    for person in (ANN, BOB):
        scene.known_person(person, right=10)
    scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.say(EventKind.COMPLAINT, ANN, ident=7)
    scene.say(EventKind.PARDON, ANN, ident=7, raw=SPAM)
    scene.say(EventKind.PARDON, BOB, ident=8, raw=HAM)
    scene.say(EventKind.READ, BOB, ident=8, way=EventChannel.MAILBOX)
    scene.say(EventKind.TRAP, raw=SPAM, way=EventChannel.TRAP)
    scene.say(EventKind.COMPLAINT, BOB, raw=SPAM)


def revised(scene: Scene) -> None:
    """Decide some of it again."""
    scene.log.decide(
        [
            (3, EventDecision(counts=False, own=True, say="test")),
            (4, EventDecision(counts=False, own=False, say="test")),
        ],
        now=scene.now,
    )


def told(scene: Scene) -> dict[str, list[Any]]:
    """Return all that there is, but for what differs from run to run."""
    asked = {
        "events": (
            scene.log,
            "SELECT id, counts, own, weight, rules, turn, done, word, effects, campaign FROM event",
        ),
        "persons": (scene.log, "SELECT * FROM person"),
        "days": (scene.log, "SELECT person, complaints, pardons FROM person_day"),
        "campaigns": (
            scene.log,
            "SELECT campaign, person, what, events, weight, settled FROM campaign_person",
        ),
        "words": (
            scene.words,
            "SELECT id, kind, source, person, weight, state, reason, event FROM word",
        ),
        "counted": (scene.words, "SELECT id, length(pieces), wanted, held FROM counted"),
        "effects": (
            scene.words,
            "SELECT kind, length(pieces), wanted, held FROM effect ORDER BY kind",
        ),
    }
    found = {name: store.rows(sql) for name, (store, sql) in asked.items()}
    with Persons(scene.state / state_files.PERSONS) as persons:
        found["lists"] = persons.rows(
            "SELECT person, kind, value, side, word FROM entry ORDER BY 1, 2, 3"
        )
    return found


@contextmanager
def points(kill_at: int | None) -> Iterator[list[int]]:
    """Count the places before and after transactions, and be killed at one of them."""
    passed, real = [0], SharedSqliteFile.transaction

    def place() -> None:
        if passed[0] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        passed[0] += 1

    @contextmanager
    def counted(self: SharedSqliteFile) -> Iterator[Any]:
        place()
        with real(self) as db:
            yield db
            place()
        place()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SharedSqliteFile, "transaction", counted)
        yield passed


def believe(state: Path, kill_at: int | None) -> None:
    """Do all there is to do in a process of its own."""
    scene = begun(state)
    with points(kill_at):
        for _ in range(1000):
            if not scene.believer.step():
                break
    os._exit(0)


def in_child(state: Path, kill_at: int | None) -> int | None:
    process = FORKING.Process(target=believe, args=(state, kill_at))
    process.start()
    process.join(60)
    return process.exitcode


def test_whoever_is_killed_where_leaves_what_the_next_one_finishes(tmp_path: Path) -> None:
    def lived(
        state: Path, first: int | None, second: int | None
    ) -> tuple[dict[str, list[Any]], set[int | None]]:
        scene = begun(state)
        said(scene)
        ends = {in_child(state, first)}
        ends.add(in_child(state, None))
        revised(scene)
        ends.add(in_child(state, second))
        ends.add(in_child(state, None))
        found = told(scene)
        scene.close()
        return found, ends

    wanted, ends = lived(tmp_path / "whole", None, None)
    assert ends == {0}
    assert [row[1:3] for row in wanted["events"]][3] == (0, 0)
    assert any(row[-1] for row in wanted["words"])
    assert {row[0] for row in wanted["effects"]} == {"read"}
    for point in range(0, MOST_POINTS, 7):
        found, ends = lived(tmp_path / f"killed-{point}", point, point)
        assert found == wanted, f"killed at {point}"
        if ends == {0}:
            break
    else:
        raise AssertionError("it does not come to an end")
    assert point > 20
