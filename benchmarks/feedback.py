"""What people say, written down: events a second that are on the disk before they are acknowledged,
and what is there after kill -9.

    python benchmarks/feedback.py                         2,000 events a second for a minute
    python benchmarks/feedback.py --seconds 300 --kill 10 killed and started again ten times
    meanwhile python benchmarks/feedback.py --rate 0                as many as it takes
    python benchmarks/feedback.py --decide 2000           what it costs to decide so many, beside

Events are complaints with a raw copy of a message of the size that mail has (4 kB, half of it text
that packs), handed in by four hundred clients of one process, as the intake's and the workers' are.
Each acknowledged one is written to a pipe; a process that is killed leaves whole lines there. One
JSON line on standard output: `lost` is what was acknowledged and is not in the log, `twice` what is
there more than once. `--decide` believes events of as many persons about one campaign and about
messages of their own, with stores as they are and a journal in memory; CPU of this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona import state_files
from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_extraction import extract_label
from oborona.feedback.label_store import LabelStore
from oborona.feedback.personal_entries import LabelOrigin
from oborona.feedback.processing.event_message import SiteHashing
from oborona.feedback.processing.event_processor import EventProcessor, EventRetention
from oborona.feedback.processing.ports import JournaledMessage, NoVerdicts
from oborona.message.hashing import Hasher
from oborona.reputation.personal import PersonalEntry
from oborona.types import Action

DOORS: Final = 400
KEY: Final = bytes(32)
TEXT: Final = (
    "the quick brown fox jumps over the lazy dog while nobody looks and the rest of the "
    "field sleeps"
)


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--seconds", type=float, default=60.0)
    asked.add_argument(
        "--rate", type=float, default=2000.0, help="events a second; 0: as many as it takes"
    )
    asked.add_argument(
        "--kill", type=int, default=0, help="times that the process is killed meanwhile"
    )
    asked.add_argument("--decide", type=int, default=0)
    asked.add_argument("--take", type=Path, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.take:
        asyncio.run(take(options.take, options.rate, options.seconds))
        return
    with tempfile.TemporaryDirectory(prefix="oborona-feedback-") as made:
        found: dict[str, float] = {}
        if options.seconds:
            found |= taken(
                Path(made) / state_files.EVENTS, options.rate, options.seconds, options.kill
            )
        if options.decide:
            found |= decided(Path(made) / "decide", options.decide)
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


def letter(number: int, campaign: bool = False) -> bytes:
    drawn = random.Random(0 if campaign else number)  # noqa: S311 - the same each time
    words = TEXT.split()
    text = " ".join(drawn.choice(words) + str(drawn.randrange(1000)) for _ in range(250))
    noise = drawn.randbytes(900).hex()
    return (
        f"From: Shop <shop@s{number % 50}.example>\r\nTo: you@b.example\r\nSubject: "
        f"news\r\nMessage-ID: <{number}@s.example>\r\n\r\n"
        f"{text}\r\nhttps://s.example/{noise}\r\n"
    ).encode()


# ---- taken


async def take(path: Path, rate: float, seconds: float) -> None:
    """Hand events in, and say of each that was acknowledged its id, name and how long it took."""
    raws = [letter(number) for number in range(64)]
    began, handed = time.monotonic(), 0

    async with EventWriter(path) as taking:

        async def door() -> None:
            nonlocal handed
            while time.monotonic() - began < seconds:
                handed += 1
                number = handed
                if rate and (pause := began + number / rate - time.monotonic()) > 0:
                    await asyncio.sleep(pause)
                name = f"{os.getpid()}.{number}"
                event = FeedbackEvent(
                    what=EventKind.COMPLAINT,
                    way=EventChannel.SIEVE,
                    time=time.time(),
                    person=f"p{number % 5000}@b.example",
                    ident=number,
                    message_id=name,
                    raw=raws[number % len(raws)],
                    source="dovecot",
                    key=name.encode(),
                )
                asked = time.monotonic()
                receipt = await taking.take(event)
                os.write(1, f"{receipt.id} {name} {time.monotonic() - asked:.6f}\n".encode())

        await asyncio.gather(*(door() for _ in range(DOORS)))
    os.write(1, f"cpu {time.process_time():.3f} 0\n".encode())


def taken(path: Path, rate: float, seconds: float, kills: int) -> dict[str, float]:
    acknowledged: dict[int, str] = {}
    took: list[float] = []
    cpu, began = 0.0, time.monotonic()
    for turn in range(kills + 1):
        left = seconds - (time.monotonic() - began)
        share = left / (kills + 1 - turn)
        process = subprocess.Popen(
            [
                sys.executable,
                __file__,
                "--take",
                str(path),
                "--rate",
                str(rate),
                "--seconds",
                str(left if turn == kills else left + 60),
            ],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        until = time.monotonic() + share
        for line in process.stdout:
            if not line.endswith(b"\n"):
                break
            ident, name, waited = line.split()
            if ident == b"cpu":
                cpu = float(name)
                continue
            acknowledged[int(ident)] = name.decode()
            took.append(float(waited))
            if turn < kills and time.monotonic() > until:
                process.kill()
                until = float("inf")
        process.wait()
    lasted = time.monotonic() - began
    with EventLog(path) as log:
        there = Counter(name for (name,) in log.rows("SELECT message_id FROM event"))
        idents = dict(log.rows("SELECT id, message_id FROM event"))
        (raw,) = log.rows("SELECT count(*) FROM raw")[0]
    took.sort()
    return {
        "seconds": lasted,
        "acknowledged": len(acknowledged),
        "a_second": len(acknowledged) / lasted,
        "p50_ms": 1000 * took[len(took) // 2],
        "p99_ms": 1000 * took[len(took) * 99 // 100],
        "max_ms": 1000 * took[-1],
        "written": len(idents),
        "lost": sum(idents.get(ident) != name for ident, name in acknowledged.items()),
        "twice": sum(number > 1 for number in there.values()),
        "without_raw": len(idents) - raw,
        "kB_an_event": path.stat().st_size / 1000 / max(1, len(idents)),
        "kills": kills,
        **({"cpu_ms_an_event": 1000 * cpu / len(acknowledged)} if not kills else {}),
    }


# ---- decided


class Remembered:
    """A journal in memory."""

    def __init__(self, known: dict[int, JournaledMessage]) -> None:
        self._known = known

    def get(self, idents: Sequence[int]) -> dict[int, JournaledMessage]:
        return {one: self._known[one] for one in idents}

    def find(self, message_id: str, person: str) -> int | None:
        return None


class NoLists:
    """Nobody has a list."""

    def asked_for(self, person: str, origin: LabelOrigin, before: float) -> bool:
        return False

    def say(
        self, person: str, word: int, entries: Sequence[PersonalEntry], *, replaced: int, now: float
    ) -> None:
        """Forget it."""

    def take_back(self, words: Sequence[int]) -> None:
        """Forget it."""


def decided(state: Path, number: int) -> dict[str, float]:
    state.mkdir()
    found: dict[str, float] = {}
    hasher, now = Hasher(KEY), time.time()
    for name, campaign, what in (
        ("own", False, EventKind.COMPLAINT),
        ("campaign", True, EventKind.COMPLAINT),
        ("reads", False, EventKind.READ),
    ):
        known, events = {}, []
        for one in range(number):
            raw = letter(one, campaign)
            word, _ = extract_label(
                raw, LabelKind.SPAM, LabelSource.COMPLAINT, hasher=hasher, key=KEY, now=now
            )
            person = f"p{one}@b.example"
            known[one] = JournaledMessage(
                id=one, time=now - 60, verdict=Action.ACCEPT, message_id=word.message_id, recipients=frozenset({person}), shingles=word.pieces,
            )  # fmt: skip
            events.append(
                FeedbackEvent(what=what, way=EventChannel.SIEVE, time=now, person=person, ident=one, raw=raw if what is EventKind.COMPLAINT else b"")
            )  # fmt: skip
        folder = state / name
        folder.mkdir()
        with (
            EventLog(folder / state_files.EVENTS) as door,
            EventLog(folder / state_files.EVENTS) as log,
            LabelStore(folder / state_files.FEEDBACK) as words,
        ):
            for first in range(0, number, 500):
                door.add(events[first : first + 500], now=now)
            believer = EventProcessor(
                log, words, journal=Remembered(known), lists=NoLists(), proposer=None,
                keys=SiteHashing(hasher=hasher, feedback=KEY, site="mx"), kept=EventRetention(raw_s=1e6, events_s=1e6), verdicts=NoVerdicts(), person_weight=1.0, people=0,
            )  # fmt: skip
            steps, cpu, wall = [], time.process_time(), time.monotonic()
            while True:
                began = time.monotonic()
                if not believer.step():
                    break
                steps.append(time.monotonic() - began)
            cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        found |= {
            f"{name}_cpu_ms": 1000 * cpu / number,
            f"{name}_a_second": number / wall,
            f"{name}_step_ms": 1000 * statistics.median(steps),
        }
    return found


if __name__ == "__main__":
    main()
