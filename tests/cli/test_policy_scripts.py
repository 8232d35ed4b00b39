"""What `oborona policy check`, `show` and `check` tell of scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main

SCRIPT = """\
oborona.check { name = "free-beer", run = function() return contains(facts.subject, "beer") end }
oborona.rule {
    name = "LUA_BEER", score = 30, say = "beer",
    when = function() return found("free-beer") and facts.text.words < 5 end,
}
"""
TABLES = """\
[[rule]]
name = "LUA_BEER"
score = 40

[[condition]]
name = "DRINKS"
when = "found('free-beer')"

[[rule]]
name = "AFTER"
when = "DRINKS and fired(LUA_BEER)"
score = 1
"""


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(
        main, ["--config", str(folder / "oborona.toml"), *words], catch_exceptions=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "oborona.toml").write_text(
        '[paths]\npolicy = "p"\nshipped_policy = "none"\nstate = "s"\n'
    )
    for name in ("p", "s", "ham"):
        (tmp_path / name).mkdir()
    (tmp_path / "p/60.lua").write_text(SCRIPT)
    (tmp_path / "p/90-local.toml").write_text(TABLES)
    (tmp_path / "ham/1.eml").write_text("From: ann@a.example\nSubject: beer\n\nat noon\n")
    return tmp_path


def test_show_tells_where_rules_and_checks_of_scripts_stand(folder: Path) -> None:
    told = json.loads(run(folder, "policy", "show", "--json").stdout)
    assert told["rule.LUA_BEER.when"] == {
        "value": "function in lines 4 to 4",
        "origin": f"{folder / 'p/60.lua'}:2",
        "whose": "yours",
    }
    assert told["rule.LUA_BEER.score"] == {
        "value": 40.0,
        "origin": f"{folder / 'p/90-local.toml'}:3",
        "whose": "yours",
    }
    assert told["check.free-beer.run"] == {
        "value": "function in lines 1 to 1",
        "origin": f"{folder / 'p/60.lua'}:1",
        "whose": "yours",
    }


def test_check_counts_them_and_names_the_line_of_what_is_wrong(folder: Path) -> None:
    assert "right, 2 rules (2 rules and checks in Lua), " in run(folder, "policy", "check").stdout
    (folder / "p/60.lua").write_text(SCRIPT.replace("text.words", "text.wrods"))
    result = run(folder, "policy", "check")
    assert result.exit_code == os.EX_CONFIG
    assert "60.lua:4:53: unknown fact text.wrods; did you mean text.words?" in result.stderr


def test_good_mail_is_judged_by_scripts_with_what_each_costs(folder: Path) -> None:
    shown = run(folder, "policy", "check", "--ham", str(folder / "ham"))
    assert shown.exit_code == 0
    for name in ("LUA_BEER", "AFTER", "all scripts together"):
        assert name in shown.stdout


def test_a_message_is_told_what_scripts_found(folder: Path) -> None:
    shown = run(folder, "check", str(folder / "ham/1.eml")).stdout
    assert "LUA_BEER=40.0(beer)" in shown
    assert "AFTER=1.0" in shown
    assert "free-beer" in shown
