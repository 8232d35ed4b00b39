"""Fuzz one parser with coverage as the guide (atheris, libFuzzer), and keep the inputs that reach
what none did before.

    pip install --group fuzz
    python tests/fuzz/run.py TARGET --seconds 60 [--work DIR]
    python tests/fuzz/run.py TARGET --input FILE       one input again, as a failure names it
    python tests/fuzz/run.py --list

An input that breaks what must hold, never ends or costs too much is written to DIR/TARGET/broke-*
with its traceback on the terminal, made smaller while it breaks it in the same way, and the run
ends with an error. Without atheris inputs are mutated blindly (`mutations.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
MEASURED: Final = (
    "oborona.message",
    "oborona.policy",
    "oborona.recheck",
    "oborona.feedback",
    "oborona.daemon.intake",
    "oborona.doors.rfc5322",
    "oborona.doors.exim",
    "oborona.doors.spamd",
    "oborona.session.engines",
    "oborona.doors.smtp",
    "oborona.doors.proxy",
    "oborona.doors.http",
    "oborona.milter.opensmtpd",
    "oborona.milter.codec",
    "oborona.doors.policy_service",
    "oborona.resolver",
    "oborona.authentication",
    "oborona.counters",
    "oborona.toml",
)  # whose branches guide, and tell which inputs are worth keeping
KEEPING: Final = 0.25  # of the time for fuzzing: for choosing what to keep, after it
SHRINKING_S: Final = 30
LATE_S: Final = 120  # after its time a process that has not ended is stuck
SAMPLE: Final = 20  # one of so many blind inputs is looked at, whether it is worth keeping
TRYING: Final = "trying"  # the input at hand, where nobody else would remember it
BROKE: Final = "broke-"  # how files of inputs begin that did
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
        f"-artifact_prefix={folder}/{BROKE}",
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


def blindly(target: str, seconds: int, folder: Path) -> None:
    """Fuzz without a guide until the time is up.

    Raises:
        Exception: what an input broke; it lies in a file of its own.
    """
    from tests.fuzz.keep import name_of
    from tests.fuzz.mutations import mutated
    from tests.fuzz.targets import TARGETS
    from tests.fuzz.watched import Watched

    watched = Watched(TARGETS[target])
    known = [file.read_bytes() for file in sorted((folder / "inputs").iterdir())]
    random = Random(time.time_ns())
    until = time.monotonic() + seconds
    tried = 0
    for octets in mutated(known, TARGETS[target].words, TARGETS[target].longest, random):
        (folder / TRYING).write_bytes(octets)
        try:
            watched(octets)
        except Exception:
            (folder / f"{BROKE}{name_of(octets)}").write_bytes(octets)
            raise
        tried += 1
        if tried % SAMPLE == 0:
            (folder / "inputs" / name_of(octets)).write_bytes(octets)
        if time.monotonic() > until:
            break
    (folder / TRYING).unlink()
    print(f"{target}: {tried} inputs tried without coverage")


def again(target: str, file: Path) -> None:
    """Give a target one input.

    Raises:
        Exception: what it breaks.
    """
    from tests.fuzz.targets import TARGETS
    from tests.fuzz.watched import Watched

    Watched(TARGETS[target])(file.read_bytes())


def shrink(target: str, file: Path) -> None:
    """Make an input smaller while it breaks a target by the same kind of error at the same line.

    The file has the smallest at any time.
    """
    octets = file.read_bytes()
    wanted = broken_by(target, octets)
    until = time.monotonic() + SHRINKING_S
    size = max(1, len(octets) // 2)
    while wanted and size and time.monotonic() < until:
        at = 0
        while at < len(octets) and time.monotonic() < until:
            shorter = octets[:at] + octets[at + size :]
            if broken_by(target, shorter) == wanted:
                octets = shorter
                file.write_bytes(octets)
            else:
                at += size
        size //= 2


def broken_by(target: str, octets: bytes) -> str:
    """Return the kind and the place of the error that an input makes; empty for none."""
    from tests.fuzz.targets import TARGETS
    from tests.fuzz.watched import Watched

    try:
        Watched(TARGETS[target])(octets)
    except Exception as error:  # noqa: BLE001 - any is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} {last.filename}:{last.lineno}"
    return ""


def main() -> None:
    """Fuzz in a process of its own, which libFuzzer ends as it likes, then keep what it found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", nargs="?")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--work", type=Path, help="where inputs gather from run to run")
    parser.add_argument("--input", type=Path, help="a file: nothing but this input")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--shrink", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    guided = importlib.util.find_spec("atheris") is not None
    if given.inside:
        (fuzz if guided else blindly)(given.target, given.seconds, given.work)
        return
    from tests.fuzz.targets import TARGETS

    if given.list:
        print(*TARGETS)
        return
    if given.target not in TARGETS:
        parser.error(f"no target {given.target}; there are {', '.join(TARGETS)}")
    if given.input or given.shrink:
        (again if given.input else shrink)(given.target, given.input or given.shrink)
        return
    folder = (given.work or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve() / given.target
    start(folder, given.target)
    _run(given.target, given.seconds, folder)
    from tests.fuzz.keep import keep

    found = len(list((folder / "inputs").iterdir()))
    chosen = keep(given.target, folder / "inputs", given.seconds * KEEPING)
    print(f"{given.target}: {chosen} of {found} inputs kept")


def _run(target: str, seconds: int, folder: Path) -> None:
    """Fuzz in a process of its own.

    Ends the program where that failed, with what shows it again.
    """
    before = set(folder.glob(f"{BROKE}*"))
    command = [sys.executable, __file__, target]
    inside = [*command, "--inside", "--seconds", str(seconds), "--work", str(folder)]
    try:
        if subprocess.run(inside, check=False, timeout=seconds + LATE_S).returncode == 0:
            return
    except subprocess.TimeoutExpired:
        if (folder / TRYING).exists():
            (folder / TRYING).rename(folder / f"{BROKE}never-ends")
    broke = sorted(set(folder.glob(f"{BROKE}*")) - before) or sorted(before)
    if not broke:
        sys.exit(f"{target}: the fuzzer itself failed, see above")
    file = broke[0]
    try:
        subprocess.run([*command, "--shrink", str(file)], check=False, timeout=SHRINKING_S + LATE_S)
    except subprocess.TimeoutExpired:
        print(f"{target}: it takes too long to be made smaller")
    print(
        (
            f"{target}: {file.stat().st_size} octets break it: python tests/fuzz/run.py "
            f"{target} --input {file}"
        ),
        flush=True,
    )
    sys.exit(1)


if __name__ == "__main__":
    main()
