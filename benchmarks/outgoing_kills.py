"""Keeper and workers are killed while accounts go over a limit: which incidents and hooks are lost.

    python benchmarks/outgoing_kills.py [--kills 200] [--every 0.7] [--seed 1]

Accounts send through a real Postfix to two workers, one after the other, and are banned by the
inspector; another system hears of each ban by a hook, and answers every fourth time only after a
while, so that a keeper dies in the middle.  Every --every seconds the keeper or a worker, by
chance, gets SIGKILL.  Afterwards it is told:

    passed       accounts of which a message is journaled with a limit that it passed: what was
                 answered before a kill
    lost         of them without an incident
    twice        accounts with more than one
    hooks        bans that another system was to hear of; of these never heard, heard again, and
                 heard under two ids, or with two bodies under one
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona import state_files  # noqa: E402
from tests.peers.dns import Zones  # noqa: E402
from tests.whole.gate import LETTER, Gate  # noqa: E402
from tests.whole.kills import descendants  # noqa: E402

WORKERS: Final = 2
MESSAGES: Final = 8  # of an account, at most: a ban comes some seconds later
SLOW_S: Final = 0.5  # of an answer to every fourth hook
SETTLES_S: Final = 180.0  # what waits for another try of the keeper, a minute later
POLICY: Final = """
[[limit]]
name = "STOLEN"
each = "account"
count = "messages"
window = "hour"
limit = 2
then = "alert"
mode = "live"
[[account_test]]
name = "ALL"
when = "incidents.spam_month >= 0"
penalty = 90
say = "everybody"
"""


class Heard:
    """What another system was told, in the order of its coming."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, object]] = []
        self._lock = threading.Lock()

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Listen, and yield the URL."""
        heard = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with heard._lock:
                    heard.bodies.append(body)
                    number = len(heard.bodies)
                if number % 4 == 0:
                    time.sleep(SLOW_S)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/"
            finally:
                server.shutdown()


class Load:
    """Accounts that send some messages, or until they are refused, one after the other.

    Args:
        gate: the site.
        stop: ends it.
    """

    def __init__(self, gate: Gate, stop: threading.Event) -> None:
        self._gate = gate
        self._stop = stop
        self.accounts = 0
        self.taken = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            login = f"a{self.accounts}@example.test"
            self.accounts += 1
            told = self._gate.folder / "one.jsonl"
            told.write_text(json.dumps({"account": login, "since": time.time() - 9e6}) + "\n")
            self._gate.oborona.run("account", "import", str(told))
            for _ in range(MESSAGES):
                replies = self._gate.send(
                    "9.3.0.1", LETTER, sender=login, login=login, submission=True
                )
                if replies[-1].startswith("550"):
                    break
                self.taken += replies[-1].startswith("250")


def kill(gate: Gate, chance: random.Random) -> str:
    """Kill the keeper or a worker; return which, empty where there was none."""
    assert gate.oborona.process is not None
    found = {
        pid: name
        for pid, name in descendants(gate.oborona.process.pid).items()
        if name == "keeper" or name.startswith("worker")
    }
    keepers = [pid for pid, name in found.items() if name == "keeper"]
    if not found or (not keepers and chance.random() < 0.5):
        return ""
    workers = [pid for pid in found if pid not in keepers]
    pid = chance.choice(keepers if keepers and (not workers or chance.random() < 0.5) else workers)
    os.kill(pid, signal.SIGKILL)
    return found[pid].rstrip("0123456789 ")


def passed(state: Path) -> set[str]:
    """Return the accounts of which the journal has a message that passed a limit."""
    with closing(sqlite3.connect(f"file:{state / state_files.JOURNAL}?mode=ro", uri=True)) as db:
        return {
            login
            for (login,) in db.execute(
                "SELECT DISTINCT login FROM verdict JOIN evidence USING (id)"
                " WHERE findings LIKE '%limit-passed%'"
            )
        }


def told(state: Path, heard: list[dict[str, object]], journaled: set[str]) -> dict[str, object]:
    """Return the figures."""
    with closing(sqlite3.connect(f"file:{state / state_files.ACCOUNTS}?mode=ro", uri=True)) as db:
        incidents = Counter(row[0] for row in db.execute("SELECT account FROM incident"))
        wanted = dict(db.execute("SELECT id, target FROM action WHERE kind = 'hook'"))
        waits = db.execute("SELECT count(*) FROM action WHERE state = 'wanted'").fetchone()[0]
    times = Counter(body["id"] for body in heard)
    bodies: dict[object, set[str]] = {}
    ids: dict[object, set[object]] = {}
    for body in heard:
        bodies.setdefault(body["id"], set()).add(json.dumps(body, sort_keys=True))
        ids.setdefault(body["account"], set()).add(body["id"])
    return {
        "accounts that passed": len(journaled),
        "incidents lost": len(journaled - incidents.keys()),
        "accounts with two incidents": sum(number > 1 for number in incidents.values()),
        "incidents": sum(incidents.values()),
        "hooks": len(wanted),
        "hooks never heard": len(wanted.keys() - times.keys()),
        "hooks heard again": sum(number > 1 for number in times.values()),
        "accounts heard under two ids": sum(len(each) > 1 for each in ids.values()),
        "ids with two bodies": sum(len(each) > 1 for each in bodies.values()),
        "actions that wait": waits,
    }


def run(kills: int, every_s: float, seed: int) -> dict[str, object]:
    """Kill so many times; return the figures."""
    chance, heard, stop = random.Random(seed), Heard(), threading.Event()  # noqa: S311 - no secret
    killed: Counter[str] = Counter()
    with heard.listening() as url, Zones() as zones:
        settings = {
            "worker.processes": WORKERS,
            "inspector.mode": "live",
            "inspector.most_bans_an_hour": 10_000,
            "inspector.hook": url,
        }
        with Gate(zones.setting, POLICY, settings=settings) as gate:
            load = Load(gate, stop)
            while sum(killed.values()) < kills:
                time.sleep(every_s * chance.uniform(0.5, 1.5))
                what = kill(gate, chance)
                if what:
                    killed[what] += 1
            stop.set()
            load.join()
            until = time.monotonic() + SETTLES_S
            while time.monotonic() < until:
                time.sleep(5.0)
                found = told(gate.oborona.state, heard.bodies, passed(gate.oborona.state))
                if not any(
                    found[each]
                    for each in ("incidents lost", "hooks never heard", "actions that wait")
                ):
                    break
    return {
        "killed": dict(killed),
        "accounts": load.accounts,
        "messages taken": load.taken,
        **found,
    }


def main() -> None:
    """Kill, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--every", type=float, default=0.7, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    json.dump(run(asked.kills, asked.every, asked.seed), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
