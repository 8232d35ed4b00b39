"""What the final model and the meaning of texts cost:
`python -m benchmarks.final --model FILE --corpus DIR|INDEX`.

    memory     of a process with what a worker imports; with the trained model; with the library
               that trained it (fresh processes)
    scan       CPU of a scan without and with the model, by turns over the same messages
    weigh      of that, the model alone: features, trees, law; the library asked for one message;
               the parts that explain it
    meaning    of a text in the reader's process: time of an answer, and its memory

Prints one JSON line, and the same for people on standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from benchmarks.labelled import read
from oborona.config import ReaderSettings
from oborona.counters.memory import MemoryCounters
from oborona.daemon.reader.meaning import LocalTextEncoder, encode_message
from oborona.daemon.reader.picture_queue import PictureQueue, pool_plans
from oborona.daemon.reader.wire import ReaderTask
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.models.final.model import Forest
from oborona.policy.models.ports import NoModels
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.stores.final_model import FollowedFinalModel
from oborona.types import Envelope

MESSAGES: Final = 1000
ROUNDS: Final = 3
TEXTS: Final = 200
LIBRARY_CALLS: Final = 300
POLICY: Final = Path(__file__).resolve().parents[1] / "etc/policy.d"
PROGRAM: Final = """
import os, sys, time
def rss(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
import oborona.daemon.worker
from oborona.stores.final_model import FollowedFinalModel
from oborona.policy.fact_table import SCHEMA
from pathlib import Path
before, began = rss(), time.perf_counter()
match sys.argv[1]:
    case "model":
        model = FollowedFinalModel(Path(sys.argv[2]), SCHEMA)
        model.look()
        assert model.forest is not None, model.error
    case "library":
        import catboost
print(before, rss() - before, time.perf_counter() - began)
"""


def memory(model: Path) -> dict[str, float]:
    """Return MiB of a worker's imports, and what the model and the library add.

    And seconds that each takes to load.
    """
    found: dict[str, float] = {}
    for what in ("nothing", "model", "library"):
        runs = [
            tuple(
                map(
                    float,
                    subprocess.run(
                        [sys.executable, "-c", PROGRAM, what, str(model)],
                        check=True,
                        capture_output=True,
                        text=True,
                    ).stdout.split(),
                )
            )
            for _ in range(ROUNDS)
        ]
        base, more, seconds = (statistics.median(column) for column in zip(*runs, strict=True))
        if what == "nothing":
            found["worker_mib"] = round(base, 1)
        else:
            found[f"{what}_mib"], found[f"{what}_load_s"] = round(more, 1), round(seconds, 3)
    return found


async def scanned(raws: Sequence[bytes], site: ScanSite, policy: Policy) -> list[Scan]:
    """Return the scans of messages."""
    return [await scan(raw, Envelope(), site, policy, NoInquiry(), now=1.7e9) for raw in raws]


async def scans(
    raws: Sequence[bytes], final: FollowedFinalModel, policy: Policy
) -> dict[str, float]:
    """Return CPU milliseconds of a scan without and with the model."""
    without = ScanSite(
        name="mx.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters(), final=NoModels()
    )
    sites = {
        "scan_ms": without,
        "scan_with_model_ms": msgspec.structs.replace(without, final=final),
    }
    spent: dict[str, list[float]] = {name: [] for name in sites}
    await scanned(raws[:50], sites["scan_with_model_ms"], policy)
    for _ in range(ROUNDS):
        for name, site in sites.items():
            began = time.process_time()
            await scanned(raws, site, policy)
            spent[name].append((time.process_time() - began) / len(raws) * 1000)
    return {name: round(min(times), 3) for name, times in spent.items()}


def each_us(work: Callable[[Any], object], over: Sequence[Any]) -> float:
    """Return CPU microseconds of a call, the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for one in over:
            work(one)
        times.append((time.process_time() - began) / len(over) * 1e6)
    return round(min(times), 1)


def weighing(
    forest: Forest, found: Sequence[Scan], spam: Sequence[bool], policy: Policy
) -> dict[str, float]:
    """Return what the model takes for a message, step by step, beside the library."""
    from catboost import CatBoostClassifier  # noqa: PLC0415 - not before the memory of others was measured

    trees = forest.trained.trees
    vectors = np.array([forest.vector(one.facts, one.verdict.rules) for one in found])
    library = CatBoostClassifier(
        iterations=len(trees.places),
        depth=trees.depth,
        random_seed=1,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    library.fit(vectors, np.array(spam, int))
    rows = [vectors[place : place + 1] for place in range(min(LIBRARY_CALLS, len(vectors)))]
    return {
        "features": len(forest.trained.features),
        "trees": len(trees.places),
        "weigh_us": each_us(
            lambda one: forest.weigh(one.facts, one.verdict.rules, policy.final, policy.verdict),
            found,
        ),
        "features_us": each_us(lambda one: forest.vector(one.facts, one.verdict.rules), found),
        "trees_us": each_us(trees.raw, list(vectors)),
        "library_us": each_us(
            lambda row: library.predict(row, prediction_type="RawFormulaVal"), rows
        ),
        "explain_us": each_us(lambda one: forest.why(one.facts, one.verdict.rules), found[:20]),
    }


def resident_mib(pid: int) -> float:
    """Return the memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    (kib,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return round(int(kib) / 1024, 1)


async def meaning(found: Sequence[Scan]) -> dict[str, float]:
    """Return milliseconds of an answer of the encoder, and MiB of its process."""
    desk = PictureQueue(
        {ReaderTask.MEAN: pool_plans(ReaderSettings(meaning=True, look_s=30))[ReaderTask.MEAN]},
        cache_entries=0,
    )
    try:
        nearby, times = LocalTextEncoder(desk), []
        for one in found[: TEXTS + 1]:
            began = time.perf_counter()
            if await encode_message(nearby, one.message, urgent=True, within_s=60) is None:
                raise RuntimeError("a text was not encoded")
            times.append((time.perf_counter() - began) * 1000)
        (pid,) = desk.pools[ReaderTask.MEAN].pids
        return {
            "meaning_first_ms": round(times[0], 1),
            "meaning_p50_ms": round(statistics.median(times[1:]), 1),
            "meaning_p95_ms": round(statistics.quantiles(times[1:], n=20)[-1], 1),
            "meaning_mib": resident_mib(pid),
        }
    finally:
        await desk.close()


async def run(arguments: argparse.Namespace) -> dict[str, float]:
    """Return all figures."""
    mail = read(arguments.corpus, clean=True)
    mail = mail[:: max(1, len(mail) // arguments.messages)][: arguments.messages]
    raws, policy = [one.raw for one in mail], load_policy(arguments.policy, SCHEMA)
    figures: dict[str, float] = {"messages": len(mail), **memory(arguments.model)}
    final = FollowedFinalModel(arguments.model, SCHEMA)
    final.look()
    if final.forest is None:
        raise SystemExit(f"{arguments.model}: {final.error or 'no such file'}")
    figures |= await scans(raws, final, policy)
    site = ScanSite(name="mx.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters())
    found = await scanned(raws, site, policy)
    figures |= weighing(final.forest, found, [one.spam for one in mail], policy)
    return figures | await meaning(found)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", type=Path, required=True, help="as `oborona model train` wrote it"
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="a folder with ham and spam, or an index"
    )
    parser.add_argument("--policy", type=Path, default=POLICY)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    figures = asyncio.run(run(parser.parse_args()))
    for name, value in figures.items():
        print(f"{name:>20} {value:g}", file=sys.stderr)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
