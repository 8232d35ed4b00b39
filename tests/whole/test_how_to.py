"""The commands of docs/how-to.md, as they stand there, on a running daemon behind a real Postfix."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.cli.document import ROOT
from tests.peers.dns import Zones
from tests.whole.gate import LETTER, SPAM, Gate, eventually

PAGE = (ROOT / "docs/how-to.md").read_text()
TASKS = [
    (title, re.findall(r"(?m)^    (.+)$", body))
    for title, body in re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE)
]
MAY_FIND = {"find": {0, 1}, "doctor": {0, 1}}
"""Commands whose status 1 is an answer."""
MARIA = SPAM.replace(b"<ann@a.example>", b"<maria@client.example>")


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones({}) as dns, Gate(dns.setting) as running:
        running.send("9.9.3.1", MARIA, sender="maria@client.example")
        running.send("9.9.3.2", LETTER)
        eventually(lambda: len(running.events("verdict")) >= 2)
        yield running


@pytest.fixture(scope="module")
def at(gate: Gate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("how-to")
    for name, raw in (("Maildir/cur/1", LETTER), ("Maildir/.Junk/cur/1", MARIA)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(raw)
    for name in ("Maildir/new", "Maildir/.Junk/new", "bin"):
        (folder / name).mkdir()
    program = Path(sys.executable).with_name("oborona")
    command = f'exec {program} --state {gate.oborona.state} --set paths.policy={gate.policy_folder} "$@"'
    (folder / "bin/oborona").write_text(f"#!/bin/sh\n{command}\n")
    (folder / "bin/oborona").chmod(0o755)
    return folder


def test_the_page_has_its_tasks() -> None:
    assert len(TASKS) == 11
    assert all(commands for _, commands in TASKS)
    assert all(len(commands) <= 5 for _, commands in TASKS)


@pytest.mark.parametrize(("title", "commands"), TASKS, ids=[title for title, _ in TASKS])
def test_a_task_is_done_by_its_commands(gate: Gate, at: Path, title: str, commands: list[str]) -> None:
    ident = str(gate.events("verdict")[0]["id"])
    for line in commands:
        said = line.replace("0SAH375J007Q5", ident).replace("/etc/oborona/policy.d", str(gate.policy_folder))
        path = f"{at / 'bin'}:{os.environ['PATH']}"
        ended = subprocess.run(
            ["bash", "-ec", said], capture_output=True, text=True, check=False, cwd=at, timeout=120,
            env=os.environ | {"PATH": path},
        )  # fmt: skip
        word = line.split()[1] if line.startswith("oborona ") else ""
        assert ended.returncode in MAY_FIND.get(word, {0}), (line, ended.stdout, ended.stderr)
        assert "Traceback" not in ended.stderr
    if title.startswith("find"):
        assert ended.returncode in (0, 1)
    if title.startswith("see why"):
        assert "GTUBE" in ended.stdout
    if title == "block a domain":
        eventually(lambda: "550" in gate.send("9.9.3.3", sender="x@mail.evil.example")[-1])
