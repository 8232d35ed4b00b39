"""Damaged states: the real daemon started on what a killed one left, with one file of it changed.

`python -m tests.whole.damage 500` prints a table.

A state is made by a daemon that has judged mail, with a word, a signature, an override and a
person's entry, and is killed with all its processes, so that logs of SQLite and spools are as they
were. Of each number follow the file and the damage, so that a state that fails can be made again:
`--first`.

Invariant: the daemon comes up without a traceback, refuses GTUBE and accepts a good letter, stops
in order, and says what was lost. Only what belongs to the secret may refuse to start, with one line
and exit status 74.
"""

from __future__ import annotations

import argparse
import base64
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from oborona import state_files
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.whole.couriers import post

GTUBE: Final = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
GOOD: Final = b"Shall we meet on Thursday at ten, in the small room?"
LETTERS: Final = 60
PAGE: Final = 4096
SECRET: Final = (state_files.SECRET, state_files.SECRET_NOTE)
STORES: Final = (
    state_files.JOURNAL,
    state_files.SIGNATURES,
    state_files.PINS,
    state_files.FEEDBACK,
    state_files.EVENTS,
    state_files.PERSONS,
    state_files.COUNTERS_DATA,
)
COPIED: Final = "was copied here"  # what the writer says of every state of ours
# folders that a daemon makes anew
NOT_LOOKED_AT: Final = (state_files.STATUS, state_files.POLICY_IN_FORCE)


def _flip_bit(octets: bytearray, chance: random.Random) -> bytes:
    octets[chance.randrange(len(octets))] ^= 1 << chance.randrange(8)
    return bytes(octets)


def _flip_octets(octets: bytearray, chance: random.Random) -> bytes:
    place = chance.randrange(max(1, len(octets) - 64))
    octets[place : place + 64] = chance.randbytes(len(octets[place : place + 64]))
    return bytes(octets)


def _page(octets: bytearray, chance: random.Random) -> bytes:
    place = chance.randrange(0, len(octets), PAGE)
    octets[place : place + PAGE] = chance.randbytes(len(octets[place : place + PAGE]))
    return bytes(octets)


