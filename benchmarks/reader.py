"""What a picture costs from a worker's side: latency over the reader's socket, CPU of its
processes, and the memory of each.

    python benchmarks/reader.py                 100 different pictures of each sort, one after the
                                                other

The reader is `oborona reader` with the settings that ship, in a state folder of its own; the
questions are those of a worker. `first` is after the process that looks was started, as on a
machine that serves, and for reading holds the start of its process; `known` asks for the same
pictures once more. CPU is that of the children alone, by the kernel's account.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona import state_files  # noqa: E402
from oborona.daemon.reader.connection import ReaderConnection  # noqa: E402
from oborona.daemon.reader.wire import PictureOutcome, ReaderTask  # noqa: E402
from oborona.message.model import Picture, PictureOrigin  # noqa: E402
from tests.daemon.reader.mails import code  # noqa: E402

WORDS: Final = (
    "plans",
    "house",
    "garden",
    "letter",
    "report",
    "summer",
    "window",
    "answer",
    "market",
    "travel",
    "doctor",
    "ticket",
    "price",
)
SETTLED_S: Final = 3.0  # from the start of a process to its first picture, twice what it takes
PATIENCE_S: Final = 120.0
TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def pictures(sort: str, number: int, seed: int) -> list[Picture]:
    """Return so many different pictures of a sort: text, photo or code."""
    chance = random.Random(seed)  # noqa: S311 - pictures that are the same in each run
    return [_picture(_drawn(sort, chance)) for _ in range(number)]


def _picture(octets: bytes) -> Picture:
    return Picture(
        octets=octets,
        sha256=sha256(octets).digest(),
        name="",
        kind="png",
        place=PictureOrigin.ATTACHED,
    )


def _drawn(sort: str, chance: random.Random) -> bytes:
    if sort == "code":
        return code(f"https://shop.example/{chance.random()}")
    octets = BytesIO()
    if sort == "text":
        image = Image.new("RGB", (900, 400), "white")
        lines = "\n".join(" ".join(chance.choices(WORDS, k=6)) for _ in range(5))
        ImageDraw.Draw(image).multiline_text(
            (30, 30), lines, fill="black", font_size=34, spacing=20
        )
        image.save(octets, "PNG")
    else:  # colours that run into one another, as in a photograph: nothing to read
        small = Image.frombytes("RGB", (24, 18), chance.randbytes(24 * 18 * 3))
        small.resize((1600, 1200), Image.Resampling.BICUBIC).save(octets, "JPEG", quality=85)
    return octets.getvalue()


def children(pid: int) -> list[int]:
    """Return the processes that a process and its children have started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for one in (task / "children").read_text().split():
            found += [int(one), *children(int(one))]
    return found


def cpu_s(pids: list[int]) -> float:
    """Return the CPU seconds that processes have used, user and system."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total * TICK_S


def memory_mib(pid: int) -> tuple[float, float]:
    """Return RSS and PSS."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    found = {
        line.split(":")[0]: int(line.split()[1]) / 1024
        for line in lines
        if line.startswith(("Rss:", "Pss:"))
    }
    return found["Rss"], found["Pss"]


def quantile(times: list[float], share: float) -> float:
    """Return a quantile in milliseconds."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] * 1000


async def measured(state: Path, parent: int, number: int, console: Console) -> None:
    """Ask, and print the table."""
    until = time.monotonic() + PATIENCE_S
    while not any(children(pid) for pid in children(parent)):
        if time.monotonic() > until:
            raise TimeoutError("no process that looks")
        await asyncio.sleep(0.05)
    await asyncio.sleep(SETTLED_S)
    line = ReaderConnection(state / state_files.READER_SOCKET)
    table = Table(
        "task",
        "pictures",
        "first ms",
        "p50 ms",
        "p99 ms",
        "known p50 ms",
        "CPU ms each",
        "not done",
    )
    for task in ReaderTask:
        for sort in ("code", "text", "photo"):
            first, *wanted = pictures(sort, number + 1, seed=number)
            started = time.perf_counter()
            await line.ask(task, first, urgent=True, within_s=PATIENCE_S)
            first_ms = (time.perf_counter() - started) * 1000
            (reader,) = (pid for pid in children(parent) if children(pid))
            before, times, undone = cpu_s(children(reader)), list[float](), 0
            for one in wanted:
                started = time.perf_counter()
                result = await line.ask(task, one, urgent=True, within_s=PATIENCE_S)
                times.append(time.perf_counter() - started)
                undone += result.outcome is not PictureOutcome.DONE
            each_ms = (cpu_s(children(reader)) - before) * 1000 / number
            known = list[float]()
            for one in wanted:
                started = time.perf_counter()
                await line.ask(task, one, urgent=True, within_s=PATIENCE_S)
                known.append(time.perf_counter() - started)
            cells = (
                first_ms,
                quantile(times, 0.5),
                quantile(times, 0.99),
                quantile(known, 0.5),
                each_ms,
            )
            table.add_row(task.value, sort, *(f"{cell:.1f}" for cell in cells), str(undone))
    await line.close()
    console.print(table)


def sizes_of(parent: int) -> Table:
    """Return the memory of the reader and its children."""
    sizes = Table("process", "RSS MiB", "PSS MiB")
    for pid in children(parent):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        name = next(
            (task.value for task in ReaderTask if f'"task":"{task}"'.encode() in words), "reader"
        )
        sizes.add_row(name, *(f"{size:.0f}" for size in memory_mib(pid)))
    return sizes


def main() -> None:
    """Start a reader, ask it, end it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=100, help="pictures of each sort")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oborona-reader-") as folder:
        command = [str(Path(sys.executable).with_name("oborona")), "--state", folder, "reader"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + 30
            while not (Path(folder) / state_files.READER_SOCKET).exists():
                if time.monotonic() > until:
                    raise TimeoutError("the reader did not start")
                time.sleep(0.05)
            console = Console()
            asyncio.run(measured(Path(folder), process.pid, asked.number, console))
            console.print(sizes_of(process.pid))
            process.terminate()


if __name__ == "__main__":
    main()
