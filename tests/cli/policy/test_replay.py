"""`oborona policy replay`: what would differ, of the journal and of mailboxes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.journaled import LINES, LINKS, LOTTERY, LUNCH, WORDS, journal, policy, run


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    """A state with two messages journaled, and the policy that judged them."""
    folder = policy(tmp_path / "policy", LINKS, WORDS)
    journal(tmp_path / "state", folder, [LUNCH, LOTTERY])
    return tmp_path / "state", folder


def replayed(state: Path, folder: Path, *more: str, status: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        run(state, folder, "policy", "replay", "--json", *more, status=status).stdout
    )
    return found


def test_under_the_same_policy_nothing_differs(site: tuple[Path, Path]) -> None:
    found = replayed(*site, "--fail")
    assert (found["messages"], found["differing"], found["changes"], found["rules"]) == (
        2,
        0,
        {},
        {},
    )


def test_a_changed_score_shows_by_verdict_by_rule_and_with_examples(
    site: tuple[Path, Path],
) -> None:
    state, folder = site
    policy(folder, LINKS.replace("60", "30"), WORDS)
    found = replayed(state, folder, "--fail", status=1)
    assert found["changes"] == {"spam → accept": 1}
    links = found["rules"]["LINKS"]
    assert (links["score_before"], links["score_after"], links["gained"], links["lost"]) == (
        60,
        30,
        0,
        0,
    )
    (example,) = found["examples"]
    assert (example["before"]["score"], example["after"]["score"]) == (110, 80)
    assert example["from"] == "ann@a.example"
    assert example["subject"].startswith("you")
    shown = run(state, folder, "policy", "replay").stdout
    assert "spam → accept" in shown
    assert "spam 110.0 / 100 by LINKS  →  accept 80.0 / 100 by below-threshold" in shown
    assert "\x1b" not in shown


def test_another_folder_is_compared_with_what_was_decided(
    site: tuple[Path, Path], tmp_path: Path
) -> None:
    other = policy(
        tmp_path / "other", '[[rule]]\nname = "NOON"\nwhen = "links == 0"\nscore = 250\n'
    )
    found = replayed(*site, "--policy", str(other))
    assert found["changes"] == {"accept → reject": 1, "spam → accept": 1}
    assert found["rules"]["NOON"]["gained"] == 1
    assert found["rules"]["WORDS"]["lost"] == 1


def test_a_new_rule_on_the_text_is_not_judged_and_what_hangs_on_it_is_uncertain(
    site: tuple[Path, Path],
) -> None:
    state, folder = site
    policy(
        folder,
        LINKS,
        WORDS,
        '[[rule]]\nname = "NOON"\nwhen = "contains(text, \'noon\')"\nscore = 120\n',
    )
    found = replayed(state, folder, "--fail")
    assert found["changes"] == {"accept → uncertain": 1, "spam → uncertain": 1}
    assert found["differing"] == 0
    assert found["rules"]["NOON"]["not_judged"] == 2
    assert "WORDS" not in found["rules"]
    assert "2 might" in run(state, folder, "policy", "replay").stdout


def test_only_the_time_that_is_asked_for_is_read(site: tuple[Path, Path]) -> None:
    state, folder = site
    journal(state, folder, [LUNCH], ago_s=7200)
    assert replayed(state, folder)["messages"] == 3
    assert replayed(state, folder, "--since", "1h")["messages"] == 2
    assert replayed(state, folder, "--since", "3m")["messages"] == 0


def test_what_can_not_be_judged_is_counted_by_why(site: tuple[Path, Path]) -> None:
    state, folder = site
    journal(state, folder, [LUNCH, LUNCH])
    with closing(sqlite3.connect(state / "journal.db", isolation_level=None)) as db:
        idents = [ident for (ident,) in db.execute("SELECT id FROM verdict ORDER BY id")]
        db.execute("DELETE FROM evidence WHERE id = ?", (idents[0],))
        db.execute("UPDATE evidence SET kept = NULL WHERE id = ?", (idents[1],))
        db.execute("UPDATE evidence SET kept = X'00' WHERE id = ?", (idents[2],))
    found = replayed(state, folder)
    assert found["messages"] == 1
    assert sorted(found["not_judged"].values()) == [1, 1, 1]
    assert "can't be judged" in run(state, folder, "policy", "replay").stdout


def test_no_more_examples_than_asked_for(site: tuple[Path, Path]) -> None:
    state, folder = site
    journal(state, folder, [LOTTERY] * 5)
    policy(folder, WORDS)
    assert len(replayed(state, folder, "--limit", "2")["examples"]) == 2
    assert replayed(state, folder, "--limit", "0")["examples"] == []


def test_mailboxes_are_scored_twice_with_their_texts(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    for number, raw in enumerate(
        [LUNCH, LOTTERY, b"", b"\xff\x00" * 3000, b"Subject: \xed\xa0\x80\r\n\r\nlottery"]
    ):
        (box / f"{number}.eml").write_bytes(raw)
    now, other = policy(tmp_path / "now"), policy(tmp_path / "other", WORDS.replace("50", "150"))
    (tmp_path / "state").mkdir()
    found = replayed(tmp_path / "state", now, str(box), "--policy", str(other))
    assert found["messages"] == 5
    assert found["changes"] == {"accept → spam": 2}
    assert found["rules"]["WORDS"]["gained"] == 2


def test_lists_of_a_recipient_hide_no_difference_of_policies(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", policy(tmp_path / "policy", LINKS, WORDS)
    box = tmp_path / "box.eml"
    box.write_bytes(LOTTERY)
    state.mkdir()
    run(state, folder, "personal", "deny", "bob@b.example", "ann@a.example")
    other = policy(tmp_path / "other", LINKS.replace("60", "30"), WORDS)
    found = replayed(state, folder, str(box), "--policy", str(other), "--rcpt", "bob@b.example")
    assert found["changes"] == {"spam → accept": 1}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--since", "soon"], "such as 2h"),
        (["--since", "-1h"], "such as 2h"),
        (["--since", "99999999999h"], "such as 2h"),
        (["BOX"], "name the other by --policy"),
        (["BOX", "--since", "2h", "--policy", "BOX"], "either mailboxes or --since"),
        (["--ip", "192.0.2.1"], "its own envelopes"),
    ],
)
def test_wrong_usage_says_why(tmp_path: Path, arguments: list[str], why: str) -> None:
    folder = policy(tmp_path / "policy", LINKS)
    named = [str(folder) if one == "BOX" else one for one in arguments]
    assert why in run(tmp_path, folder, "policy", "replay", *named, status=2).stderr


def test_a_broken_policy_says_where(site: tuple[Path, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "10.toml").write_text(LINES + LINKS.replace("links", "lynx"))
    result = run(*site, "policy", "replay", "--policy", str(broken), status=78)
    assert "10.toml:6:" in result.stderr


def test_without_a_journal_that_is_said(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", LINKS)
    assert "there is no journal" in run(tmp_path, folder, "policy", "replay", status=74).stderr


def test_the_model_that_ships_is_asked_again(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", LINKS, WORDS)
    state = tmp_path / "state"
    journal(state, folder, [LUNCH, LOTTERY], models=True)
    (hit,) = {
        rule["name"]
        for line in run(state, folder, "find", "--json").stdout.splitlines()
        for rule in json.loads(line)["rules"]
    } - {"LINKS", "WORDS"}
    assert hit == "SHIPPED_MODEL", "it had its say then"
    assert replayed(state, folder, "--fail")["rules"] == {}
