"""What event logs say of people who report mail, and what follows for these reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from oborona import secret, state_files
from oborona.config import Settings
from oborona.daemon.state import prepare_state
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily.book import CaughtDay, DayPassBook, PassedDay
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.person_verdicts import LogVerdicts, _day, opened_verdicts
from oborona.feedback.antifraud.belief import believe
from oborona.feedback.antifraud.model import NEWCOMER, EventCircumstances, PersonRecord
from oborona.feedback.antifraud.standing import LEAST, is_proven, weight_of
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.feedback.label import LabelKind
from oborona.feedback.processing.campaign_review import LOOK_S
from tests.feedback.processing.scene import Scene
from tests.feedback.words import NOW, letter

HASHER = EventHasher(b"a key of tests, no site's")
DAY = 86_400
BOB = "bob@example.org"


def date_of(days: int) -> str:
    """Return the day so many days before now."""
    return _day(NOW - days * DAY)


def caught(
    state: Path, person: str, *days: int, log: str = "clicks", hasher: EventHasher = HASHER
) -> None:
    """Write down that a person was caught so many days ago."""
    hashed = hasher.person(person)
    assert hashed is not None
    with LogStore(state / state_files.EVENT_LOG_STORE) as store:
        book = DayPassBook(store, log)
        for day in days:
            one = book.begin(
                PassedDay(id=0, date=date_of(day), rules="", thresholds={}, rows=9, begun=NOW),
                above=0,
            )
            book.finish(one, [CaughtDay(person=hashed, events=9, marked=9)], NOW, 0.0, "2000-01-01")


def verdicts(state: Path) -> LogVerdicts:
    """Return what event logs say of persons."""
    return LogVerdicts(state / state_files.EVENT_LOG_STORE, HASHER)


def test_days_of_the_last_month_count_once_whatever_log_caught_them(tmp_path: Path) -> None:
    said = verdicts(tmp_path)
    assert said.caught_days(BOB, NOW) == 0, "there is no event log yet"
    caught(tmp_path, BOB, 1, 2, 30, 31, 400)
    caught(tmp_path, BOB, 2, 0, log="feedback")
    caught(tmp_path, "eve@example.org", 5)
    assert said.caught_days(BOB, NOW) == 3
    assert said.caught_days(BOB, NOW + DAY) == 3, "what was today is over"
    assert said.caught_days("", NOW) == 0
    said.close()


def test_a_pass_that_is_repeated_takes_the_place_of_the_first(tmp_path: Path) -> None:
    caught(tmp_path, BOB, 1)
    caught(tmp_path, "eve@example.org", 1)
    said = verdicts(tmp_path)
    assert (said.caught_days(BOB, NOW), said.caught_days("eve@example.org", NOW)) == (0, 1)
    said.close()


def test_a_damaged_file_holds_up_no_reports_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / state_files.EVENT_LOG_STORE).write_bytes(b"no file of SQLite" * 1000)
    said = verdicts(tmp_path)
    assert [said.caught_days(BOB, NOW) for _ in range(3)] == [0, 0, 0]
    assert len([one for one in caplog.records if "nobody is believed less" in one.message]) == 1
    (tmp_path / state_files.EVENT_LOG_STORE).unlink()
    caught(tmp_path, BOB, 1)
    assert said.caught_days(BOB, NOW) == 1
    said.close()


@pytest.mark.parametrize(("enabled", "heeded"), [(True, True), (True, False), (False, True)])
def test_a_site_says_whether_it_heeds_them(tmp_path: Path, enabled: bool, heeded: bool) -> None:
    prepare_state(tmp_path)
    caught(tmp_path, BOB, 1, hasher=EventHasher(secret.load(tmp_path).eventlog))
    settings = Settings()
    settings = msgspec.structs.replace(
        settings,
        eventlog=msgspec.structs.replace(settings.eventlog, enabled=enabled),
        learning=msgspec.structs.replace(settings.learning, heed_event_logs=heeded),
    )
    with opened_verdicts(settings, tmp_path) as said:
        assert said.caught_days(BOB, NOW) == int(enabled and heeded)


def test_who_was_caught_is_believed_less_and_not_lost() -> None:
    assert weight_of(0, 0, 0) == NEWCOMER
    assert weight_of(0, 0, 3) < LEAST <= weight_of(0, 0, 2)
    assert weight_of(50, 0, 30) == weight_of(50, 0, 3) > 0.7
    record = PersonRecord(first=NOW - 400 * DAY, right=10, weight=weight_of(10, 0, 1), caught=1)
    assert not is_proven(record, NOW)


def test_the_rule_says_why() -> None:
    record = PersonRecord(first=NOW - 400 * DAY, caught=5, weight=weight_of(0, 0, 5))
    belief = believe(
        EventCircumstances(
            what=EventKind.COMPLAINT, way=EventChannel.SIEVE, time=NOW, person=BOB, signed=True,
            recipient=True, record=record,
        )
    )  # fmt: skip
    assert (belief.rules, belief.say) == (
        ("UNRELIABLE",),
        "wrong 0 times, right 0, caught on 5 days",
    )


def test_a_report_of_who_was_caught_is_decided_by_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.verdicts = verdicts(tmp_path)
    scene.believer = scene.begun()
    caught(tmp_path, "eve@b.example", 1)
    caught(tmp_path, "mal@b.example", 1, 2, 3, log="shows")
    told = {}
    for number, person in enumerate(("ann@b.example", "eve@b.example", "mal@b.example")):
        spam = letter(number, LabelKind.SPAM)
        scene.known_person(person, right=0.0)
        scene.deliver(number, spam, person)
        told[person] = scene.say(EventKind.COMPLAINT, person, ident=number, raw=spam)
    scene.run()
    ann, eve, mal = (scene.event(ident) for ident in told.values())
    assert [ann.counts, eve.counts] == [True, True]
    assert [ann.weight, eve.weight] == pytest.approx([NEWCOMER, weight_of(0, 0, 1)])
    assert (mal.counts, mal.own, mal.rules) == (False, True, ("UNRELIABLE",)), (
        "their own list follows"
    )
    scene.close()


def test_a_campaign_that_is_gone_over_knows_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    spam = letter(1, LabelKind.SPAM)
    scene.known_person(BOB)
    scene.deliver(1, spam, BOB)
    ident = scene.say(EventKind.COMPLAINT, BOB, ident=1, raw=spam)
    scene.run()
    assert scene.event(ident).counts
    caught(tmp_path, BOB, 1, 2, 3)
    scene.verdicts = verdicts(tmp_path)
    scene.believer = scene.begun()
    scene.pass_(LOOK_S + 1)
    other = "ann@example.org"
    scene.known_person(other, right=8.0)
    scene.deliver(2, spam, other)
    scene.say(EventKind.PARDON, other, ident=2, raw=spam)
    scene.run()
    scene.pass_(LOOK_S + 1)
    assert scene.event(ident).rules == ("REVISED",)
    scene.close()


def test_the_trainer_needs_no_package_of_event_logs_for_it() -> None:
    code = (
        "import sys, oborona.eventlog.person_verdicts;"
        "print({'pyarrow', 'duckdb', 'ibis', 'deltalake'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
