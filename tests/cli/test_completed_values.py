"""Completion of names, in each shell as a package installs it; and silence where there are none."""

from __future__ import annotations

import os
import pty
import select
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from oborona.cli import main
from oborona.cli.command_index import load_index
from oborona.cli.completed_values import VALUES
from oborona.cli.completion import VARIABLE, completion_script
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind
from oborona.stores.signatures.store import SignatureStore

PATIENCE_S = 30.0
POLICY = """\
[[ local_list ]]
name = "partners"
file = "partners.list"
subject = "sender"
action = "allow"

[[local_list]]
name = "inline"
entries = ["a.example"]

[[rule]]
name = 'ALPHA_OF_OURS'
when = "true"

[[rule.test]]
name = "NO_RULE"
"""


def completions(*words: str) -> list[str]:
    """Return what a shell is offered for the last word."""
    from click.shell_completion import ShellComplete

    shell = ShellComplete(main, {}, "oborona", VARIABLE)
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "policy.d").mkdir()
    (tmp_path / "policy.d/90-local.toml").write_text(POLICY)
    (tmp_path / "state").mkdir()
    config = tmp_path / "oborona.toml"
    config.write_text(f'[paths]\nstate = "{tmp_path}/state"\npolicy = "{tmp_path}/policy.d"\n')
    with SignatureStore(tmp_path / "state/signatures.db") as store:
        for value in ("buy now", "\x1b]0;title\x07"):
            store.add([signature(value)], now=time.time())
    return config


def signature(value: str) -> Signature:
    return Signature(id="", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE, value=value)


def test_names_of_the_site_are_completed(site: Path) -> None:
    def offered(*words: str) -> list[str]:
        return completions("--config", str(site), *words)

    assert offered("list", "add", "") == ["allow", "deny", "partners"]
    assert offered("find", "rule:ALPHA") == ["rule:ALPHA_OF_OURS"]
    assert offered("find", "rule", ":", "ALPHA") == ["ALPHA_OF_OURS"]  # as bash parts it
    assert "ALPHA_OF_OURS" in offered("find", "rule", ":")
    assert offered("find", "rule", ":", "X", "ALPHA") == []
    assert offered("chart", "rules/live/ALPHA") == ["rules/live/ALPHA_OF_OURS"]
    assert offered("find", "rule:NO_RULE") == []
    assert offered("signature", "remove", "s") == ["s2", "s1"]
    assert offered("signature", "accept", "s") == []
    assert "GTUBE" in {word.removeprefix("rule:") for word in offered("find", "rule:GT")}
    assert completions("--set", "paths.st") == ["paths.state="]
    assert completions("learn", "sp") == ["spam"]  # what click knows by itself


@pytest.mark.parametrize(
    "spoil",
    [
        lambda site: site.unlink(),
        lambda site: site.write_text("[paths\n"),
        lambda site: site.write_bytes(b"\xff\x00"),
        lambda site: (site.parent / "state/signatures.db").write_bytes(b"no store" * 999),
        lambda site: (site.parent / "policy.d/90-local.toml").write_bytes(b"\xff[[rule]]"),
        lambda site: (site.parent / "policy.d/91-x.toml").mkdir(),
        lambda site: (site.parent / "policy.d/92-x.toml").symlink_to("/nowhere"),
        lambda site: sqlite3.connect(site.parent / "state/signatures.db").execute(
            "DROP TABLE signature"
        ),
    ],
)
def test_what_cannot_be_read_is_no_words_in_the_shell(
    site: Path, spoil: object, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil(site)  # type: ignore[operator]
    for words in (("list", "add", ""), ("signature", "show", "s"), ("find", "rule:A")):
        completions("--config", str(site), *words)
    completions("--set", "nonsense", "list", "add", "")
    assert capfd.readouterr() == ("", "")


def test_every_completed_parameter_is_there() -> None:
    for path, parameter in VALUES:
        described: dict[str, Any] = {"commands": load_index()}
        for word in path.split():
            described = described["commands"][word]
        assert parameter in {known["name"] for known in described["parameters"]}, path


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    for name, shell in (("oborona", "bash"), ("_oborona", "zsh"), ("oborona.fish", "fish")):
        (tmp_path / name).write_text(completion_script(shell) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("shell", "begin"),
    [
        (["bash", "--norc", "--noprofile", "-i"], "source {scripts}/oborona"),
        (["zsh", "-f", "-i"], "fpath=({scripts} $fpath); autoload -Uz compinit; compinit -u -D"),
    ],
    ids=["bash", "zsh"],
)
def test_the_tab_key_completes(shell: list[str], begin: str, site: Path, scripts: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(shell[0], shell, environment(scripts))
    try:
        told(terminal, begin.format(scripts=scripts) + "; echo rea''dy\n", "ready")
        line = f"oborona --config {site} list add partn"
        told(terminal, line + "\t", "partners")
        told(
            terminal, "\x15" + line.replace("list add partn", "find rule:ALPHA_O") + "\t", "F_OURS"
        )
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def test_fish_completes(site: Path, scripts: Path) -> None:
    script = (
        f"source {scripts}/oborona.fish; complete -C 'oborona --config {site} signature show s'"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True, text=True, check=True, timeout=PATIENCE_S, env=environment(scripts),
    )  # fmt: skip
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == {"s1", "s2"}
    assert "buy now" in done.stdout
    assert not done.stderr


def environment(home: Path) -> dict[str, str]:
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(home),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }


def told(terminal: int, keys: str, wanted: str) -> None:
    """Type keys, and wait until the terminal shows what is wanted."""
    os.write(terminal, keys.encode())
    shown, until = "", time.monotonic() + PATIENCE_S
    while wanted not in shown:
        assert select.select([terminal], [], [], max(0.0, until - time.monotonic()))[0], shown
        shown += os.read(terminal, 4096).decode(errors="replace")
