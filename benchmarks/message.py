"""What taking a message apart costs, step by step: the table of docs/measured/performance.md.

    python benchmarks/message.py [--all] [--json]

Real messages of the corpus with their envelopes, drawn by a seed, in one process; its processor
time, so that what else runs on the machine counts less: it takes part of the caches. Totals are of
plain calls. Then the same messages are taken apart again with a clock around the functions that are
a step: each has the time between call and return, less that of the steps inside it; what the clock
adds is a row of its own (the second time around hosts and links are known already, which hides part
of it).

The bars: parse and shingles together, attachments left out, under 1 ms in the mean; and under 10 ms
for 99 messages of 100.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.message import (  # noqa: E402
    alternatives,
    attachments,
    charsets,
    dates,
    defanged_links,
    distinct_links,
    entities,
    headers,
    hypertext,
    links,
    mailboxes,
    mime,
    mixed_scripts,
    parse,
    path_templates,
    shingles,
    templates,
    transfer_encoding,
    unique_pairs,
    visibility,
)
from oborona.message.fingerprint import Fingerprinter  # noqa: E402
from oborona.message.hashing import Hasher  # noqa: E402
from oborona.message.recording_hasher import RecordingHasher  # noqa: E402
from oborona.types import Client, Envelope  # noqa: E402
from tests.letters import Letter, corpus  # noqa: E402

MESSAGES: Final = 2000
SPAM_SHARE: Final = 0.4
ALL: Final = (6046, 1896 / 6046)  # messages of the corpus, and how many of them are spam
# messages that are measured in each way in turn: what slows the machine for a while slows all of
# them
BLOCK: Final = 100
WARM: Final = 200  # messages before the clock runs: a worker lives long
BAR_MEAN_MS: Final = 1.0
BAR_P99_MS: Final = 10.0

STEPS: Final[tuple[tuple[str, ModuleType | type, str], ...]] = (
    ("MIME split", mime, "split"),
    ("header fields", headers, "split"),
    ("header fields", mailboxes, "parse"),
    ("header fields", dates, "read"),
    ("transfer decoding", transfer_encoding, "decode"),
    ("transfer decoding", transfer_encoding, "uuencoded"),
    ("charset", charsets, "decode"),
    ("HTML", hypertext, "read"),
    ("HTML: what is hidden", visibility, "mark"),
    ("HTML: skeleton", hypertext, "skeleton"),
    ("alternatives compared", alternatives, "displayed_version"),
    ("attachments", attachments, "attachment"),
    ("lettering", mixed_scripts, "judge"),
    ("lettering", mixed_scripts, "visual_order"),
    ("language", parse, "language"),
    ("normalise", parse, "normalise"),
    ("normalise", entities, "normalise"),
    ("normalise", shingles, "normalise"),
    ("links", distinct_links, "links"),
    ("links", distinct_links, "addresses"),
    ("links", links, "in_text"),
    ("links", defanged_links, "read"),
    ("entities", parse, "read_entities"),
    ("own words", parse, "_own_text"),
    ("templates", templates, "words"),
    ("templates of links", path_templates, "template"),
    ("fingerprint", Fingerprinter, "likeness"),
    ("unique pairs", unique_pairs, "pairs"),
)
ELSE: Final = "all else"  # tree, dates, shingles of a piece each
HASHING: Final = "(hashing, in the last two rows)"
ATTACHMENTS: Final = "attachments"


class Clock:
    """Processor time of one message by step, each less the steps inside it."""

    def __init__(self) -> None:
        self.spent: dict[str, int] = defaultdict(int)  # nanoseconds
        self._inside = 0  # of the steps within the one that runs

    def timed(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that books its time under a step."""
        now, spent = time.process_time_ns, self.spent

        def call(*args: Any, **options: Any) -> Any:
            before, self._inside = self._inside, 0
            begun = now()
            try:
                return function(*args, **options)
            finally:
                took = now() - begun
                spent[step] += took - self._inside
                self._inside = before + took

        return call


def plain(letters: Sequence[Letter], hasher: Hasher) -> tuple[list[float], list[float]]:
    """Return milliseconds of parse and of shingles, of each message."""
    parsing, hashing = [], []
    for letter in letters:
        envelope = envelope_of(letter)
        begun = time.process_time_ns()
        message = parse.parse(letter.raw)
        parsed = time.process_time_ns()
        shingles.shingles(message, envelope, hasher)
        done = time.process_time_ns()
        parsing.append((parsed - begun) / 1e6)
        hashing.append((done - parsed) / 1e6)
    return parsing, hashing


