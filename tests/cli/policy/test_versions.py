"""`oborona policy history`, `diff` and `roll-back`: versions of the policy folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from tests.cli.journaled import LINKS, LUNCH, WORDS, journal, policy, run
from tests.desk.policy.drafted import call, new_draft

MILDER = '[[rule]]\nname = "LINKS"\nscore = 30\n'


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    """A state, and a policy of which one version is known, edited by hand since."""
    folder = policy(tmp_path / "policy", LINKS, WORDS)
    journal(tmp_path / "state", folder, [LUNCH])
    run(tmp_path / "state", folder, "policy", "history")
    (folder / "90-console.toml").write_text(MILDER)
    return tmp_path / "state", folder


def test_history_shows_what_was_edited_by_hand(site: tuple[Path, Path]) -> None:
    shown = run(*site, "policy", "history").stdout.splitlines()
    assert shown[0].startswith("*     2  ")
    assert shown[0].endswith("outside  -  -  edited outside")
    assert "  first  " in shown[1]
    newest, first = (
        json.loads(line) for line in run(*site, "policy", "history", "--json").stdout.splitlines()
    )
    assert (newest["sort"], first["number"]) == ("outside", 1)
    assert set(newest["files"]) == {"10.toml", "90-console.toml"}


def test_diff_tells_by_rule_and_line_by_line(site: tuple[Path, Path]) -> None:
    run(*site, "policy", "history")
    told = run(*site, "policy", "diff", "1", "2").stdout
    assert told.startswith("rule LINKS: score 60 → 30\n")
    assert "+++ b/90-console.toml" in told
    assert "+score = 30" in told
    assert run(*site, "policy", "diff", "2").stdout == "nothing differs\n"
    assert json.loads(run(*site, "policy", "diff", "1", "--json").stdout)["changes"]
    assert "name a version" in run(*site, "policy", "diff", status=2).output
    run(*site, "policy", "diff", "--draft", "none", status=65)
    run(*site, "policy", "diff", "7", status=65)


def test_roll_back_tries_then_does_and_says_what_takes_it_back(site: tuple[Path, Path]) -> None:
    state, folder = site
    order = ("policy", "roll-back", "1", "--reason", "lost invoices")
    assert "nothing was done" in run(*site, *order, "--dry-run").stdout
    assert (folder / "90-console.toml").exists()
    told = run(*site, *order).stdout
    assert "rule LINKS: score 30 → 60\nfiles: 90-console.toml\n" in told
    assert "oborona policy roll-back 2 takes it back" in told
    assert not (folder / "90-console.toml").exists()
    assert "back 1" in run(*site, "policy", "history").stdout
    shown = run(*site, "audit", "--act", "policy.roll_back", "--json").stdout
    assert json.loads(shown.splitlines()[0])["reason"] == "lost invoices"
    assert "nothing differs from what is in force" in run(*site, *order, status=65).output
    back = ("policy", "roll-back", "2", "--reason", "after all")
    run(*site, *back)
    assert (folder / "90-console.toml").read_text() == MILDER
    assert not any((state / "drafts").iterdir())


def test_a_broken_version_is_not_rolled_back_to(site: tuple[Path, Path]) -> None:
    _, folder = site
    (folder / "90-console.toml").write_text("[[rule]\n")
    run(*site, "policy", "history")
    (folder / "90-console.toml").write_text(MILDER)
    run(*site, "policy", "history")
    found = run(*site, "policy", "roll-back", "2", "--reason", "x", status=65).output
    assert "90-console.toml:1:7: broken TOML" in found
    assert (folder / "90-console.toml").read_text() == MILDER


def test_a_draft_is_published_by_who_says_that_they_are_alone(site: tuple[Path, Path]) -> None:
    state, folder = site
    settings = {
        "paths.state": str(state), "paths.policy": str(folder), "paths.shipped_policy": "none",
    }  # fmt: skip
    (state / "oborona.toml").touch()
    desk = Site(SiteSource(state / "oborona.toml", settings), lambda _: None)
    new_draft(desk, MILDER.replace("30", "20"))
    order = ("policy", "publish", "mine", "--reason", "a wave")
    two = ("--set", "console.two_persons=true")
    assert "was not tried" in run(*site, *order, status=65).output
    call(desk, "policy.preview", draft="mine", within_s=30)
    refused = run(*site, *two, *order, status=65).output
    assert "two_persons" in refused
    alone = run(*site, *two, *order, "--alone", "--dry-run").stdout
    assert "rule LINKS: score 30 → 20\nfiles: 90-console.toml\n" in alone
    assert (folder / "90-console.toml").read_text() == MILDER
    assert "takes it back" in run(*site, *two, *order, "--alone").stdout
    assert "score = 20" in (folder / "90-console.toml").read_text()
    rows = run(*site, "audit", "--act", "policy.publish", "--json").stdout.splitlines()
    assert any('"a wave"' in row and "alone" in row for row in rows)
