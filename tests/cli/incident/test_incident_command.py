"""`oborona incident`: excesses reported by other programs, and what people say of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main

REGISTRATION = {"country": "US", "phone": "+49 30 901820", "mail": "x@mailinator.com"}
EXCESS = {"limit": "HOURLY", "metric": "recipients", "window": "hour", "value": 900, "most": 200}


def run(
    state: Path, *words: str, status: int = 0, given: bytes | None = None, live: bool = True
) -> Result:
    mode = ("--set", "inspector.mode=live") if live else ()
    done = CliRunner().invoke(main, ["--state", str(state), *mode, *words], input=given)
    assert done.exit_code == status, done.output
    return done


def report(state: Path, *, live: bool = True, **fields: object) -> Result:
    told = {"account": "joe", "at": time.time()} | EXCESS | fields
    given = json.dumps(told).encode()
    return run(state, "incident", "report", "-", given=given, live=live)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    told = {"account": "joe", "since": time.time() - 3600, "registration": REGISTRATION}
    run(tmp_path, "account", "import", "-", given=json.dumps(told).encode())
    return tmp_path


def shown(state: Path, *words: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(state, *words, "--json").stdout)
    return found


def test_a_reported_excess_is_judged_by_the_rating_and_told(state: Path) -> None:
    report(state, evidence={"subjects": ["Buy now"]}, idents=[1])
    found = shown(state, "incident", "show", "1")
    assert (found["account"], found["line"], found["rating"]) == ("joe", "duty", 35)
    text = run(state, "incident", "show", "1").stdout
    assert "HOURLY: 900 recipients of 200 (hour)" in text
    assert "subjects: ['Buy now']" in text
    assert "alert: wanted" in text
    assert json.loads(run(state, "incident", "list", "--json").stdout)["id"] == 1
    assert "HOURLY" in run(state, "incident", "list", "--account", "joe").stdout


def test_a_ban_of_the_inspector_is_undone_by_one_command(state: Path) -> None:
    report(state)
    run(state, "incident", "take", "1")
    closed = run(state, "incident", "close", "1", "--spam", "--note", "a bot").stdout
    assert "the rating of its account is 0" in closed
    report(state, limit="another")
    assert shown(state, "account", "show", "joe")["state"] == "banned"
    run(state, "incident", "undo", "2")
    assert shown(state, "account", "show", "joe")["state"] == "open"
    run(state, "incident", "undo", "2", status=1)
    stats = shown(state, "incident", "stats")
    assert stats["limits"] == {
        "HOURLY": {"incidents": 1, "spam": 1, "not_spam": 0},
        "another": {"incidents": 1, "spam": 0, "not_spam": 0},
    }
    assert "by line: ban 1, duty 1" in run(state, "incident", "stats").stdout
    assert run(state, "incident", "list", "--open", "--json").stdout.count("\n") == 1


def test_in_shadow_mode_as_it_ships_nothing_is_done(state: Path) -> None:
    report(state)
    run(state, "incident", "close", "1", "--spam")
    report(state, limit="another", live=False)
    found = shown(state, "incident", "show", "2")
    assert found["line"] == "ban"
    assert shown(state, "account", "show", "joe")["state"] == "open"


def test_wrong_lines_and_words_are_refused(state: Path) -> None:
    right = json.dumps({"account": "joe", "at": 1.0} | EXCESS)
    lines = ["nonsense", right, '{"account": "joe"}', right.replace("900", "-1"), "[" * 70_000]
    done = run(state, "incident", "report", "-", given="\n".join(lines).encode(), status=1)
    assert "1 excesses reported" in done.stdout
    assert "line 1: " in done.stderr
    assert "line 4: value, most and usual" in done.stderr
    run(state, "incident", "close", "1", status=2)
    run(state, "incident", "close", "1", "--spam", "--note", "a\nb", status=2)
    run(state, "incident", "show", "99", status=1)
    run(state, "incident", "undo", "99", status=1)
    run(state, "incident", "take", "99", status=1)
