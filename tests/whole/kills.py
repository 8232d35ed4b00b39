"""The whole daemon under load from a Postfix that retries, while its processes are killed at
random: what is acknowledged is there, once.

    python -m tests.whole.kills 1000            so many kills, three a second; prints what is there
                                                and what is not
    python -m tests.whole.kills 1000 --seed 7 --every 0.5

    load → Postfix, which queues → Postfix, which asks our milter → our delivery listener → a next
    hop that notes what it was given
                                                        and people complain of what they got, by
                                                        POST /feedback

Killed by SIGKILL are all processes by their names in turn of chance: workers, writer, keeper,
reader and its children, intake, trainer, exporter, policy publisher, and the supervisor, after
which the service is started again as a service manager would.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import smtplib
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, Self

from oborona import state_files
from oborona.config import Settings
from oborona.reputation.personal import EntryAction, PersonalEntryKind, PersonalEntrySource, entry
from oborona.stores.counters import store_stats
from oborona.stores.persons.store import PersonStore
from tests.peers.dns import Zones
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.postfix import MASTER_CF, Postfix
from tests.whole.introduced import Introduced
from tests.whole.killed import Found, Letter, Said, decided, looked
from tests.whole.next_hop import NextHop

CLIENT: Final = "192.0.2.7"
TOKEN: Final = "kills-kills-kills-kills"
SENDERS: Final = 2  # at once
PAUSE_S: Final = 0.1  # of a sender between two messages
SPEAK_S: Final = 0.15  # between two complaints
SUPERVISOR: Final = 40  # each so many kills it is the supervisor's turn
DRAIN_S: Final = 120.0  # for mail that waits, at the end
GONE_S: Final = 20.0  # for children whose parent was killed
ALLOWED: Final = "tim@example.test"  # who wants all mail from the sender
POLICY: Final = """
[repip]
bad = "none"  # it is one client that sends all of it

[karma]
mode = "shadow"

[[rule]]
name = "MARKED"
when = "'marked' in subject"
score = 110

