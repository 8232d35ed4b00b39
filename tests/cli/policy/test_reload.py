"""`oborona policy reload`: what it says of a change, of a broken file, and of a daemon that is not
there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.desk.policy_problem import render_problem
from oborona.telemetry.status import PolicyRefusal
from tests.peers.oborona import Oborona

RULE = '[[rule]]\nname = "MANY_LINKS"\nwhen = "links > {}"\nscore = 1\n'


@pytest.fixture(scope="module")
def policy() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    (folder / "10.toml").write_text(RULE.format(5))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def oborona(policy: Path) -> Iterator[Oborona]:
    with Oborona(
        {"worker.processes": 2, "paths.policy": policy, "reader.enabled": "false"}
    ) as running:
        yield running


def test_a_change_is_in_force_in_all_workers_when_it_returns(
    oborona: Oborona, policy: Path
) -> None:
    first = oborona.run("policy", "reload").stdout
    assert "in force in 2 workers since the start at " in first
    assert "there was nothing to do" in first
    before = first.split()[1].rstrip(":")
    (policy / "10.toml").write_text(RULE.format(6))
    done = oborona.run("policy", "reload")
    assert done.returncode == 0, done.stderr
    version = oborona.run("policy", "check").stdout.rsplit("version ", 1)[1].strip()
    assert done.stdout.startswith(f"policy {version}: 1 rules, in force in 2 workers ")
    assert f"; before: {before}\n" in done.stdout
    again = oborona.run("policy", "reload").stdout
    assert f"policy {version}: 1 rules, in force in 2 workers already since " in again
    assert f"that change was taken by itself; before: {before}" in again


def test_a_broken_file_is_shown_with_the_place(oborona: Oborona, policy: Path) -> None:
    version = oborona.run("policy", "reload").stdout.split()[1].rstrip(":")
    good = (policy / "10.toml").read_text()
    (policy / "10.toml").write_text(good.replace("links", "lynx"))
    done = oborona.run("policy", "reload")
    (policy / "10.toml").write_text(good)
    assert done.returncode == os.EX_CONFIG
    first, line, mark, last = done.stderr.splitlines()
    assert first.startswith(f"oborona: {policy}/10.toml:3:9: ")
    assert "lynx" in line
    assert mark.index("^") == line.index("lynx")
    assert last == f"oborona: the policy {version} stays in force"
    assert f"{version} since " in oborona.run("doctor").stdout


def test_where_no_daemon_runs_nobody_answers(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["--state", str(tmp_path), "policy", "reload"])
    assert done.exit_code == os.EX_TEMPFAIL
    assert "answers" in done.output


@pytest.mark.parametrize(
    ("text", "column", "shown"),
    [
        ("", 0, []),
        ("when = 5", 0, ["when = 5"]),
        ("when = 5", 8, ["when = 5", "       ^"]),
        ("when = 5", 80, [""]),
        ("\twhen\x1b[2J", 2, [" when [2J", " ^"]),
        ("x" * 290, 200, ["x" * 100, " " * 50 + "^"]),
    ],
)
def test_a_line_is_shown_short_harmless_and_marked(
    text: str, column: int, shown: list[str]
) -> None:
    said = render_problem(
        PolicyRefusal(problem="is wrong", file="a.toml", line=3, column=column, text=text)
    )
    assert [line.removeprefix("    ") for line in said.splitlines()[1:]] == shown
