"""Fuzz one parser with coverage as the guide (atheris, libFuzzer), and keep the inputs that reach what none did before.

    pip install --group fuzz
    python tests/fuzz/run.py TARGET --seconds 60 [--work DIR]
    python tests/fuzz/run.py --list

An input that breaks what must hold is written to DIR/TARGET/crash-* with its traceback on the terminal, and the run ends with an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
MEASURED: Final = (
    "oborona.message",
    "oborona.policy",
    "oborona.recheck",
    "oborona.feedback",
    "oborona.milter.intake",
    "oborona.milter.letter",
    "oborona.milter.exim",
    "oborona.milter.spamd",
    "oborona.milter.engines",
    "oborona.milter.smtp",
    "oborona.milter.proxy",
    "oborona.milter.http",
    "oborona.milter.opensmtpd",
    "oborona.toml",
)  # whose branches guide, and tell which inputs are worth keeping
HANGS_S: Final = 60  # of the clock on the wall: for what never ends; `watched.py` measures CPU


def fuzz(target: str, seconds: int, folder: Path) -> None:
    """Fuzz until the time is up; does not return."""
    import atheris

    with atheris.instrument_imports(include=[*MEASURED, "oborona.domains"]):
        from tests.fuzz.targets import TARGETS
    from tests.fuzz.watched import Watched

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={TARGETS[target].longest}",
        f"-timeout={HANGS_S}",
        "-rss_limit_mb=0",  # `watched.py` says when it is too much
        f"-artifact_prefix={folder}/",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    if TARGETS[target].words:  # an empty dictionary is an error to libFuzzer
        coded = ("".join(f"\\x{octet:02x}" for octet in word) for word in TARGETS[target].words)
        (folder / "words").write_text("".join(f'"{word}"\n' for word in coded))
        options.append(f"-dict={folder / 'words'}")
    atheris.Setup([sys.argv[0], str(folder / "inputs"), *options], Watched(TARGETS[target]))
    atheris.Fuzz()


def start(folder: Path, target: str) -> None:
    """Write the inputs to begin with."""
    from tests.fuzz.keep import kept
    from tests.fuzz.seeds import seeds

    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    for number, octets in enumerate(seeds(target)):
        (inputs / f"seed-{number}").write_bytes(octets)
    for file in kept(target):
        (inputs / file.name).write_bytes(file.read_bytes())


def main() -> None:
    """Fuzz in a process of its own, which libFuzzer ends as it likes, then keep what it found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", nargs="?")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--work", type=Path, help="where inputs gather from run to run")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        fuzz(given.target, given.seconds, given.work)
    from tests.fuzz.keep import keep
    from tests.fuzz.targets import TARGETS

    if given.list:
        print(*TARGETS)
        return
    if given.target not in TARGETS:
        parser.error(f"no target {given.target}; there are {', '.join(TARGETS)}")
    folder = (given.work or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve() / given.target
    start(folder, given.target)
    command = [
        sys.executable,
        __file__,
        given.target,
        "--inside",
        "--seconds",
        str(given.seconds),
        "--work",
        str(folder),
    ]
    ended = subprocess.run(command, check=False).returncode
    if ended:
        sys.exit(f"{given.target}: see above, and {folder}/crash-*")
    found = [file.read_bytes() for file in (folder / "inputs").iterdir()]
    print(f"{given.target}: {keep(given.target, found)} of {len(found)} inputs kept")


if __name__ == "__main__":
    main()