def by_step(letters: Sequence[Letter], hasher: Hasher) -> dict[str, list[float]]:
    """Return milliseconds of each message by step."""
    clock = Clock()
    rows: dict[str, list[float]] = {step: [] for step in [*(step for step, _, _ in STEPS), ELSE]}
    with ExitStack() as stack:
        for step, where, name in STEPS:
            stack.enter_context(patch.object(where, name, clock.timed(step, getattr(where, name))))
        whole = clock.timed(
            ELSE, lambda raw, envelope: shingles.shingles(parse.parse(raw), envelope, hasher)
        )
        for letter in letters:
            envelope = envelope_of(letter)
            clock.spent.clear()
            whole(letter.raw, envelope)
            for step, taken in rows.items():
                taken.append(clock.spent[step] / 1e6)
    return rows


def hashing_alone(letters: Sequence[Letter], hasher: Hasher) -> list[float]:
    """Return milliseconds of hashing the pieces of each message once more."""
    recorder = RecordingHasher(b"k" * 32)
    taken = []
    for letter in letters:
        recorder.sources.clear()
        shingles.shingles(parse.parse(letter.raw), envelope_of(letter), recorder)
        pieces = [(found.type, octets) for found, octets in recorder.sources.items()]
        begun = time.process_time_ns()
        for kind, octets in pieces:
            hasher.octets(kind, octets)
        taken.append((time.process_time_ns() - begun) / 1e6)
    return taken


def envelope_of(letter: Letter) -> Envelope:
    """Return what the mail server would tell of a letter."""
    return Envelope(
        client=Client(ip=letter.client_ip),
        helo=letter.helo,
        sender=letter.sender,
        recipients=(letter.recipient,),
    )


def row(step: str, taken: Sequence[float]) -> dict[str, Any]:
    """Return mean, median, 99th of 100 and maximum of some milliseconds."""
    p50, p99 = np.percentile(taken, (50, 99))
    return {
        "step": step,
        "mean_ms": round(float(np.mean(taken)), 4),
        "p50_ms": round(float(p50), 4),
        "p99_ms": round(float(p99), 3),
        "max_ms": round(float(np.max(taken)), 2),
    }


def measured(letters: Sequence[Letter]) -> list[dict[str, Any]]:
    """Return the table."""
    hasher = Hasher(b"k" * 32)
    plain(letters[:WARM], hasher)
    parsing, hashing, alone = list[float](), list[float](), list[float]()
    steps: dict[str, list[float]] = defaultdict(list)
    for place in range(0, len(letters), BLOCK):
        block = letters[place : place + BLOCK]
        of_parsing, of_hashing = plain(block, hasher)
        parsing += of_parsing
        hashing += of_hashing
        for step, of_step in by_step(block, hasher).items():
            steps[step] += of_step
        alone += hashing_alone(block, hasher)
    both = [one + other for one, other in zip(parsing, hashing, strict=True)]
    clocked = [sum(each) for each in zip(*steps.values(), strict=True)]
    without = [one - other for one, other in zip(both, steps[ATTACHMENTS], strict=True)]
    return [
        *(row(step, taken) for step, taken in steps.items()),
        row(HASHING, alone),
        row(
            "(what the clock adds)", [one - other for one, other in zip(clocked, both, strict=True)]
        ),
        row("parse", parsing),
        row("shingles", hashing),
        row("parse and shingles", both),
        row("parse and shingles without attachments", without),
    ]


def main() -> None:
    """Run what the command line asks for, print the table or, with --json, one object a row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="the whole corpus")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    number, spam_share = ALL if asked.all else (MESSAGES, SPAM_SHARE)
    letters = corpus(number, seed=1, spam_share=spam_share)
    rows = measured(letters)
    if asked.json:
        for one in rows:
            print(json.dumps(one))
        return
    table = Table(title=f"processor time of one of {len(letters)} messages, milliseconds")
    for name in rows[0]:
        table.add_column(name.removesuffix("_ms"), justify="left" if name == "step" else "right")
    for one in rows:
        table.add_row(
            *map(str, one.values()), end_section=one["step"] in (ELSE, "(what the clock adds)")
        )
    console = Console()
    console.print(table)
    last = rows[-1]
    for name, bar in (("mean_ms", BAR_MEAN_MS), ("p99_ms", BAR_P99_MS)):
        said = "held" if last[name] < bar else "missed"
        console.print(f"{last['step']}: {name.partition('_')[0]} under {bar:g} ms: {said}")


if __name__ == "__main__":
    main()
