"""What a message costs, as one line for docs/measured/ledger.md: CPU beside rspamd in the same run,
by process, memory after the load, CPU of an idle daemon.

    python benchmarks/ledger.py                        measure this tree, append its line
    python benchmarks/ledger.py --tree FOLDER          another tree with its own src and etc, by the
                                                       packages of this interpreter
    python benchmarks/ledger.py --rounds 5 --dry       print the line, append nothing
    python benchmarks/ledger.py --site --rounds 15     this tree alone beside this tree in a site of
                                                       two machines; prints, appends nothing

Both filters run at once and are loaded in turns with the same messages of the corpus, one
connection at a time and 32 at once, so that what else the machine does falls on both alike.  The
ratio is the median of the rounds' ratios; milliseconds are of this machine and moment.  CPU counts
whole process trees without the resolver.  Processes that read pictures are always of the tree that
is installed.  Stages within a worker: `benchmarks/message.py`.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.milterload import TICK, tree, usage  # noqa: E402
from benchmarks.scan import sample  # noqa: E402
from benchmarks.servers import Server, oborona, oborona_site, rspamd  # noqa: E402

LEDGER: Final = ROOT / "docs/measured/ledger.md"
CONNECTIONS: Final = (1, 32)
WARM_UP: Final = 200  # messages
SETTLE_S: Final = 3.0  # after a start, before anything is measured
IDLE_S: Final = 10.0
AFTER_S: Final = 0.7  # after a load: the writer's last step is part of it
_NAMED: Final = re.compile(r"oborona: ([a-z]+)")


class LoadCost(NamedTuple):
    """CPU of one load, milliseconds a message."""

    whole: float
    by_process: dict[str, float]


def cpu_of(pid: int) -> dict[str, float]:
    """Return the CPU of a process tree until now, with children that ended: ms by name."""
    used: defaultdict[str, float] = defaultdict(float)
    for member in tree(pid):  # type: ignore[no-untyped-call]
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
            title = Path(f"/proc/{member}/cmdline").read_text()
        except OSError:
            continue
        named = _NAMED.match(title)
        name = named[1] if named else "parent" if member == pid else "pictures"
        used[name] += 1000 * sum(map(int, fields[11:15])) / TICK
    return used


def loaded(server: Server, paths: list[str], connections: int, folder: Path) -> LoadCost:
    """Send messages; return what they cost the server."""
    listing = folder / "load"
    listing.write_text("\n".join(paths))
    before = _filter_cpu(server)
    subprocess.run(
        [
            sys.executable, ROOT / "benchmarks/milterload.py", server.address, "--list", listing, "--json",
            "--concurrency", str(connections), "--count", str(len(paths)), "--timeout", "900",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    time.sleep(AFTER_S)
    used = {
        name: (ms - before.get(name, 0.0)) / len(paths) for name, ms in _filter_cpu(server).items()
    }
    return LoadCost(sum(used.values()), used)


def _filter_cpu(server: Server) -> dict[str, float]:
    """Return `cpu_of` of all that a filter runs, but for the resolver."""
    used: defaultdict[str, float] = defaultdict(float)
    for program, pid in server.pids.items():
        if program != "unbound":
            for name, ms in cpu_of(pid).items():
                used[name] += ms
    return used


def idle_cpu(server: Server) -> float:
    """Return the CPU of a daemon that nobody asks: ms a second."""
    began = sum(cpu_of(server.pids["oborona"]).values())
    time.sleep(IDLE_S)
    return (sum(cpu_of(server.pids["oborona"]).values()) - began) / IDLE_S


def row(server: Server, peer: Server, rounds: int, count: int, folder: Path) -> list[str]:
    """Return the cells of a line that are measured."""
    paths = sample()
    time.sleep(SETTLE_S)
    idle = idle_cpu(server)
    for one in (server, peer):
        loaded(one, paths[-WARM_UP:], 8, folder)
    cells, parts = [], []
    for connections in CONNECTIONS:
        ours: list[LoadCost] = []
        theirs: list[LoadCost] = []
        for turn in range(rounds):
            some = [paths[(turn * count + at) % len(paths)] for at in range(count)]
            pair = [(server, ours), (peer, theirs)]
            for one, costs in pair if turn % 2 else reversed(pair):
                costs.append(loaded(one, some, connections, folder))
        ratio = median(own.whole / other.whole for own, other in zip(ours, theirs, strict=True))
        own_ms, other_ms = (median(cost.whole for cost in costs) for costs in (ours, theirs))
        cells.append(f"{ratio:.2f} ({own_ms:.1f} / {other_ms:.1f})")
        names = sorted({name for cost in ours for name in cost.by_process})
        middle = {name: median(cost.by_process.get(name, 0.0) for cost in ours) for name in names}
        heaviest = sorted(middle.items(), key=lambda part: -part[1])
        parts.append(", ".join(f"{name} {ms:.2f}" for name, ms in heaviest if ms >= 0.02))
    pss = usage([server.pids["oborona"]])["pss"] / 1e6  # type: ignore[no-untyped-call]
    return [*cells, "; ".join(parts), f"{pss:.0f}", f"{idle:.0f}"]


def site_report(alone: Server, site: Server, rounds: int, count: int, folder: Path) -> str:
    """Return what a message costs a machine alone and one of a site, in turns, as rows of a table.

    The other machine and PostgreSQL are no part of the ratio: they are beside it.
    """
    paths = sample()
    time.sleep(SETTLE_S)
    for one in (alone, site):
        loaded(one, paths[-WARM_UP:], 8, folder)
    lines = [f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"]
    apart = [idle_cpu(one) for one in (site, alone)]
    lines.append(f"idle: {apart[0]:.1f} / {apart[1]:.1f} ms of CPU a second")
    for connections in CONNECTIONS:
        pairs: list[tuple[float, float]] = []
        beside: dict[str, list[float]] = {"mx2": [], "postgresql": []}
        for turn in range(rounds):
            some = [paths[(turn * count + at) % len(paths)] for at in range(count)]
            costs: dict[str, float] = {}
            for one in (alone, site) if turn % 2 else (site, alone):
                before = {name: sum(cpu_of(site.pids[name]).values()) for name in beside}
                own = sum(cpu_of(one.pids["oborona"]).values())
                loaded(one, some, connections, folder)
                costs[one.name] = (sum(cpu_of(one.pids["oborona"]).values()) - own) / count
                if one is site:
                    for name, values in beside.items():
                        spent = sum(cpu_of(site.pids[name]).values()) - before[name]
                        values.append(spent / count)
            pairs.append((costs[site.name], costs[alone.name]))
        ratios = sorted(own / other for own, other in pairs)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        mine, others = (median(values) for values in zip(*pairs, strict=True))
        more = ", ".join(f"{name} {median(values):.2f}" for name, values in beside.items())
        lines.append(
            f"{connections} at once: {median(ratios):.3f} of a machine alone (half of {rounds} rounds "
            f"{low:.3f} to {high:.3f}), {mine:.2f} / {others:.2f} ms a message; beside it {more} ms"
        )
    return "\n".join([*lines, f"load after it: {os.getloadavg()[0]:.1f}"])


def commit_of(folder: Path) -> str:
    """Return which commit a tree is; with a + where files were changed since."""
    git = ["git", "-C", str(folder)]
    short = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)  # fmt: skip
    changed = subprocess.run([*git, "status", "--porcelain", "-uno", "src", "policy", "counters", "milter", "reputation", "etc"], capture_output=True, text=True, check=True)  # fmt: skip
    return short.stdout.strip() + ("+" if changed.stdout else "")


def main() -> None:
    """Measure, print the line, and append it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=300, help="in each round")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--site", action="store_true", help="alone beside a site of two")
    parser.add_argument("--dry", action="store_true", help="append nothing")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oborona-ledger-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # rspamd runs as somebody else
        server = stack.enter_context(
            oborona(
                folder / "ours",
                transport="native",
                workers=asked.workers,
                root=asked.tree.resolve(),
            )
        )
        if asked.site:
            site = stack.enter_context(
                oborona_site(folder / "site", workers=asked.workers, root=asked.tree.resolve())
            )
            print(site_report(server, site, asked.rounds, asked.messages, folder))
            return
        peer = stack.enter_context(rspamd(folder / "theirs", workers=asked.workers))
        cells = row(server, peer, asked.rounds, asked.messages, folder)
    own = "the system's" if sys.base_prefix == "/usr" else "another"
    python = f"{platform.python_version()}, {own}"
    line = f"| {commit_of(asked.tree)} | {python} | {' | '.join(cells)} |"
    print(line)
    if not asked.dry:
        with LEDGER.open("a") as ledger:
            ledger.write(line + "\n")


if __name__ == "__main__":
    main()
