"""The demo runs, and stops all that it started however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demo import readable

ROOT = Path(__file__).parents[1]
# kind, sent, inbox, junk, refused, tempfailed, lost, median
ROW = re.compile(r"│" + r"([^│]*)│" * 8)


def demo(*options: str) -> subprocess.Popen[str]:
    """Start a demo in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.demo", *options],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def descendants(pid: int) -> dict[int, str]:
    """Return all processes below one: what they run, by id."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has ended
        parents[int(folder.name)], names[int(folder.name)] = int(rest.split()[1]), name
    found: dict[int, str] = {}
    below = {pid}
    while below:
        below = {child for child, parent in parents.items() if parent in below}
        found |= {child: names[child] for child in below}
    return found


@pytest.mark.slow
def test_mail_goes_through_and_gtube_is_refused() -> None:
    output, _ = (process := demo("--everyday", "12", "--campaign", "10")).communicate(timeout=120)
    assert process.returncode == 0, output
    rows = {kind.strip(): [cell.strip() for cell in cells] for kind, *cells in ROW.findall(output)}
    assert rows["gtube"][:6] == ["1", "·", "·", "1", "·", "·"], output
    sent = {kind: int(row[0]) for kind, row in rows.items() if kind in ("ham", "spam", "campaign")}
    assert sent["campaign"] == 10
    assert sent["ham"] > 40, "everyday letters and golden ones"
    assert rows["ham"][2] == "·", "no good mail is filed"
    assert rows["ham"][3] == "·", "no good mail is refused"
    assert int(rows["spam"][2]) + int(rows["spam"][3].replace("·", "0")) >= sent["spam"] // 2, (
        output
    )
    assert all(row[4:6] == ["·", "·"] for row in rows.values()), output  # none put off, none lost
    assert "level=error" not in output


@pytest.mark.slow
def test_ctrl_c_stops_all_of_it() -> None:
    process = demo("--everyday", "3000", "--campaign", "0")
    try:
        wait_for(lambda: {"smtpd", "lmtp", "oborona"} <= set(descendants(process.pid).values()))
        started = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate(timeout=90)
    finally:
        process.terminate()
    assert process.returncode == 130, output
    # Children of the servers end when they see that their parent is gone.
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))


def test_reasons_are_shown_as_a_mail_program_shows_them() -> None:
    assert (
        readable("=?utf-8?q?LOAN=3D60=2E0=28pr=C3?=\n =?utf-8?q?=AAt_=29?=\n NO_NAME=1.0")
        == "LOAN=60.0(prêt ) NO_NAME=1.0"
    )


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
