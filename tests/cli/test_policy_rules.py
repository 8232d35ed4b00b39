"""What `oborona policy` tells of rules, their tests, conditions and groups."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main

RULES = """\
[[condition]]
name = "SHORT"
when = "text.words < 5"

[[group]]
name = "LINKS"
cap = 50

[[rule]]
name = "SHORT_WITH_LINKS"
when = "SHORT and links > 3"
score = "10 * links"
group = "LINKS"

[[rule.test]]
facts = { "text.words" = 3, links = 4 }
hit = true
score = 40

[[rule.test]]
facts = { "text.words" = 30, links = 4 }
hit = false
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "oborona.toml").write_text('[paths]\npolicy = "p"\nshipped_policy = "none"\n')
    (tmp_path / "p").mkdir()
    (tmp_path / "p/10.toml").write_text(RULES)
    return tmp_path


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(
        main, ["--config", str(folder / "oborona.toml"), *words], catch_exceptions=False
    )


def test_check_runs_the_tests_of_rules(folder: Path) -> None:
    result = run(folder, "policy", "check")
    assert result.exit_code == 0
    assert "2 of 2 tests of rules hold" in result.stdout
    (folder / "p/90.toml").write_text('[[rule]]\nname = "SHORT_WITH_LINKS"\nwhen = "links > 4"\n')
    result = run(folder, "policy", "check")
    assert result.exit_code == 1
    assert "1 of 2 tests of rules hold" in result.stdout
    where = f"{folder / 'p/10.toml'}:15:1: rule SHORT_WITH_LINKS: test: "
    assert f"{where}expected that it fires, but it does not fire" in result.stdout


def test_check_warns_of_what_can_never_hold(folder: Path) -> None:
    (folder / "p/90.toml").write_text(
        '[[rule]]\nname = "NEVER"\nwhen = "1 > 2"\nscore = 1\n'
        '[[rule]]\nname = "ON_TRIAL"\nwhen = "links > 1"\nscore = 1\nmode = "shadow"\n'
        '[[rule]]\nname = "LIVE"\nwhen = "fired(ON_TRIAL)"\nscore = 1\n'
    )
    result = run(folder, "policy", "check")
    assert result.exit_code == 0
    place = folder / "p/90.toml"
    assert f"warning: {place}:3: NEVER can never hold" in result.stdout
    assert (
        f"warning: {place}:12: rule LIVE names ON_TRIAL, which is in shadow mode" in result.stdout
    )


def test_show_tells_conditions_groups_and_formulas(folder: Path) -> None:
    told = json.loads(run(folder, "policy", "show", "--json").stdout)
    assert told["condition.SHORT.when"]["value"] == "text.words < 5"
    assert told["group.LINKS.cap"] == {
        "value": 50.0,
        "origin": f"{folder / 'p/10.toml'}:7",
        "whose": "yours",
    }
    assert told["rule.SHORT_WITH_LINKS.group"]["value"] == "LINKS"
    assert told["rule.SHORT_WITH_LINKS.score"]["value"] == "10 * links"


def test_schema_is_printed(folder: Path) -> None:
    printed = json.loads(run(folder, "policy", "schema").stdout)
    assert printed["title"] == "Policy of Oborona"
    assert printed == json.loads(
        (Path(__file__).parents[2] / "etc/policy.d.schema.json").read_text()
    )


def test_check_tells_all_that_is_wrong(folder: Path) -> None:
    (folder / "p/20.toml").write_text(
        '[[rule]]\nname = "ONE"\nwhen = "links"\nscore = 1\n\n[verdict]\nspam = 1\n'
    )
    (folder / "p/30.toml").write_text(
        '[[rule]]\nname = "TWO"\nwhen = "matches(subject, \'(?!a)\')"\nscore = 1\n'
    )
    done = run(folder, "policy", "check")
    assert done.exit_code == os.EX_CONFIG
    told = [
        line.removeprefix("oborona: ").rpartition("/")[2].partition(": ")[0]
        for line in done.stderr.splitlines()
    ]
    assert told == ["20.toml:3:9", "20.toml:7:1", "30.toml:3:26"]


def test_what_a_word_is_looked_for_as_is_shown(folder: Path) -> None:
    (folder / "p/20.toml").write_text(
        '[[rule]]\nname = "ONE"\nwhen = "contains(subject, \'Casino\') and matches(text, '
        "r'(?i)\\\\bBonus')\"\nscore = 1\n"
    )
    shown = json.loads(run(folder, "policy", "show", "--json").stdout)["rule.ONE.looked_for"]
    assert shown["value"] == {"Casino": "casino", "(?i)\\bBonus": "(?:\\A|\\W)bonus"}
    assert shown["origin"].endswith("20.toml:3")
