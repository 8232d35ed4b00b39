"""bogofilter, the real program, as a filter of the quality benchmark: its own defaults, and its
database in memory.

Scoring runs in its bulk mode between two teachings, so a process is not started for each message
where few are taught: same scores, less time.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.labelled import Labelled
from benchmarks.streams import Step

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
LINE: Final = 0.99  # spam_cutoff: from here on it says spam; below, that it is unsure, or ham
UNTAUGHT: Final = 0.52  # robx: what it says of words that it never saw


def version() -> str | None:
    """Return the version of the program; None where there is none."""
    if shutil.which("bogofilter") is None:
        return None
    told = subprocess.run(["bogofilter", "-V"], capture_output=True, text=True, check=True)
    return (told.stdout or told.stderr).split("\n")[0].removeprefix("bogofilter version ").strip()


class Bogofilter:
    """One that has learned nothing when a stream begins."""

    def __init__(self, mail: Sequence[Labelled]) -> None:
        self._mail = mail

    def scores(self, steps: Sequence[Step]) -> list[float]:
        """Return its spamicity for each step, 0..1, by all digits it prints."""
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as held:
            files = _written(self._mail, Path(held) / "mail")
            home = Path(held) / "words"
            home.mkdir()
            scores: list[float] = []
            waiting: list[int] = []
            taught = False
            for step in steps:
                waiting.append(step.message)
                if step.taught:
                    scores += _scored([files[number] for number in waiting], home, taught=taught)
                    waiting = []
                    for number, spam in step.taught:
                        _run(["-s" if spam else "-n", "-I", files[number]], home)
                        taught = True
            return scores + _scored([files[number] for number in waiting], home, taught=taught)


def _written(mail: Sequence[Labelled], where: Path) -> list[str]:
    where.mkdir()
    files = []
    for number, message in enumerate(mail):
        file = where / str(number)
        file.write_bytes(message.raw)
        files.append(str(file))
    return files


def _scored(files: list[str], home: Path, *, taught: bool) -> list[float]:
    if not taught:
        return [UNTAUGHT] * len(files)
    told = _run(["-b", "-TT"], home, "".join(f"{file}\n" for file in files)) if files else ""
    found = dict(line.rsplit(" ", 1) for line in told.splitlines())
    return [float(found[file]) for file in files]


def _run(options: list[str], home: Path, lines: str = "") -> str:
    done = subprocess.run(
        ["bogofilter", "-C", "-d", str(home), *options],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 2:  # 0 spam, 1 ham, 2 unsure
        raise RuntimeError(f"bogofilter {options[0]}: {done.stderr.strip()}")
    return done.stdout
