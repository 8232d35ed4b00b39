"""`oborona explain`: then and now of an entry, a file as it is, as tables and as JSON."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.feedback.weights_file import WeightsHeader, create_weights
from oborona.message.parse import parse
from oborona.policy.models.content.features import features
from oborona.policy.models.content.learner import ContentLearner
from tests.cli.journaled import LINKS, LOTTERY, WORDS, journal, letter, policy, run

KEYS = {
    "id", "file", "time", "queue_id", "client", "helo", "sender", "recipients", "login", "subject", "message_id", "size", "door", "then", "now",
    "no_now", "late", "counts", "changed_verdict", "changed_rules", "changed_facts", "feedback", "moves", "content_model", "final_model",
    "shipped_model",
}  # fmt: skip
SIDE = {
    "verdict", "score", "line", "decided_by", "would", "policy", "lines", "rules", "findings", "facts", "model", "not_judged", "possible",
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path, str]:
    folder = policy(tmp_path / "policy", LINKS, WORDS)
    (ident,) = journal(tmp_path / "state", folder, [LOTTERY])
    return tmp_path / "state", folder, ident


def explained(state: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(state, folder, "explain", *arguments, "--json").stdout)
    assert found.keys() == KEYS
    for side in (found["then"], found["now"]):
        assert side is None or side.keys() == SIDE
    return found


def test_an_entry_under_the_same_policy_is_then_what_it_is_now(
    site: tuple[Path, Path, str],
) -> None:
    found = explained(*site)
    then, now = found["then"], found["now"]
    assert (then["verdict"], then["score"], then["decided_by"]) == ("spam", 110, "LINKS")
    assert then["rules"] == now["rules"]
    assert then["policy"] == now["policy"]
    assert (
        then["lines"]
        == now["lines"]
        == {"spam": 100, "reject": 200, "shadow_spam": None, "shadow_reject": None}
    )
    assert (found["changed_verdict"], found["changed_rules"]) == (False, [])
    assert then["facts"]["links"] == 2
    assert "text" not in then["facts"]
    assert (found["client"], found["sender"]) == ("198.51.100.7", "ann@a.example")
    assert {"hour", "day", "fortnight", "spam", "complaints"} == found["counts"][0]["then"].keys()


def test_what_changed_since_is_marked(site: tuple[Path, Path, str]) -> None:
    state, folder, ident = site
    trial = '[[rule]]\nname = "TRIAL"\nwhen = "links > 0"\nscore = 90\nmode = "shadow"\n'
    gone = '[[rule]]\nname = "NOON"\nwhen = "contains(text, \'noon\')"\nscore = 15\n'
    policy(folder, "shadow_spam_score = 70\n", LINKS.replace("60", "40"), WORDS, trial, gone)
    found = explained(state, folder, ident)
    assert found["changed_verdict"] is True
    assert {one["name"]: (one["then"], one["now"]) for one in found["changed_rules"]} == {
        "LINKS": (60, 40),
        "TRIAL": (None, 90),
    }
    now = found["now"]
    assert (now["verdict"], now["score"]) == ("accept", 90)
    assert now["would"] == {"action": "spam", "score": 180, "line": 70, "decided_by": "TRIAL"}
    assert now["not_judged"] == {"NOON": "text is not kept"}
    assert now["possible"] == ["accept", "spam"]
    assert found["then"]["lines"] is None
    shown = run(state, folder, "explain", ident).stdout
    for words in (
        "then  spam 110.0 / 100",
        "now  accept 90.0 / 100",
        "the verdict would change now",
        "with all in shadow mode live: spam 180.0 / 70 by TRIAL",
        "on trial 70 and 200",
        "NOON: not judged, text is not kept",
        "so it could be accept or spam",
        "(90.0)",
    ):
        assert words in shown
    assert "\x1b" not in shown


def test_with_its_file_an_entry_is_judged_whole(
    site: tuple[Path, Path, str], tmp_path: Path
) -> None:
    state, folder, ident = site
    file = tmp_path / "letter.eml"
    file.write_bytes(LOTTERY)
    lines = run(
        state, folder, "explain", ident, "--message", str(file), "--json"
    ).stdout.splitlines()
    entry, whole = map(json.loads, lines)
    assert entry["id"] == ident
    assert (whole["file"], whole["client"], whole["sender"]) == (
        str(file),
        "198.51.100.7",
        "ann@a.example",
    )
    assert (whole["then"], whole["now"]["score"]) == (None, 110)
    file.write_bytes(LOTTERY.replace(b"<2@", b"<3@"))
    assert (
        "another Message-ID" in run(state, folder, "explain", ident, "--message", str(file)).stderr
    )


def test_a_file_is_judged_as_it_would_come_now(tmp_path: Path) -> None:
    folder, file = policy(tmp_path / "policy", LINKS, WORDS), tmp_path / "letter.eml"
    file.write_bytes(LOTTERY)
    found = explained(tmp_path, folder, str(file), "--from", "eve@c.example")
    assert (found["id"], found["then"]) == (None, None)
    assert (found["sender"], found["now"]["verdict"], found["now"]["facts"]["sender.domain"]) == (
        "eve@c.example",
        "spam",
        "c.example",
    )


@pytest.mark.parametrize(
    ("damage", "why"),
    [("DELETE FROM evidence", "purged"), ("UPDATE evidence SET kept = NULL", "older")],
)
def test_an_entry_that_can_not_be_judged_again_says_why(
    site: tuple[Path, Path, str], damage: str, why: str
) -> None:
    state, folder, ident = site
    with closing(sqlite3.connect(state / "journal.db", isolation_level=None)) as db:
        db.execute(damage)
    found = explained(state, folder, ident)
    assert found["now"] is None
    assert why in found["no_now"]
    assert "can't be told" in run(state, folder, "explain", ident).stdout


def test_a_damaged_entry_is_an_error_with_its_id(site: tuple[Path, Path, str]) -> None:
    state, folder, ident = site
    with closing(sqlite3.connect(state / "journal.db", isolation_level=None)) as db:
        db.execute("UPDATE evidence SET kept = X'01'")
    assert ident in run(state, folder, "explain", ident, status=74).stderr


def test_texts_that_are_no_unicode_are_json_all_the_same(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", LINKS)
    raw = LOTTERY.replace(b"Subject: ", b"Subject: \xed\xa0\x80 ").replace(
        b"lottery", b"\xed\xa0\x80\x00\x1b[2J"
    )
    (ident,) = journal(tmp_path / "state", folder, [raw])
    explained(tmp_path / "state", folder, ident)
    shown = run(tmp_path / "state", folder, "explain", ident).stdout
    assert "\x1b" not in shown
    assert "\x00" not in shown


def test_message_goes_with_an_id_alone(tmp_path: Path) -> None:
    folder, file = policy(tmp_path / "policy", LINKS), tmp_path / "a.eml"
    file.write_bytes(LOTTERY)
    assert (
        "goes with an id"
        in run(tmp_path, folder, "explain", str(file), "--message", str(file), status=2).stderr
    )


def test_what_pulled_the_content_model_is_told_where_it_has_learned(tmp_path: Path) -> None:
    state, folder, file = tmp_path / "state", policy(tmp_path / "policy", LINKS), tmp_path / "a.eml"
    state.mkdir()
    learner = ContentLearner(
        create_weights(state / state_files.WEIGHTS, WeightsHeader(spam=500, ham=500)).weights
    )
    for number in range(30):
        learner.learn(
            features(parse(letter(number, f"the minutes of our meeting {number}"))), spam=False
        )
        learner.learn(
            features(parse(letter(number, f"a casino jackpot for you {number}"))), spam=True
        )
    file.write_bytes(letter(99, "your casino jackpot"))
    told = explained(state, folder, str(file))["content_model"]
    assert told["margin"] > 0
    assert told["margin"] == pytest.approx(
        sum(part["part"] for part in told["parts"]) + told["rest"]
    )
    assert any("casino" in part["what"] for part in told["parts"] if part["part"] > 0)
    assert "casino" in run(state, folder, "explain", "-v", str(file)).stdout


def test_the_short_one_tells_what_an_admin_asks_first_and_v_all_of_it(
    site: tuple[Path, Path, str],
) -> None:
    state, folder, ident = site
    short = run(state, folder, "explain", ident).stdout
    for words in (
        "then  spam 110.0 / 100",
        "spam from 100, refused from 200; 90.0 points below refusal",
        "it is a lottery",
        (
            "authentication  spf=none, dkim=none, dmarc=none, arc=none, iprev=none, sender "
            "not authenticated"
        ),
        "-v shows findings",
    ):
        assert words in short
    assert len(short.splitlines()) < 30
    for words in ("from:", "links.domains", "spam, two weeks"):
        assert words not in short
    whole = run(state, folder, "explain", "--verbose", ident).stdout
    for words in ("from:", "links.domains", "spam, two weeks"):
        assert words in whole
    assert "-v shows" not in whole


def test_an_allow_that_comes_later_and_would_not_count_is_told_of_now(
    site: tuple[Path, Path, str],
) -> None:
    state, folder, ident = site
    (folder / "90.toml").write_text(
        '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["from"]\nentries = '
        '["ann@a.example"]\n'
    )
    shown = " ".join(run(state, folder, "explain", ident).stdout.split())
    told = (
        "FRIENDS has ann@a.example, not counted: nobody proved it (spf=none, dkim=none, "
        "dmarc=none); allow client 198.51.100.7"
    )
    assert f"list {told}" in shown
    assert shown.count("not counted") == 1, "of now alone"


def test_a_search_ends_in_time_and_says_where_it_goes_on(
    site: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, folder, _ = site
    journal(state, folder, [letter(9, "At noon?")], ago_s=1200)
    monkeypatch.setattr("oborona.journal.search.FIRST_ROWS", 1)
    told = run(state, folder, "explain", "subject:nothing", "--within", "1ms", status=2)
    assert "write a number with" in told.stderr
    monkeypatch.setattr("oborona.cli.explain.command.DurationParam.convert", lambda *_: 1e-9)
    told = run(state, folder, "explain", "subject:nothing", "--within", "1s", status=1)
    assert "oborona find goes on with --older" in told.stderr
    assert "no message or refusal" not in told.stderr
