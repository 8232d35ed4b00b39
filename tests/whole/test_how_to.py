"""The commands of README and of the pages that say how to do something (Start and Do of the site's
menu), as they stand there, on a running daemon behind a real Postfix.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.cli.command_kinds import KINDS, Ask
from oborona.cli.document import ROOT
from tests.handbook import menu_pages, page_tasks
from tests.peers.dns import Zones
from tests.whole.gate import LETTER, SPAM, Gate, eventually

TASKS = page_tasks("how-to.md")
TROUBLES = page_tasks("troubleshooting.md")
PAGES = [
    page
    for page in menu_pages("Start", "Do")
    if page not in ("how-to.md", "troubleshooting.md")
    and any(lines for _, lines in page_tasks(page))
]
MAY_FIND = {command: {0, 1} for command in ("find", "doctor", "attach", "set-apart", "alarm")}
"""Commands whose status 1 is an answer."""
ANSWERS: dict[str, subprocess.CompletedProcess[str]] = {}
"""By the line that asked.  These pages say `oborona doctor` a dozen times."""
MARIA = SPAM.replace(b"<ann@a.example>", b"<maria@client.example>")


@pytest.fixture(scope="module")
def dns() -> Iterator[Zones]:
    with Zones({}) as servers:
        yield servers


def journaled(gate: Gate) -> int:
    """Return how many messages the journal tells of."""
    return len(gate.oborona.run("find", "--since", "2h", "--json").stdout.splitlines())


@pytest.fixture(scope="module")
def gate(dns: Zones) -> Iterator[Gate]:
    with Gate(dns.setting) as running:
        running.send("9.9.3.1", MARIA, sender="maria@client.example")
        running.send("9.9.3.2", LETTER)
        eventually(lambda: journaled(running) >= 2)
        yield running


@pytest.fixture(scope="module")
def at(gate: Gate, dns: Zones, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("how-to")
    for name, raw in (("Maildir/cur/1", LETTER), ("Maildir/.Junk/cur/1", MARIA)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(raw)
    for name in ("Maildir/new", "Maildir/.Junk/new", "bin"):
        (folder / name).mkdir()
    program = Path(sys.executable).with_name("oborona")
    (folder / "var").mkdir()
    settings = f'[paths]\nstate = "{gate.oborona.state}"\npolicy = "{gate.policy_folder}"\n'
    settings += (
        f'[doors.milter]\nlisten = "unix:{gate.folder}/milter.sock"\n[dns]\nservers = '
        f'"{dns.setting}"\n[console]\n'
    )
    (folder / "var/oborona.toml").write_text(settings)
    command = f'exec {program} --config {folder}/var/oborona.toml "$@"'
    (folder / "bin/oborona").write_text(f"#!/bin/sh\n{command}\n")
    (folder / "bin/oborona").chmod(0o755)
    (folder / "message.eml").write_bytes(MARIA)
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/oborona").symlink_to(program)
    return folder


def _run(gate: Gate, at: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run lines of a page by a shell for which the gate's Postfix is the machine's."""
    ident = str(gate.events("verdict")[0]["id"])
    said = script.replace("0SAH375J007Q5", ident).replace(
        "/etc/oborona/policy.d", str(gate.policy_folder)
    )
    said = said.replace("/root/", f"{at}/")
    said = said.replace("/etc/oborona/oborona.toml", f"{at}/var/oborona.toml")
    env = os.environ | {
        "PATH": f"{at / 'bin'}:{os.environ['PATH']}",
        "MAIL_CONFIG": f"{gate.postfix.folder}/etc",
    }
    ended = subprocess.run(
        ["bash", "-ec", said],
        capture_output=True,
        text=True,
        check=False,
        cwd=at,
        timeout=300,
        env=env,
    )
    assert "Traceback" not in ended.stderr
    return ended


