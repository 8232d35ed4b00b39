"""Calls that do what was for commands alone: bad input, and what they leave."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oborona import secret
from oborona.desk.call import NotFoundError
from oborona.desk.refusals import MisusedCallError, UnusableValueError
from oborona.desk.site import Site
from oborona.errors import ConfigError, StoreError
from oborona.eventlog.batch.store import LogStore
from oborona.session.quarantine.suspect_store import Suspect, read_suspects, write_suspect
from oborona.state_files import EVENT_LOG_STORE
from tests.desk.calling import call, site_of, take_back

HOUR = 3600.0


@pytest.fixture
def site(tmp_path: Path) -> Site:
    secret.make(tmp_path)
    with LogStore(tmp_path / EVENT_LOG_STORE):
        pass
    return site_of(tmp_path)


def test_a_message_that_was_set_apart_is_forgotten(site: Site) -> None:
    (site.state / "set-apart").mkdir(exist_ok=True)
    write_suspect(site.state, Suspect(identity="ab", deaths=2, first=1e9, last=2e9, how="killed"))
    (found,) = call(site, "set_apart.list")["messages"]
    assert (found["message"], found["apart"], found["last"]) == ("ab", True, 2e9)
    call(site, "set_apart.remove", message="ab", dry=True)
    assert read_suspects(site.state, 2e9)
    call(site, "set_apart.remove", message="ab")
    assert not read_suspects(site.state, 2e9)
    for nobody in ("ab", "../ab", "\0"):
        with pytest.raises(NotFoundError):
            call(site, "set_apart.remove", message=nobody)


def test_lines_that_are_wrong_are_left_out_and_named(site: Site) -> None:
    lines = b'{"account": "joe"}\n{]\n\n' + b"[" * 100_000 + b'\n{"account": "kim"}'
    done = call(site, "account.import", content=lines)
    assert (done["imported"], done["new"], done["wrong"]) == (2, 2, 2)
    assert [fault["line"] for fault in done["faults"]] == [2, 4]
    many = call(site, "account.import", content=b"no\n" * 50)
    assert (many["wrong"], len(many["faults"])) == (50, 20)
    wrong = call(site, "incident.report", content=b"no\n{}\n" + b"[" * 100_000)
    assert wrong["taken"] == 0
    assert wrong["wrong"] >= 3


def test_a_person_of_an_event_log_is_spoken_of_and_that_is_taken_back(site: Site) -> None:
    named = {"log": "feedback", "person": "eve@b.example"}
    call(site, "eventlog.say", said="fraud", dry=True, **named)
    done = call(site, "eventlog.say", said="fraud", reason="clicks all day", **named)
    assert {one["word"]["why"] for one in done["persons"]} == {"clicks all day"}
    take_back(site, done)
    assert all(one["word"] is None for one in call(site, "eventlog.person", **named)["persons"])
    for log, person in (("nosuch", "eve"), ("feedback", "")):
        with pytest.raises(ConfigError):
            call(site, "eventlog.say", log=log, person=person, said="good")


def test_rules_are_suppressed_and_held_again(site: Site) -> None:
    until = time.time() + HOUR
    person = {"log": "feedback", "person": ["eve@b.example"]}
    for bad in (
        {"until": 1.0},
        {"until": until + 367 * 86_400},
        {"until": until, "reason": "a\nb"},
    ):
        with pytest.raises(UnusableValueError):
            call(site, "eventlog.suppress", **person, **({"reason": "known"} | bad))
    with pytest.raises(ConfigError, match="no rule"):
        call(site, "eventlog.suppress", **person, until=until, rule="NOSUCH", reason="known")
    done = call(site, "eventlog.suppress", **person, until=until, reason="known")
    assert call(site, "eventlog.suppressed", log="feedback")["suppressions"]
    take_back(site, done)
    assert not call(site, "eventlog.suppressed", log="feedback")["suppressions"]


def test_the_process_of_event_logs_is_asked(site: Site) -> None:
    asked = call(site, "eventlog.forget", person=["eve@b.example"])
    assert not asked["runs"]
    assert asked["erasures"] == call(site, "eventlog.erasures")["erasures"]
    assert call(site, "eventlog.status")["pid"] is None
    assert call(site, "eventlog.thresholds", log="feedback")["thresholds"]
    with pytest.raises(UnusableValueError, match="no day"):
        call(site, "eventlog.pass", log="feedback", day="yesterday")
    with pytest.raises(ConfigError, match="no rows"):
        call(site, "eventlog.pass", log="feedback")


def test_what_can_not_be_used_is_refused(site: Site) -> None:
    for content in (b"", b"x", b"x\x9c" * 50):
        with pytest.raises(StoreError, match="damaged, or no file of weights"):
            call(site, "model.import", content=content, dry=True)
    with pytest.raises(StoreError):
        call(site, "model.export")
    for text in ("nowhere", "1.2.3", "\0", "::1%" + "e" * 90):
        with pytest.raises(UnusableValueError):
            call(site, "addresses.show", address=text)
    with pytest.raises(MisusedCallError, match=r"export\.folder"):
        call(site, "export.write")
    assert "# HELP" in call(site, "status.metrics")["text"]


def test_calls_about_event_logs_load_none_of_their_packages() -> None:
    program = (
        "import json, sys, oborona.desk.calls\n"
        "print(json.dumps([n for n in ('pyarrow', 'duckdb', 'ibis') if n in sys.modules]))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert json.loads(told.stdout) == []
