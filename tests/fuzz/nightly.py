"""Fuzz every target in turn for its share of a time, keep what reaches new code in the smallest
set, and fail with what broke something.

    make fuzz MINUTES=60          python tests/fuzz/nightly.py --minutes 60 [--work var/fuzz]
                                  [--only TARGET ...]

With atheris (`pip install --group fuzz`) coverage is the guide; without it inputs are mutated
blindly. Inputs gather in the work folder from night to night, each target's cut down to those that
take a branch nobody else takes; the small ones among them go into tests/fuzz/corpus, which the
tests replay. A target that fails does not stop the others: what broke it is made smaller while it
still breaks it in the same way, and the command that shows it again is printed at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # started as a script
from tests.fuzz.targets import TARGETS  # noqa: E402

WORK: Final = ROOT / "var/fuzz"
SHARE: Final = 0.8  # of a target's time for fuzzing; the rest is for keeping
LEAST_S: Final = 2


class Night(NamedTuple):
    """What became of one target."""

    target: str
    failed: bool
    said: str  # the last line


def one(target: str, seconds: int, work: Path) -> Night:
    """Fuzz a target in processes of its own."""
    command = [
        sys.executable,
        str(ROOT / "tests/fuzz/run.py"),
        target,
        "--seconds",
        str(seconds),
        "--work",
        str(work),
    ]
    print(f"== {target}, {seconds} s", flush=True)
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return Night(target, done.returncode != 0, done.stdout.strip().rpartition("\n")[2])


def main() -> None:
    """Run what the command line asks for; ends with 1 where a target failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="for all targets together")
    parser.add_argument(
        "--work", type=Path, default=WORK, help="where inputs gather from night to night"
    )
    parser.add_argument("--only", nargs="*", choices=list(TARGETS), default=list(TARGETS))
    asked = parser.parse_args()
    seconds = max(LEAST_S, int(asked.minutes * 60 * SHARE / len(asked.only)))
    began = time.monotonic()
    nights = [one(target, seconds, asked.work) for target in asked.only]
    failed = [night for night in nights if night.failed]
    print(
        f"\n{len(nights)} targets in {(time.monotonic() - began) / 60:.0f} minutes, "
        f"{len(failed)} failed"
    )
    for night in failed:
        print(night.said)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
