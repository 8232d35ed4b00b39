"""Steps that setup and the package share, tried one by one with a mail server's tools in their
stead: the real ones are in tests/boot.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from oborona.cli.manual.__main__ import files

ROOT = Path(__file__).resolve().parents[2]
OURS = "smtpd_milters = { inet:127.0.0.1:8890, default_action=tempfail }"


def step(tools: Path, words: str) -> subprocess.CompletedProcess[str]:
    script = f'set -euo pipefail; say() {{ echo "$*" >&2; }}; command=; . systemd/steps.sh; {words}'
    return subprocess.run(
        ["/bin/bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PATH": f"{tools}:/usr/bin:/bin"},
    )  # fmt: skip


def put(tools: Path, name: str, says: str) -> None:
    (tools / name).write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    (tools / name).chmod(0o755)


@pytest.mark.parametrize(
    ("says", "status"),
    [
        ("acl_smtp_data = acl_check_data", 0),
        ("", 0),
        (".include /etc/exim4/oborona/main", 1),
        ("set acl_m_oborona_verdict = spam", 1),
    ],
)
def test_an_exim_that_asks_us_keeps_us(tmp_path: Path, says: str, status: int) -> None:
    """Without us it would put mail off for days, and then bounce it."""
    put(tmp_path, "exim4", says)
    done = step(tmp_path, "leave_exim")
    assert done.returncode == status, done.stderr
    assert ("Take it out of Exim's configuration" in done.stderr) == bool(status)


@pytest.mark.parametrize(
    ("says", "status"),
    [
        ("smtpd_milters = inet:127.0.0.1:8891", 0),
        ("smtpd_banner = mx", 0),
        (OURS, 1),
        ("submission/inet/smtpd_milters = unix:oborona/milter.sock", 1),
        ("smtpd_milters={ inet:[::1]:9, connect_timeout=5s, command_timeout=20s, content_timeout=30s, default_action=accept }", 1),
    ],
)  # fmt: skip
def test_a_postfix_that_names_us_keeps_us(tmp_path: Path, says: str, status: int) -> None:
    put(tmp_path, "postconf", says)
    done = step(tmp_path, "still_named postconf -n")
    assert done.returncode == status, done.stderr
    assert (says in done.stderr) == bool(status)


def test_mail_on_hold_is_named(tmp_path: Path) -> None:
    """We held it, and nobody will let it go."""
    put(tmp_path, "postconf", "smtpd_banner = mx")
    put(
        tmp_path,
        "postqueue",
        "-Queue ID-  --Size-- ---Arrival Time---- -Sender/Recipient------\n"
        "4cZ1Xy0Qz1!     512 Sat Nov 28 16:00:00  ann@shop.example\n"
        "4cZ1Xy0Qz2      512 Sat Nov 28 16:00:00  ann@shop.example",
    )
    done = step(tmp_path, "rm() { :; }; leave_postfix")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("1 messages are on hold")


def test_the_way_of_running_that_is_enabled_is_kept(tmp_path: Path) -> None:
    put(tmp_path, "systemctl", "")
    assert step(tmp_path, "chosen_unit").stdout.strip() == "oborona.target"
    (tmp_path / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    assert step(tmp_path, "chosen_unit").stdout.strip() == "oborona.service"


def test_all_units_are_known_to_the_steps(tmp_path: Path) -> None:
    """What is not named there would be left behind, and not be in the package."""
    units = {path.name for path in (ROOT / "systemd").iterdir() if path.suffix in {".service", ".path", ".target", ".timer"}}  # fmt: skip
    assert set(step(tmp_path, 'echo "$parts"').stdout.split()) == units


def test_man_pages_and_completion_go_and_no_others(tmp_path: Path) -> None:
    share = tmp_path / "share"
    for place, _raw in files("site-functions"):
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        (share / place).touch()
    others = [share / "man/man1/oboronal.1.gz", share / "zsh/site-functions/_other"]
    for path in others:
        path.touch()
    done = step(tmp_path, f"site_share={share}; drop_site_books; drop_site_books")
    assert done.returncode == 0, done.stderr
    assert sorted(path for path in share.rglob("*") if path.is_file()) == sorted(others)