def _only_asks(line: str) -> bool:
    """Whether a line changes nothing: a command that asks, whose answer goes into no file."""
    words = line.split()
    if words[0] != "oborona":
        return words[0] in ("df", "postconf")
    names = (" ".join(words[1:end]) for end in (3, 2))
    kind = next((KINDS[name] for name in names if name in KINDS), None)
    return (isinstance(kind, Ask) and ">" not in words) or "--dry-run" in words


def _does(gate: Gate, at: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line; what was asked before is not asked again, but for what pages change most."""
    if line not in ANSWERS:
        ended = _run(gate, at, line)
        word = line.split()[1] if line.startswith("oborona ") else ""
        assert ended.returncode in MAY_FIND.get(word, {0}), (line, ended.stdout, ended.stderr)
        if not _only_asks(line):
            for asked in [asked for asked in ANSWERS if asked.startswith("oborona policy ")]:
                del ANSWERS[asked]
            return ended
        ANSWERS[line] = ended
    return ANSWERS[line]


def test_the_page_has_its_tasks() -> None:
    assert len(TASKS) == 12
    assert all(commands for _, commands in TASKS)
    assert all(len(commands) <= 5 for _, commands in TASKS)


UNDOES = {"take it back": ("block a domain", "switch a DNSBL on")}
DONE: set[str] = set()
"""Titles of tasks that this process has done."""


@pytest.mark.parametrize(("title", "commands"), TASKS, ids=[title for title, _ in TASKS])
def test_a_task_is_done_by_its_commands(
    gate: Gate, at: Path, title: str, commands: list[str]
) -> None:
    for other in UNDOES.get(title, ()):
        if other not in DONE:  # another process of the run did it at its own site
            for line in dict(TASKS)[other]:
                _does(gate, at, line)
    for line in commands:
        ended = _does(gate, at, line)
    DONE.add(title)
    if title.startswith("find"):
        assert ended.returncode in (0, 1)
    if title.startswith("see why"):
        assert "GTUBE" in ended.stdout
    if title == "block a domain":
        eventually(lambda: "550" in gate.send("9.9.3.3", sender="x@mail.evil.example")[-1])


def test_the_page_has_its_troubles() -> None:
    assert len(TROUBLES) == 20
    assert all(commands for _, commands in TROUBLES)


@pytest.mark.parametrize(("title", "lines"), TROUBLES, ids=[title for title, _ in TROUBLES])
def test_a_trouble_is_looked_into_by_its_commands(
    gate: Gate, at: Path, title: str, lines: list[str]
) -> None:
    said = ""
    for line in lines:
        said += _does(gate, at, line).stdout
    if title.startswith("Mail passes unfiltered"):
        assert "a GTUBE, sent there" in said, (
            "doctor looked at the Postfix of the page, and proved it"
        )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_gone_through_by_its_commands(gate: Gate, at: Path, page: str) -> None:
    shutil.rmtree(at / "oborona-backup", ignore_errors=True)  # of the page before
    for _, lines in page_tasks(page):
        for line in lines:
            _does(gate, at, line)
    if page == "operate/new-node.md":  # it ends with the machine taken away
        _does(gate, at, "oborona attach --yes")


@pytest.mark.slow
def test_readme_is_tried_as_it_stands(gate: Gate, at: Path) -> None:
    (lines,) = (lines for title, lines in page_tasks("../README.md") if title == "Try it")
    assert len(lines) > 10
    ended = _run(
        gate,
        at,
        "\n".join(
            line if "doctor" not in line else f"{line.split('#')[0]} || true" for line in lines
        ),
    )
    assert ended.returncode == 0, (ended.stdout, ended.stderr)
    assert "66-sextortion.eml" in ended.stdout
    replayed = re.search(r"^(\d+) messages: ", ended.stdout, re.MULTILINE)
    assert replayed, ended.stdout
    assert int(replayed[1]) >= 2, "replay had the mail of the gate's daemon"
