"""How many instructions a message takes, by step: the same on every machine, whatever else it does.

    python benchmarks/instructions.py scan              a first look, without DNS and without a door
    python benchmarks/instructions.py again             a second look, as the keeper takes it
    python benchmarks/instructions.py scan --tree DIR   of another tree, by the packages of this
                                                        interpreter

The program runs on a simulated processor (callgrind of Debian's valgrind), which counts what is
executed in user space between the entry of a step and its return, less what steps inside it take.
A thousand instructions are 0.2 to 0.4 µs.  Counts of two runs differ by less than a hundredth; what
waits for memory costs time and no instruction more, so a saving of time is shown elsewhere.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import functools
import gc
import importlib
import inspect
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

HERE: Final = Path(__file__).resolve().parent
INSIDE: Final = "OBORONA_INSTRUCTIONS"  # set in the program that is counted: its folder
MESSAGES: Final = 64
OUTSIDE: Final = "everything else"
NOW: Final = 1795770000.0
SCAN: Final = (
    "policy.scan:parse", "policy.scan:shingles", "policy.scan:read_counts", "policy.scan:_checked",
    "policy.scan:facts_of", "policy.facts.build:with_mass", "policy.facts.build:with_header",
    "policy.facts.build:with_body", "policy.scan:with_reputation", "policy.scan:judge",
    "policy.verdict:Evaluator.rules", "policy.verdict:Evaluator.model", "policy.verdict:decide",
    "policy.signatures.book:SignatureBook.find", "session.journal_entry:entry_of",
    "message.parse:normalise",
)  # fmt: skip
AGAIN: Final = (
    "recheck.engine.rescorer:_whole", "recheck.engine.rescorer:facts_then",
    "recheck.engine.rescorer:Rescorer._counts", "recheck.engine.rescorer:Rescorer._message_counts",
    "recheck.engine.rescorer:pieces_of", "recheck.engine.rescorer:with_counts",
    "policy.counts:MessageCounts.since", "recheck.facts_today:with_reputation",
    "recheck.facts_today:with_mass", "recheck.engine.rescorer:Rescorer._judged",
    "recheck.evaluator:EntryEvaluator.rules", "policy.verdict:decide",
    "counters.readonly:ReadOnlyCounters.read",
)  # fmt: skip


class StepCounter:
    """Counts instructions of functions, each without those inside it.

    Args:
        folder: where `instructions.c` was built.
    """

    def __init__(self, folder: Path) -> None:
        self._library = ctypes.CDLL(str(folder / "instructions.so"))
        self._inside = [OUTSIDE.encode()]
        self._counts = False

    def watch(self, place: str) -> None:
        """Take a function for a step: `module:name` or `module:class.name` below `oborona`."""
        module_name, _, path = place.partition(":")
        module = importlib.import_module(f"oborona.{module_name}")
        *owners, name = path.split(".")
        owner = functools.reduce(getattr, owners, module)
        called = getattr(owner, name)
        counted = self._counted(called, name.encode())
        # whoever imported it by name has it, too
        holders = [owner] if owners else list(sys.modules.values())
        for holder in holders:
            if getattr(holder, "__dict__", {}).get(name) is called:
                setattr(holder, name, counted)

    def _counted(self, called: Callable[..., Any], name: bytes) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            with self._step(name):
                return called(*given, **named)

        async def awaited_step(*given: Any, **named: Any) -> Any:
            with self._step(name):
                return await called(*given, **named)

        awaited = inspect.iscoroutinefunction(called)
        return functools.wraps(called)(awaited_step if awaited else step)

    @contextmanager
    def _step(self, name: bytes) -> Iterator[None]:
        if self._counts:
            self._library.passed(self._inside[-1])
        self._inside.append(name)
        try:
            yield
        finally:
            self._inside.pop()
            if self._counts:
                self._library.passed(name)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count in a block."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._library.begin()
        self._counts = True
        yield
        self._counts = False
        self._library.passed(self._inside[-1])
        self._library.end()


async def scanned(counter: StepCounter, folder: Path) -> None:
    """Scan messages of the corpus."""
    recheck: Any = importlib.import_module("benchmarks.recheck")  # of the tree that is counted

    policy = recheck.load_policy(recheck.ROOT / "etc/policy.d", recheck.SCHEMA)
    filled = recheck.Filled(folder, policy, NOW)
    paths = sorted(recheck.CORPUS.glob("*/*.txt"))
    random.Random(1).shuffle(paths)  # noqa: S311 - an order, not a secret

    async def judge(some: list[Path]) -> None:
        for at, path in enumerate(some):
            ip, sender = f"198.51.{at % 7}.{at % 250}", f"ann{at % 9}@a{at % 20}.example"
            entry = await filled.judged(path.read_bytes(), ip, sender, "bob@b.example", NOW)
            filled.count(entry.shingles, recheck.Amounts(seen=1), NOW)
        filled.merge()

    await judge(paths[:MESSAGES])
    for place in SCAN:
        counter.watch(place)
    with counter.counting():
        await judge(paths[MESSAGES : 2 * MESSAGES])
    filled.counters.close()
    filled.writer.close()


async def rejudged(counter: StepCounter, folder: Path) -> None:
    """Take a second look at messages of a journal."""
    recheck: Any = importlib.import_module("benchmarks.recheck")  # of the tree that is counted

    policy = recheck.load_policy(recheck.ROOT / "etc/policy.d", recheck.SCHEMA)
    filled = recheck.Filled(folder, policy, NOW)
    await filled.fill(recheck.CORPUS, 6 * MESSAGES, MESSAGES)
    filled.counters.close()
    filled.writer.close()
    moves = recheck.MoveStore(folder / "recheck.db")
    with recheck.open_reader(folder / "counters") as counters:
        async with await recheck.DeliveredMessages.open(folder / "journal.db") as journal:
            rescorer = recheck.Rescorer(
                msgspec.structs.replace(filled.site, counters=counters),
                policy,
                asked={policy.version: recheck.rule_fingerprints(policy)},
                people=recheck.NoActionsOrMoves(),
                made=moves,
                folders=recheck.MailboxFolders(),
            )
            ids = sorted(await journal.newest(0, None, 100 * MESSAGES))
            some = random.Random(2).sample(ids, MESSAGES)  # noqa: S311 - the same each time
            taken = [
                await journal.taken(some[at : at + recheck.AT_ONCE])
                for at in range(0, MESSAGES, recheck.AT_ONCE)
            ]
            for place in AGAIN:
                counter.watch(place)
            await rescorer.again(taken[0], recheck.RecheckCause.ASKED, NOW)
            with counter.counting():
                for at, batch in enumerate(taken):
                    await rescorer.again(batch, recheck.RecheckCause.CLOCK, NOW + at)
    moves.close()


WORK: Final = {"scan": scanned, "again": rejudged}


def run_counted(what: str, tree: Path) -> Counter[str]:
    """Return the instructions of each step, of all messages."""
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as name:
        folder = Path(name)
        built = ("gcc", "-O2", "-shared", "-fPIC", HERE / "instructions.c", "-o")
        subprocess.run([*built, folder / "instructions.so"], check=True)
        subprocess.run(
            [
                "valgrind", "--tool=callgrind", "-q", "--instr-atstart=no", f"--callgrind-out-file={folder}/counts",
                sys.executable, __file__, what, "--tree", tree,
            ],
            check=True,
            env=os.environ | {INSIDE: name, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        steps: Counter[str] = Counter()
        for file in folder.glob("counts.*"):
            text = file.read_text()
            step = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            number = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if step and number:
                steps[step[1]] += int(number[1])
        return steps


def main() -> None:
    """Print the table; in the program that is counted, do the work."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=WORK)
    parser.add_argument("--tree", type=Path, default=HERE.parent)
    asked = parser.parse_args()
    if INSIDE in os.environ:
        sys.path[:0] = [str(asked.tree), str(asked.tree / "src")]
        folder = Path(os.environ[INSIDE])
        (folder / "state").mkdir()
        asyncio.run(WORK[asked.what](StepCounter(folder), folder / "state"))
        return
    steps = run_counted(asked.what, asked.tree)
    shown = Table(title=f"instructions of a message, thousands ({asked.what})")
    for name in ("step", "thousands", "%"):
        shown.add_column(name, justify="left" if name == "step" else "right")
    for step, number in steps.most_common():
        each, share = number / MESSAGES / 1000, 100 * number / steps.total()
        shown.add_row(step, f"{each:.1f}", f"{share:.1f}")
    shown.add_section()
    shown.add_row("all", f"{steps.total() / MESSAGES / 1000:.1f}", "")
    Console().print(shown)


if __name__ == "__main__":
    main()
