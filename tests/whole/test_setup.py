"""`./setup` says what it does while it works, and everything where it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

SETUP = Path(__file__).parents[2] / "setup"
TOLD = f'set -euo pipefail; eval "$(sed -n "/^say()/p; /^told()/,/^}}/p" {SETUP})"; '


def told(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", TOLD + command], capture_output=True, text=True, timeout=60, check=False
    )


def test_nothing_is_silent_for_long(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    step = (  # ends as soon as what it says was told, and not near the next time
        f"echo unpacking things; until grep -q unpacking {heard}; do sleep 0.2; done; echo the end"
    )
    done = told(f"exec 2>{heard}; told 'a long step' sh -c '{step}'; echo after")
    lines = heard.read_text().splitlines()
    assert done.returncode == 0, lines
    assert lines[0] == "setup: a long step"
    assert any("s: unpacking things" in line for line in lines[1:])
    assert "the end" not in heard.read_text(), "what went well needs no more words"
    assert done.stdout == "after\n"


def test_a_step_that_fails_says_all_that_it_said_and_ends_the_setup() -> None:
    done = told("told 'a bad step' sh -c 'echo one; echo two >&2; exit 7'; echo after")
    assert done.returncode == 7
    assert done.stdout == ""
    assert "one\ntwo\nsetup: a bad step: failed with status 7" in done.stderr


def test_ctrl_c_ends_the_step_with_the_setup(tmp_path: Path) -> None:
    script = TOLD + f"told 'a long step' sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60'"
    process = subprocess.Popen(
        ["bash", "-c", script], start_new_session=True, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 130
    pid = int((tmp_path / "pid").read_text())
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until + 20
        time.sleep(0.05)


PARTS = SETUP.parent / "systemd/install.sh"
RELEASES = ("20261101-100000", "20261102-100000", "20261103-100000")


def part(home: Path, command: str) -> None:
    words = (
        f"set -euo pipefail; say() {{ :; }}; source {PARTS}; home={home}; "
        f"site_command={home}/command; command=$site_command; site_units={home}/units; "
        f"systemctl() {{ :; }}; {command}"
    )
    subprocess.run(["bash", "-c", words], check=True, timeout=60)


def opt(folder: Path) -> Path:
    """Where the program lies, in a folder that is also somebody's clone."""
    home = folder / "oborona"
    for name in (*RELEASES, "milter", ".git", "venv.of-mine", "zone"):
        (home / name).mkdir(parents=True)
    (home / "venv").symlink_to(home / RELEASES[-1])
    return home


def test_an_upgrade_keeps_one_release_more_and_whatever_is_not_ours(tmp_path: Path) -> None:
    home = opt(tmp_path)
    part(home, "drop_releases 2")
    assert {path.name for path in home.iterdir()} == {
        *RELEASES[1:],
        "venv",
        "milter",
        ".git",
        "venv.of-mine",
        "zone",
    }


def test_removal_takes_what_was_installed_and_no_clone_that_lies_there(tmp_path: Path) -> None:
    home = opt(tmp_path)
    part(home, "drop_site_program")
    assert {path.name for path in home.iterdir()} == {"milter", ".git", "venv.of-mine", "zone"}


def test_removal_leaves_no_empty_folder(tmp_path: Path) -> None:
    home = tmp_path / "oborona"
    (home / RELEASES[0] / "bin").mkdir(parents=True)
    (home / "venv").mkdir()
    part(home, "drop_site_program")
    assert not home.exists()


def test_what_root_installs_is_for_everybody_to_read(tmp_path: Path) -> None:
    part(
        tmp_path,
        (
            f"umask 077; install_program() {{ mkdir {tmp_path}/made; }}; "
            f"install_user_and_settings() {{ :; }}; install_units() {{ :; }}; start_service() "
            f"{{ :; }}; run_install"
        ),
    )
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o755


CHOICE = (
    f'set -euo pipefail; eval "$(sed -n "/^new_enough()/p; /^interpreter()/,/^}}/p" {SETUP})"; '
)


def program(path: Path, status: int) -> Path:
    """A program that says how old it is by its status, as `new_enough` asks."""
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return path


def chosen(system: Path, **environment: str) -> str:
    done = subprocess.run(
        ["bash", "-c", f"{CHOICE}interpreter {system}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], **environment},
    )
    return done.stdout.strip()


def test_the_systems_own_python_is_taken_where_it_is_new_enough(tmp_path: Path) -> None:
    system = program(tmp_path / "python3", 0)
    assert chosen(system) == str(system)
    assert chosen(program(system, 1)) == "python3"
    assert chosen(tmp_path / "none") == "python3"


def test_who_names_a_python_gets_it(tmp_path: Path) -> None:
    system = program(tmp_path / "python3", 0)
    assert chosen(system, PYTHON="/opt/python3.12") == "/opt/python3.12"
    assert chosen(system, PYTHON="") == str(system)
