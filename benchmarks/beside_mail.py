"""What a scan takes while people look at pages: mail at half of what the daemon can take, with
nobody there and with them, in turns; and what it takes beside so much other work of any kind.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

from benchmarks.search_journal import SearchedMail
from benchmarks.servers import Server

MILTERLOAD: Final = Path(__file__).with_name("milterload.py")
MESSAGES: Final = 400
AT_ONCE: Final = 8
MOST: Final = 1_500  # messages by which is seen how many it takes


BURSTS: Final = """
import os, random, sys, time
each_s, a_second, seconds, niceness = map(float, sys.argv[1:])
os.nice(int(niceness))
drawn, ends = random.Random(4), time.monotonic() + seconds
while time.monotonic() < ends:
    time.sleep(drawn.expovariate(a_second))
    until = time.process_time() + drawn.expovariate(1 / each_s)
    while time.process_time() < until:
        pass
"""
NICENESS: Final = 10  # as the desk and the console have it


class MailBeside:
    """Mail for a daemon.

    Args:
        folder: for messages.
        server: takes them.
    """

    def __init__(self, folder: Path, server: Server) -> None:
        self._server = server
        self._list = folder / "list"
        self._list.write_text("".join(f"{path}\n" for path in messages(folder)))
        self.rate = self._load("--concurrency", AT_ONCE, "--count", MOST)["msgs_per_s"] / 2

    def begin(self, seconds: float) -> subprocess.Popen[str]:
        """Send mail for so long, and go on at once; `end` waits for it."""
        return self._started(
            "--rate", round(self.rate, 1), "--concurrency", 64, "--count", int(self.rate * seconds)
        )

    def end(self, load: subprocess.Popen[str]) -> dict[str, Any]:
        """Return how long scans took, in milliseconds."""
        told = self._told(load)
        return {
            "scan_ms": told["eob_ms"],
            "cores_busy_elsewhere": told["cores_busy_elsewhere"],
            "verdicts": told["verdicts"],
        }

    def _load(self, *words: object) -> dict[str, Any]:
        return self._told(self._started(*words))

    def _started(self, *words: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(MILTERLOAD), self._server.address, "--json"]
        command += ["--list", str(self._list), *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def _told(load: subprocess.Popen[str]) -> dict[str, Any]:
        told, _ = load.communicate()
        assert load.returncode == 0, told
        found: dict[str, Any] = json.loads(told)
        return found


def begin_bursts(each_s: float, a_second: float, seconds: float) -> subprocess.Popen[bytes]:
    """Have a process compute now and then, as niced as the desk, that reads nothing.

    Args:
        each_s: of CPU, on the average.
        a_second: how often.
        seconds: after which it ends.
    """
    words = map(str, (each_s, a_second, seconds, NICENESS))
    return subprocess.Popen([sys.executable, "-c", BURSTS, *words])


def messages(folder: Path) -> list[Path]:
    """Write messages of some kilobytes; return where."""
    mail, drawn = SearchedMail(3), random.Random(3)  # noqa: S311 - the same for each run
    paths = []
    for number in range(MESSAGES):
        domain = drawn.choice(mail.domains)
        message = EmailMessage()
        message["From"] = f"{drawn.choice(mail.words)} <ann{number % 50}@{domain}>"
        message["To"] = f"joe{number % 70}@own{number % 9}.example"
        message["Subject"] = " ".join(drawn.choices(mail.words, k=4))
        message["Message-ID"] = f"<{number}.{drawn.getrandbits(60):x}@{domain}>"
        message["Date"] = "Sat, 28 Nov 2026 12:00:00 +0000"
        lines = [" ".join(drawn.choices(mail.words, k=9)) for _ in range(drawn.randint(10, 120))]
        message.set_content("\n".join([*lines, f"https://{domain}/{number}"]))
        paths.append(folder / f"{number}.eml")
        paths[-1].write_bytes(message.as_bytes())
    return paths