CHANGES: Final[dict[str, Callable[[bytearray, random.Random], bytes]]] = {
    "1 bit": _flip_bit,
    "64 octets": _flip_octets,
    "half": lambda octets, _: bytes(octets[: len(octets) // 2]),
    "empty": lambda _octets, _: b"",
    "page": _page,
    "head": lambda octets, chance: chance.randbytes(min(len(octets), 100)) + bytes(octets[100:]),
    "garbage behind": lambda octets, chance: bytes(octets) + chance.randbytes(5000),
}
DAMAGES: Final = (*CHANGES, "gone", "folder")


class Came(NamedTuple):
    """What became of one damaged state."""

    number: int
    file: str
    damage: str
    what: str  # served, refused, or what is wrong
    said: str  # the line that tells it; empty = nothing was said

    @property
    def fault(self) -> bool:
        """Whether the invariant does not hold."""
        return self.what not in {"served", "refused"}


def _asked(text: bytes, number: int) -> dict[str, object]:
    """Return what the HTTP listener is asked of a letter."""
    return {
        "client": {"ip": "192.0.2.7", "name": "mail.example.org", "port": 4711},
        "helo": "mail.example.org",
        "sender": "ann@example.org",
        "recipients": ["joe@example.test"],
        "raw": base64.b64encode(
            b"From: ann@example.org\r\nTo: joe@example.test\r\nMessage-ID: <%d@example.org>\r\n"
            b"Subject: Letter %d\r\n\r\n%s\r\n" % (number, number, text)
        ).decode(),
    }


@contextmanager
def left_by_a_kill() -> Iterator[Path]:
    """Give the state folder of a daemon that was killed while it worked."""
    with tempfile.TemporaryDirectory(prefix="oborona-damage-") as folder:
        kept = Path(folder) / "state"
        daemon = _daemon()
        with daemon:
            place = _place(daemon)
            daemon.run("personal", "deny", "joe@example.test", "bob@example.com")
            for number in range(LETTERS):
                post(place, "/v1/scan", _asked(GOOD + b" %d" % (number // 3), number))
            time.sleep(1.0)
            assert daemon.process is not None
            _kill(daemon.process.pid)
            daemon.process.wait()
            shutil.copytree(daemon.state, kept, ignore=_sockets)
        yield kept


def _kill(process: int) -> None:
    """Kill a process and all below it, those that could start others first stopped."""
    os.kill(process, signal.SIGSTOP)
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        _kill(int(child))
    os.kill(process, signal.SIGKILL)


def damaged(whole: Path, number: int) -> Came:
    """Start a daemon on a damaged copy of a state; return what became of it."""
    chance = random.Random(number)
    daemon = _daemon()
    try:
        shutil.copytree(whole, daemon.state, ignore=_sockets, dirs_exist_ok=True)
        file = chance.choice(targets(daemon.state))
        damage = chance.choice(DAMAGES)
        _spoil(daemon.state / file, damage, chance)
        what = _became(daemon, file)
        log = daemon.log()
        if "Traceback" in log:
            what = "traceback"
        said = _said(log)
        if (
            what == "served"
            and damage in {"empty", "gone", "folder"}
            and file in STORES
            and not said
        ):
            what = "silent"
        return Came(number, file, damage, what, said)
    finally:
        daemon.stop()


def targets(state: Path) -> list[str]:
    """Return the files that are damaged: stores, their logs, spools, records, the secret.

    Each store four times as often as a file beside.
    """
    found = [
        str(path.relative_to(state))
        for path in sorted(state.rglob("*"))
        if path.is_file()
        and path.stat().st_size
        and path.suffix != ".lock"
        and path.parts[len(state.parts)] not in NOT_LOOKED_AT
    ]
    return [file for file in found for _ in range(4 if Path(file).name in STORES else 1)]


def _spoil(path: Path, damage: str, chance: random.Random) -> None:
    if damage in CHANGES:
        path.write_bytes(CHANGES[damage](bytearray(path.read_bytes()), chance))
        return
    path.unlink()
    if damage == "folder":
        path.mkdir()


def _became(daemon: Oborona, file: str) -> str:
    try:
        daemon.start()
    except RuntimeError:
        assert daemon.process is not None
        status = daemon.process.poll()
        lines = [
            line for line in daemon.log().splitlines() if line.startswith(("oborona: ", "Error: "))
        ]
        refuses = status in {os.EX_IOERR, os.EX_CONFIG} and Path(file).name in SECRET
        return "refused" if refuses else f"did not start: {status} {lines[-1:]}"
    place = _place(daemon)
    for text, wanted in ((GTUBE, "reject"), (GOOD, "accept")):
        verdict = post(place, "/v1/scan", _asked(text, 1_000_000))["verdict"]
        if verdict != wanted:
            return f"{wanted} became {verdict}"
    assert daemon.process is not None
    daemon.process.terminate()
    try:
        status = daemon.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        return "does not stop"
    return "served" if status == 0 else f"stopped with {status}"


def _said(log: str) -> str:
    """Return the first line of a log that tells of trouble."""
    telling = (" ERROR ", " WARNING ", "level=error", "level=warning", "oborona: ", "Error: ")
    lines = [line for line in log.splitlines() if any(word in line for word in telling)]
    return next((line for line in lines if COPIED not in line and "oborona: ready" not in line), "")


def _daemon() -> Oborona:
    return Oborona(
        {
            "worker.processes": 1,
            "site.name": "mx.example.test",
            "doors.http.listen": f"inet:127.0.0.1:{free_port()}",
            "reader.enabled": "false",
        }
    )


def _place(daemon: Oborona) -> tuple[str, int]:
    host, _, port = str(daemon.setting("doors.http.listen")).removeprefix("inet:").rpartition(":")
    return host, int(port)


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]


def main() -> int:
    """Damage as many states as asked, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, help="how many states")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    asked = parser.parse_args()
    table: dict[str, Counter[str]] = {}
    faults = []
    with left_by_a_kill() as whole:
        for number in range(asked.first, asked.first + asked.number):
            came = damaged(whole, number)
            row = table.setdefault(came.file, Counter())
            row["fault" if came.fault else came.what] += 1
            row["said"] += bool(came.said)
            if came.fault:
                faults.append(came)
                print(
                    f"{came.number}: {came.file}, {came.damage}: {came.what}\n    {came.said}",
                    flush=True,
                )
    print(f"{'file':<42}{'served':>8}{'refused':>8}{'fault':>8}{'said':>8}")
    for file, row in sorted(table.items()):
        print(
            f"{file:<42}"
            + "".join(f"{row[name]:>8}" for name in ("served", "refused", "fault", "said"))
        )
    print(f"{asked.number} damaged states, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