[[rule]]
name = "REFUSED"
when = "'refused' in subject"
score = 600
"""
LETTER: Final = (
    "From: Ann <ann@a.example>\r\nTo: {recipient}\r\nSubject: {subject} {words}\r\nMessage-ID: "
    "<{number}@kills.example>\r\n"
    "Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{words}\r\n"
)
_OURS: Final = "oborona: "
_FRONT: Final = (
    "127.0.0.1:{{port}} inet n - n - - smtpd -o smtpd_milters= -o "
    "content_filter=smtp:[127.0.0.1]:{relay}\n"
)
_BEHIND: Final = (
    "127.0.0.1:{behind} inet n - n - - smtpd -o smtpd_upstream_proxy_protocol=haproxy\n"
)


class Site:
    """Postfix, the daemon and what stands behind it; use it as a context.

    Args:
        seed: of chance.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.letters: list[Letter] = []
        self.said: list[Said] = []
        self._turn = 0
        self._stack = ExitStack()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.hop = stack.enter_context(NextHop())
            self._http, behind = free_port(), free_port()
            relay = stack.enter_context(Introduced(behind, CLIENT))
            zones = stack.enter_context(Zones())
            zones.add({"a.example": {"TXT": f"v=spf1 ip4:{CLIENT} -all"}})
            folder = Path(tempfile.mkdtemp(prefix="oborona-kills-", dir="/tmp"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.chmod(0o755)
            for name in ("policy.d", "tables"):
                (folder / name).mkdir()
            (folder / "policy.d" / "10-kills.toml").write_text(POLICY)
            (folder / "tokens").touch(0o600)
            (folder / "tokens").write_text(f"{TOKEN}\n")
            door = f"unix:{folder}/lmtp.sock"
            self.oborona = Oborona(
                {
                    "site.name": "mx.example.test",
                    "dns.servers": zones.setting,
                    "paths.policy": folder / "policy.d",
                    "worker.processes": 2,
                    "worker.drain_s": 2,
                    "headers.reason": "full",
                    "log.format": "json",
                    "counters.doorkeeper_mib": 0,  # counts are exact without it
                    "doors.delivery.listen": door,
                    "doors.delivery.socket_mode": "0666",
                    "doors.delivery.next_hop": self.hop.address,
                    # a machine that starts everything again is slow
                    "doors.delivery.journal_wait_s": 30,
                    "intake.http_listen": f"inet:{self._http}@127.0.0.1",
                    "intake.http_token_file": folder / "tokens",
                    "export.folder": folder / "tables",
                }
            )
            self.oborona.state.mkdir(exist_ok=True)
            with PersonStore(self.oborona.state / state_files.PERSONS) as store:
                now = time.time()
                said = entry(
                    EntryAction.ALLOW,
                    PersonalEntryKind.ADDRESS,
                    "ann@a.example",
                    time=now,
                    source=PersonalEntrySource.COMMAND,
                )
                store.put(ALLOWED, [said], now=now)
            stack.enter_context(self.oborona)
            self.postfix = stack.enter_context(
                Postfix(
                    self.oborona.milter,
                    virtual_transport=f"lmtp:{door}",
                    main={
                        "minimal_backoff_time": "1s",
                        "maximal_backoff_time": "2s",
                        "queue_run_delay": "1s",
                        "default_destination_concurrency_failed_cohort_limit": "0",
                        "milter_connect_timeout": "5s",
                    },
                    master=_FRONT.format(relay=relay.port)
                    + _BEHIND.format(behind=behind)
                    + MASTER_CF.partition("\n")[2],
                )
            )
            for number in range(SENDERS):
                self._begin(partial(self._send, number))
            self._begin(self._complain)
            stack.callback(self._halt)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def end(self) -> Found:
        """Let all mail come to its end, stop the daemon, and look at what is there."""
        self._halt()
        _wait(lambda: not self.postfix.queued(), "Postfix's queue does not empty")
        _wait(lambda: decided(self.oborona.state), "complaints are not decided")
        _wait(self._counted, "what waits in the spools is not counted")
        self.oborona.halt()
        return looked(
            self.oborona.state,
            self.postfix.log(),
            self.hop.copies,
            self.letters,
            self.said,
            ALLOWED,
        )

    def _counted(self) -> bool:
        """Tell whether the store has all counts: a writer that was killed last may not have begun
        again.
        """
        found = store_stats(Settings(), self.oborona.state, time.time())
        return found.waiting_bytes == 0

    def _begin(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _halt(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self, sender: int) -> None:
        """Hand letters to the first Postfix, each from a sender of its own."""
        chance, number = random.Random(sender), sender
        while not self._stop.wait(PAUSE_S):
            kind = chance.choice(["plain"] * 6 + ["marked"] * 3 + ["refused"])
            recipient = ALLOWED if kind == "marked" else "joe@example.test"
            words = " ".join(f"{chance.getrandbits(40):x}" for _ in range(30))
            raw = LETTER.format(recipient=recipient, subject=kind, words=words, number=number)
            with smtplib.SMTP("127.0.0.1", self.postfix.port, timeout=60) as smtp:
                smtp.sendmail(f"u{number}@a.example", [recipient], raw.encode())
            self.letters.append(Letter(number, recipient, kind))
            number += SENDERS

    def _complain(self) -> None:
        """Complain of what the next hop was just given, until it is written down."""
        spoken = 0
        while not self._stop.wait(SPEAK_S):
            copy = next(
                (one for one in reversed(self.hop.copies) if one.recipient != ALLOWED), None
            )
            if copy is None or (self.said and self.said[-1].ident == copy.ident):
                continue
            spoken += 1
            body = json.dumps({"what": "complaint", "person": copy.recipient, "id": copy.ident})
            while not (answered := self._post(body, str(spoken))) and not self._stop.wait(0.2):
                pass
            if answered:
                self.said.append(Said(spoken, copy.ident))

    def _post(self, body: str, once: str) -> bool:
        """Tell the intake; return whether it has written it down."""
        client = http.client.HTTPConnection("127.0.0.1", self._http, timeout=10)
        with suppress(OSError, http.client.HTTPException), closing(client):
            words = {
                "Content-Type": "application/json",
                "Authorization": f"Bearer {TOKEN}",
                "Idempotency-Key": once,
            }
            client.request("POST", "/feedback", body, words)
            return client.getresponse().status in {200, 201}
        return False

    def kill(self) -> str:
        """Kill one process by chance; return what it was."""
        process = self.oborona.process
        assert process is not None
        family = descendants(process.pid)
        self._turn += 1
        if self._turn % SUPERVISOR == 0:
            process.kill()
            process.wait()
            _wait(
                lambda: not any(Path(f"/proc/{pid}").exists() for pid in family),
                "children live on",
                GONE_S,
            )
            self.oborona.start()
            return "supervisor"
        by_name: dict[str, list[int]] = {}
        for pid, name in family.items():
            by_name.setdefault(name, []).append(pid)
        if not by_name:
            return ""
        name = self.chance.choice(sorted(by_name))
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(by_name[name]), signal.SIGKILL)
            return name
        return ""


def descendants(parent: int) -> dict[int, str]:
    """Return the living descendants of a process, with what `ps` calls them."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            words = status.read_text().rpartition(") ")[2].split()
            if words[0] != "Z":
                parents[int(status.parent.name)] = int(words[1])
    found: dict[int, str] = {}
    fresh = {parent}
    while fresh:
        fresh = {pid for pid, one in parents.items() if one in fresh}
        for pid in fresh:
            with suppress(OSError):
                title = (
                    Path(f"/proc/{pid}/cmdline")
                    .read_bytes()
                    .split(b"\0")[0]
                    .decode("utf-8", "replace")
                )
                found[pid] = (
                    title.removeprefix(_OURS)
                    if title.startswith(_OURS)
                    else "one that decodes pictures"
                )
    return found


def _wait(what: Callable[[], bool], why: str, within_s: float = DRAIN_S) -> None:
    until = time.monotonic() + within_s
    while not what():
        if time.monotonic() > until:
            raise TimeoutError(why)
        time.sleep(0.05)


def run(kills: int, *, seed: int, every_s: float) -> tuple[Found, Counter[str]]:
    """Kill so many processes under load; return what is there at the end, and who was killed.

    Args:
        kills: how many.
        seed: of chance.
        every_s: seconds between two, about.
    """
    killed = Counter[str]()
    with Site(seed) as site:
        _wait(lambda: len(site.hop.copies) > SENDERS, "no mail arrives")
        while killed.total() < kills:
            time.sleep(site.chance.uniform(0, 2 * every_s))
            name = site.kill()
            if name:
                killed[name] += 1
        return site.end(), killed


def main() -> int:
    """Kill, look and print; the exit status is 1 where anything is missing or there twice."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kills", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=float, default=0.3, help="seconds between two, about")
    asked = parser.parse_args()
    began = time.monotonic()
    found, killed = run(asked.kills, seed=asked.seed, every_s=asked.every)
    print(f"{asked.kills} kills in {time.monotonic() - began:.0f} s: {dict(killed.most_common())}")
    print(found.told())
    return 0 if found.sound else 1


if __name__ == "__main__":
    sys.exit(main())
