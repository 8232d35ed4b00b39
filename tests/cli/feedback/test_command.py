"""`oborona feedback`: who said what, what became of it, and what an admin takes back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.feedback.antifraud.rules import NAMES
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventDecision, EventKind, FeedbackEvent
from oborona.feedback.processing.event_decision import decide_event
from oborona.feedback.processing.event_message import EventMessage
from oborona.feedback.processing.ports import JournaledMessage
from oborona.types import Action

ANN, BOB, EVE = "ann@a.example", "bob@b.example", "eve@e.example"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "state").mkdir()

    def call(*words: str, status: int = 0) -> Result:
        result = CliRunner().invoke(
            main, ["--state", str(tmp_path / "state"), "feedback", *words], catch_exceptions=False
        )
        assert result.exit_code == status, result.output
        return result

    return call


@pytest.fixture
def log(tmp_path: Path, run: Run) -> Iterator[EventLog]:
    """Three people and a trap: one complains, one speaks of what was for others, one is not decided
    on.
    """
    now = time.time()
    with EventLog(tmp_path / "state" / state_files.EVENTS) as opened:
        events = [
            FeedbackEvent(what=EventKind.COMPLAINT, way=EventChannel.SIEVE, time=now, person=ANN, ident=7, message_id="a@x", raw=b"Subject: 7\r\n\r\n"),
            FeedbackEvent(what=EventKind.PARDON, way=EventChannel.SIEVE, time=now, person=EVE, ident=7, message_id="a\x1b[2J@x"),
            FeedbackEvent(what=EventKind.TRAP, way=EventChannel.TRAP, time=now, source="trap@site.example", message_id="b@x"),
            FeedbackEvent(what=EventKind.COMPLAINT, way=EventChannel.HTTP, time=now, person=BOB, source="192.0.2.1"),
        ]  # fmt: skip
        receipts = opened.add(events, now=now)
        about = EventMessage(
            message=b"m" * 16,
            signed=True,
            known=JournaledMessage(
                id=7, time=now, verdict=Action.ACCEPT, recipients=frozenset((ANN,))
            ),
        )
        with opened.transaction() as db:
            for receipt in receipts[:3]:
                decide_event(db, opened.get(receipt.id), about, asked_for=False, now=now)
        yield opened


def objects(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_site_where_nobody_spoke_says_so(run: Run) -> None:
    for words in (["list"], ["persons"], ["thresholds"], ["rules"], ["take-back", "1"]):
        assert "nobody has said anything" in run(*words, status=74).stderr


@pytest.mark.usefixtures("log")
def test_events_are_listed_the_newest_first_with_what_became_of_them(run: Run) -> None:
    found = objects(run("list", "--json"))
    assert [(one["id"], one["what"], one["counts"]) for one in found] == [
        (4, "complaint", False),
        (3, "trap", True),
        (2, "pardon", False),
        (1, "complaint", True),
    ]
    assert "NOT_RECIPIENT" in found[2]["rules"]
    shown = run("list").stdout
    assert "\x1b" not in shown
    assert "waits" in shown
    assert "accepted 0.30" in shown


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--person", "Eve@E.example"], [2]),
        (["--what", "complaint"], [4, 1]),
        (["--rule", "not_recipient"], [2]),
        (["--rule", "RECIPIENT"], []),
        (["--believed"], [3, 1]),
        (["--not-believed"], [2]),
        (["--since", "1h", "--last", "2"], [4, 3]),
    ],
)
def test_a_part_of_them_is_listed(run: Run, words: list[str], ids: list[int]) -> None:
    assert [one["id"] for one in objects(run("list", "--json", *words))] == ids


def test_one_event_is_shown_with_all_decisions(run: Run, log: EventLog) -> None:
    log.decide(
        [(1, EventDecision(counts=False, own=True, rules=("REVISED",), say="what was said since"))],
        now=time.time(),
    )
    shown = run("show", "1").stdout
    assert f"report 1: spam report by {ANN}" in shown
    assert "was        accepted" in shown
    assert "is         own mail alone" in shown
    assert "REVISED (what was said since)" in shown
    (found,) = objects(run("show", "1", "--json"))
    assert (found["event"]["turn"], found["raw_octets"], len(found["decisions_before"])) == (
        2,
        14,
        1,
    )
    assert run("show", "1", "--raw").stdout_bytes == b"Subject: 7\r\n\r\n"
    assert "not kept" in run("show", "2", "--raw", status=1).stderr
    assert "no report 99" in run("show", "99", status=2).stderr


@pytest.mark.usefixtures("log")
def test_people_are_told_with_how_far_they_are_believed(run: Run) -> None:
    found = {one["person"]: one for one in objects(run("persons", "--json"))}
    assert set(found) == {ANN, EVE}
    assert (found[ANN]["standing"], found[ANN]["complaints"], found[ANN]["weight"]) == (
        "stranger",
        1,
        0.3,
    )
    assert found[EVE]["pardons_today"] == 1
    (ann,) = objects(run("person", "Ann@A.example", "--json"))
    assert [one["id"] for one in ann["events"]] == [1]
    assert ann["person"]["person"] == ANN
    assert "stranger" in run("person", ANN).stdout
    assert "never reported anything" in run("person", "nobody@x.example", status=1).stderr
    assert "no mail address" in run("person", "nobody", status=2).stderr


@pytest.mark.usefixtures("log")
def test_thresholds_and_rules_are_told(run: Run) -> None:
    (today,) = objects(run("thresholds", "--json"))
    assert (today["complaints"], today["pardons"], today["people"]) == (20, 10, 0)
    found = {one["rule"]: one["events"] for one in objects(run("rules", "--json"))}
    assert set(found) >= NAMES
    assert found["NOT_RECIPIENT"] == 1
    assert found["BRIGADE"] == 0


def test_what_is_taken_back_counts_no_more_and_stays_for_the_person(
    run: Run, log: EventLog
) -> None:
    before = log.get(1)
    run("take-back", "1", "--dry-run")
    assert log.get(1) == before
    told = run("take-back", "1", "2", "--reason", "a test")
    assert told.stdout == f"took back report 1: spam report by {ANN}, accepted 0.30\n"
    after = log.get(1)
    assert (after.counts, after.own, after.rules, after.turn) == (
        False,
        True,
        ("TAKEN_BACK",),
        before.turn + 1,
    )
    assert after.say.endswith(": a test")
    assert after.done < after.turn  # the trainer undoes what followed
    assert "nothing to take back" in run("take-back", "1", status=1).stderr
    run("take-back", "1", "--own")
    assert not log.get(1).own


def test_all_of_a_person_is_taken_back_and_what_waits_is_not_believed_first(
    run: Run, log: EventLog
) -> None:
    assert [one["id"] for one in objects(run("take-back", "--person", BOB, "--json"))] == [4]
    assert (log.get(4).decided is not None, log.get(4).counts) == (True, False)
    assert [one.id for one in log.undecided(0, 10)] == []
    run("take-back", status=2)
    run("take-back", "1", "--person", BOB, status=2)
    run("take-back", "1", "--since", "1h", status=2)
    run("take-back", "1", "99", status=2)
    assert log.get(1).counts  # one of them is unknown: nothing is taken back


def test_an_event_of_every_kind_can_be_listed(run: Run, log: EventLog) -> None:
    event = FeedbackEvent(what=EventKind.READ, way=EventChannel.MAILBOX, time=1.0)
    log.add(
        [
            msgspec.structs.replace(event, what=what, way=way)
            for what in EventKind
            for way in EventChannel
        ],
        now=time.time(),
    )
    assert len(objects(run("list", "--json", "--last", "100"))) == 4 + len(EventKind) * len(
        EventChannel
    )
