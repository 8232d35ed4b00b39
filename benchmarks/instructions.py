"""How many instructions of a processor it takes to read a message and to hash its pieces: a figure
that a busy machine does not change.

    python benchmarks/instructions.py [--messages 120] [--of FOLDER]

Real messages of the corpus with their envelopes, drawn by a seed, or all files under a folder. Each
state of the code is run twice under valgrind's cachegrind, without the messages that are measured
and with them; some others come first in both, as a worker lives long. What the figure does not
tell: memory that is far away costs more than it says.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.message import envelope_of  # noqa: E402
from oborona.message.hashing import Hasher  # noqa: E402
from oborona.message.parse import parse  # noqa: E402
from oborona.message.shingles import shingles  # noqa: E402
from tests.letters import Kind, Letter, as_it_arrived, corpus  # noqa: E402

WARM: Final = 100
_REFERENCES: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


def letters(number: int, folder: Path | None) -> list[Letter]:
    """Return so many messages."""
    if folder is None:
        return corpus(number, seed=1)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    step = max(1, len(files) // number)
    return [
        as_it_arrived(path.read_bytes(), Kind.SPAM, path.name) for path in files[::step][:number]
    ]


def work(number: int, folder: Path | None, *, whole: bool) -> None:
    """Read and hash the messages that come first, and those that are measured or none of them."""
    hasher = Hasher(b"k" * 32)
    measured = letters(number, folder)  # which costs instructions, too
    for letter in (*corpus(WARM, seed=2), *(measured if whole else ())):
        shingles(parse(letter.raw), envelope_of(letter), hasher)


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """Run this again, its instructions counted."""
    counted = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    return subprocess.Popen(
        [*counted, sys.executable, __file__, *arguments],
        env=os.environ | {"PYTHONHASHSEED": "0"},
        stderr=subprocess.PIPE,
        text=True,
    )


def instructions(run: subprocess.Popen[str]) -> int:
    """Return how many a run took."""
    said = run.communicate()[1]
    found = _REFERENCES.search(said)
    if run.returncode or found is None:
        sys.exit(said)
    return int(found[1].replace(",", ""))


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=120)
    parser.add_argument("--of", type=Path, help="a folder of messages, a file each")
    parser.add_argument("--run", choices=("without", "with"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        work(asked.messages, asked.of, whole=asked.run == "with")
        return
    of = [] if asked.of is None else ["--of", str(asked.of)]
    runs = [
        start(["--run", run, "--messages", str(asked.messages), *of]) for run in ("without", "with")
    ]
    without, with_them = map(instructions, runs)
    taken = with_them - without
    print(f"{taken / asked.messages / 1e6:.2f} million instructions a message")


if __name__ == "__main__":
    main()
