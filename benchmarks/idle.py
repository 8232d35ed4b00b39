"""What a daemon with nothing to do costs, by process: CPU, how often it is woken, memory.

    python benchmarks/idle.py                     just started
    python benchmarks/idle.py --messages 4000     and again after so many messages and a rest
    python benchmarks/idle.py --tree FOLDER       another tree, by the packages of this interpreter

Two workers, all that ships, pictures on.  CPU and switches are of all threads, as the kernel counts
them; PSS shares what several processes have among them, dirty is what a process has alone and has
written.  The rest after messages is longer than children that read pictures stay; what the recheck
does by the clock a minute after a message is in the keeper's figures.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.ledger import loaded  # noqa: E402
from benchmarks.milterload import tree  # noqa: E402
from benchmarks.scan import sample  # noqa: E402
from benchmarks.servers import oborona  # noqa: E402

SETTLE_S: Final = 6.0  # after a start
REST_S: Final = 40.0  # after messages
AT_ONCE: Final = 1000  # messages of one load
CONNECTIONS: Final = 32
_VOLUNTARY: Final = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)", re.MULTILINE)
_FORCED: Final = re.compile(r"^nonvoluntary_ctxt_switches:\s+(\d+)", re.MULTILINE)
_TITLE: Final = re.compile(r"oborona: ([^\0]+)")


class ProcessUsage(NamedTuple):
    """What a process has had since it began, and holds now."""

    cpu_ms: float = 0.0
    slept: int = 0  # times that it waited, and was woken
    forced: int = 0  # times that another took the processor
    pss_mb: float = 0.0
    dirty_mb: float = 0.0


def usage(pid: int) -> dict[str, ProcessUsage]:
    """Return what each process of a tree has, by its title."""
    found: dict[str, ProcessUsage] = {}
    for member in tree(pid):  # type: ignore[no-untyped-call]
        with suppress(OSError):  # it has ended
            title = _TITLE.match(Path(f"/proc/{member}/cmdline").read_text())
            name = title[1] if title else "parent" if member == pid else f"pictures {member}"
            found[name] = _usage_of(Path(f"/proc/{member}"))
    return found


def _usage_of(process: Path) -> ProcessUsage:
    cpu_ns = slept = forced = 0
    for thread in (process / "task").iterdir():
        status = (thread / "status").read_text()
        slept += _number(_VOLUNTARY, status)
        forced += _number(_FORCED, status)
        cpu_ns += int((thread / "schedstat").read_text().split()[0])
    memory = (process / "smaps_rollup").read_text()
    pss, dirty = (
        _number(re.compile(rf"^{name}:\s+(\d+)", re.MULTILINE), memory) / 1024
        for name in ("Pss", "Private_Dirty")
    )
    return ProcessUsage(cpu_ns / 1e6, slept, forced, pss, dirty)


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return 0 if found is None else int(found[1])


def idle_table(pid: int, seconds: float, title: str) -> Table:
    """Watch a daemon for some seconds; return what its processes had a second, and hold."""
    before = usage(pid)
    time.sleep(seconds)
    after = usage(pid)
    shown = Table(title=title)
    shown.add_column("process")
    for column in ("CPU ms/s", "woken/s", "preempted/s", "PSS MB", "dirty MB"):
        shown.add_column(column, justify="right")
    rows = []
    for name, then in after.items():
        first = before.get(name, ProcessUsage())
        spent = [(then[at] - first[at]) / seconds for at in range(3)]
        rows.append([*spent, then.pss_mb, then.dirty_mb])
        shown.add_row(name, *(f"{value:.1f}" for value in rows[-1]))
    shown.add_row("all", *(f"{sum(values):.1f}" for values in zip(*rows, strict=True)))
    return shown


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--messages", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="that it is watched")
    asked = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="oborona-idle-") as name:
        folder = Path(name)
        root = asked.tree.resolve()
        with oborona(folder / "ours", transport="native", workers=2, root=root) as server:
            pid = server.pids["oborona"]
            time.sleep(SETTLE_S)
            console.print(idle_table(pid, asked.seconds, "just started"))
            if not asked.messages:
                return
            paths = sample()[:AT_ONCE]
            for start in range(0, asked.messages, AT_ONCE):
                loaded(server, paths[: asked.messages - start], CONNECTIONS, folder)
            held = sum(one.pss_mb for one in usage(pid).values())
            console.print(f"PSS after {asked.messages} messages: {held:.0f} MB")
            time.sleep(REST_S)
            title = f"{REST_S:g} s after {asked.messages} messages"
            console.print(idle_table(pid, asked.seconds, title))


if __name__ == "__main__":
    main()
