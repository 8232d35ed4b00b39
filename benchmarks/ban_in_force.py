"""How soon a ban is in force, and undone, in all workers behind a real Postfix.

    python benchmarks/ban_in_force.py [--rounds 30]

Sixteen connections, which four workers share, begin a message of one login over and over.  A round
bans the login and lets it in again, in the store as a command does it.  Told is the time from the
end of that transaction until the last connection heard the old answer for the last time: of half of
the rounds, of 95 of 100, and the longest.  JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import smtplib
import statistics
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona import state_files  # noqa: E402
from oborona.accounts.account import AccountBlock, AccountRecord, AccountState  # noqa: E402
from oborona.accounts.store.accounts import AccountStore  # noqa: E402
from tests.peers.dns import Zones  # noqa: E402
from tests.peers.postfix import Postfix  # noqa: E402
from tests.whole.gate import Gate  # noqa: E402
from tests.whole.queued import OUTGOING  # noqa: E402

WORKERS: Final = 4
CONNECTIONS: Final = 16
LOGIN: Final = "ann@example.test"
PAUSE_S: Final = 0.05  # of a connection between two questions
BETWEEN_S: Final = 1.3  # rounds fall at any time of the workers' own rounds
PATIENCE_S: Final = 30.0


class SenderProbe(threading.Thread):
    """A connection that asks over and over whether a login may send.

    Args:
        smtp: connected, as the login.
        stop: set when it is enough.
    """

    def __init__(self, smtp: smtplib.SMTP, stop: threading.Event) -> None:
        super().__init__()
        self._smtp = smtp
        self._enough = stop
        self.answers: dict[bool, float] = {}  # banned or not -> when that was heard last, monotonic

    def run(self) -> None:
        """Ask until it is enough."""
        while not self._enough.wait(PAUSE_S):
            self._smtp.mail(LOGIN)
            code, text = self._smtp.rcpt("bo@b.example")  # what was said to MAIL Postfix says here
            if code not in {250, 550}:
                raise SystemExit(f"RCPT TO: {code} {text!r}")
            self.answers[code == 550] = time.monotonic()
            self._smtp.rset()


def await_all(probes: list[SenderProbe], *, banned: bool, since: float) -> float:
    """Return after how many seconds the other answer was heard for the last time."""
    while time.monotonic() < since + PATIENCE_S:
        time.sleep(PAUSE_S)
        others = max(probe.answers.get(not banned, 0.0) for probe in probes)
        asked = min(probe.answers.get(banned, 0.0) for probe in probes)
        if asked > max(others, since):
            return max(0.0, others - since)
    heard = [probe.answers for probe in probes]
    raise SystemExit(f"it never came into force: {heard}")


def measure(rounds: int) -> dict[str, list[float]]:
    """Return seconds of bans and of their ends."""
    found: dict[str, list[float]] = {"banned": [], "undone": []}
    settings = {"worker.processes": WORKERS}
    main = OUTGOING | {
        "in_flow_delay": "0",  # a message that is begun counts as one that comes in
        "smtpd_error_sleep_time": "0",
        "smtpd_soft_error_limit": "1000000",
        "smtpd_hard_error_limit": "1000000",
        "smtpd_junk_command_limit": "1000000",
    }
    with (
        Zones() as zones,
        Gate(zones.setting, settings=settings) as gate,
        Postfix(f"unix:{gate.folder}/milter.sock", main=main) as postfix,
        AccountStore(gate.oborona.state / state_files.ACCOUNTS) as store,
        ExitStack() as connections,
    ):
        store.put([AccountRecord(id=LOGIN, name=LOGIN, logins=(LOGIN,))], by="", now=time.time())
        stop = threading.Event()
        probes = []
        for number in range(CONNECTIONS):
            told = {"ADDR": f"192.0.2.{number + 9}", "NAME": "[UNAVAILABLE]", "LOGIN": LOGIN}
            probes.append(SenderProbe(connections.enter_context(postfix.connect(told)), stop))
        for probe in probes:
            probe.start()
        await_all(probes, banned=False, since=time.monotonic())
        for number in range(rounds):
            time.sleep(BETWEEN_S * (number % 10) / 10)
            block = AccountBlock(account=LOGIN, state=AccountState.BANNED, until=0.0, why="stolen")
            store.block(block, now=time.time())
            found["banned"].append(await_all(probes, banned=True, since=time.monotonic()))
            store.unblock(LOGIN, by="", why="changed", now=time.time())
            found["undone"].append(await_all(probes, banned=False, since=time.monotonic()))
        stop.set()
        for probe in probes:
            probe.join()
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    found = {
        name: {
            "median_s": round(statistics.median(times), 3),
            "p95_s": round(statistics.quantiles(times, n=20)[-1], 3),
            "longest_s": round(max(times), 3),
        }
        for name, times in measure(parser.parse_args().rounds).items()
    }
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
