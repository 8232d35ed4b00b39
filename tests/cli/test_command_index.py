"""Help and completion: what is shown is what the commands say, and nothing that commands use is
imported for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from oborona.cli import main
from oborona.cli.command_index import FILE, LazyCommand, LazyGroup, load_index

HEAVY = (
    "numpy",
    "aiohttp",
    "lupa",
    "re2",
    "aiosqlite",
    "rich",
    "asyncio",
    "sqlite3",
    "dns",
    "oborona.policy",
)
MODULES = 330  # of a bare interpreter, click, and a little more
PROBE = """
import json, sys
sys.argv[0] = "oborona"
from oborona.cli import main
try:
    main()
finally:
    json.dump(sorted(sys.modules), open({out!r}, "w"))
"""


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            yield from commands(below, (*path, name))


def imported(tmp_path: Path, *words: str, **environment: str) -> tuple[str, set[str]]:
    """Return what a call prints, and the modules that it imported."""
    out = tmp_path / "modules"
    ended = subprocess.run(
        [sys.executable, "-c", PROBE.format(out=str(out)), *words],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, set(json.loads(out.read_text()))


def assert_light(modules: set[str]) -> None:
    assert not [one for one in modules if one.startswith("oborona.policy")]
    assert not modules.intersection(HEAVY)
    assert len(modules) < MODULES


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("policy", "--help"),
        ("explain", "--help"),
        ("policy", "replay", "-h"),
        ("model", "final", "--help"),
    ],
    ids=" ".join,
)
def test_help_imports_nothing_that_commands_use(tmp_path: Path, words: tuple[str, ...]) -> None:
    told, modules = imported(tmp_path, *words)
    assert "Usage: oborona" in told
    assert_light(modules)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("oborona pol", "plain,policy"),
        ("oborona policy re", "plain,replay"),
        ("oborona explain --mes", "plain,--message"),
        ("oborona learn ", "plain,ham"),
        ("oborona learn ham ", "file,"),
        ("oborona completion ", "plain,fish"),
    ],
)
def test_completion_imports_nothing_that_commands_use(
    tmp_path: Path, typed: str, wanted: str
) -> None:
    told, modules = imported(
        tmp_path,
        _OBORONA_COMPLETE="bash_complete",
        COMP_WORDS=typed,
        COMP_CWORD=str(len(typed.split(" ")) - 1),
    )
    assert wanted in told.splitlines()
    assert_light(modules)


def test_every_help_is_what_the_command_itself_says() -> None:
    """What is written in the file is what would be said without it, to the letter."""
    root = click.Context(main, info_name="oborona", **main.context_settings)
    found = 0
    for name in main.list_commands(root):
        real, light = main.imported(name), main.get_command(root, name)
        assert real is not None
        assert isinstance(light, LazyCommand | LazyGroup)
        for (path, one), (_, other) in zip(commands(real), commands(light), strict=True):
            parent = root
            for step in (name, *path)[:-1]:
                parent = click.Context(click.Group(step), parent=parent, info_name=step)
            last = (name, *path)[-1]
            says = [
                each.get_help(click.Context(each, parent=parent, info_name=last))
                for each in (one, other)
            ]
            assert says[0] == says[1], (name, *path)
            assert one.get_short_help_str() == other.get_short_help_str()
            found += 1
    assert found > 80


def test_a_command_that_is_run_is_the_command_itself() -> None:
    for path, one in commands(main):
        if isinstance(one, LazyCommand):
            real = one.real()
            assert real.name == path[-1]
            assert not isinstance(real, LazyCommand)


def test_without_its_file_every_command_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oborona.cli.load_index", dict)
    ctx = click.Context(main)
    assert {name for name in main.list_commands(ctx) if main.get_command(ctx, name)} == set(
        load_index()
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell_and_says_where_it_goes(shell: str) -> None:
    ended = subprocess.run(
        [Path(sys.executable).with_name("oborona"), "completion", shell],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "_OBORONA_COMPLETE" in ended.stdout
    assert f"oborona completion {shell}" in ended.stdout
    if shell == "zsh":
        assert ended.stdout.startswith("#compdef oborona")


def test_bash_takes_its_script_and_completes_by_it(tmp_path: Path) -> None:
    folder = Path(sys.executable).parent
    script = f"""
PATH={folder}:$PATH
eval "$(oborona completion bash)"
COMP_WORDS=(oborona personal al) COMP_CWORD=2
_oborona_completion oborona al personal
echo "${{COMPREPLY[@]}}"
"""
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert "allow" in ended.stdout.split(), ended.stderr
    assert FILE.exists()
