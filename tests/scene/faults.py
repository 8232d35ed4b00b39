"""Faults befall the scene under load, one after the other; after each all is as if there were none.

    python -m tests.scene.faults NUMBER [--seed SEED] [--long]

What holds after each fault, once it is healed:

    mail    none was refused; each message was taken within `DEADLINE_S`, by one host or another
    events  what was acknowledged is on all hosts, decided; none is there twice, no two have a label
    counts  each message that was taken at the first try is counted once, each other one at most as
            often as it was tried, wherever it came in

A host that is cut off reaches neither PostgreSQL, and Redis as before; `--long` cuts it off for a
minute.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from oborona.errors import StorePartial
from oborona.feedback.events.model import EventChannel
from oborona.message.shingles import Hasher, ShingleType
from oborona.types import Metric, Window
from tests.peers.redis import wait_for
from tests.scene.scene_host import SceneHost
from tests.scene.scene_load import SceneLoad, SentMail
from tests.scene.scene_site import SceneSite
from tests.waiting import wait_so

USERS: Final = [f"reader{number}" for number in range(40)]
DEADLINE_S: Final = 30.0  # of a message, other hosts included: half of what Postfix waits for
HEALED_S: Final = 90.0  # bounds a hang
POSTFIX_SHARE: Final = 0.2  # of the processes that are killed or stand still
LOADED_S: Final = 2.0
FULL_S: Final = 5.0
CUT_S: Final = (4.0, 12.0)
LONG_CUT_S: Final = (60.0, 65.0)


class SceneFaults:
    """What befalls a scene.

    Args:
        site: the scene, which runs.
        seed: of what happens when.
        cut_s: how long a host is cut off, at least and at most.
    """

    def __init__(self, site: SceneSite, seed: int, cut_s: tuple[float, float] = CUT_S) -> None:
        self._site, self._cut_s = site, cut_s
        self._chance = random.Random(seed)
        self._load = SceneLoad(site, USERS, seed)
        self._kinds: dict[str, Callable[[SceneHost], str]] = {
            "kill": self._kill,
            "stop": self._stand_still,
            "postgresql": self._fail_over,
            "redis": self._lose_redis,
            "cut": self._cut_off,
            "full": self._fill,
        }
        self._hasher = Hasher(secret.load(site.hosts[0].oborona.state).shingles)

    def run(self, number: int) -> None:
        """Let so many faults befall it, each kind as often as the others, and look after each.

        Raises:
            AssertionError: something is lost, there twice, refused or late.
        """
        kinds: list[str] = []
        while len(kinds) < number:
            kinds += self._chance.sample(list(self._kinds), len(self._kinds))
        with self._load:
            time.sleep(3.0)
            for place, kind in enumerate(kinds[:number], start=1):
                at = time.monotonic()
                what = self._kinds[kind](self._chance.choice(self._site.hosts))
                healed = time.monotonic()
                time.sleep(LOADED_S)  # so that what is looked at came after it, too
                self.check()
                print(
                    f"{place} {kind}: {what}: {healed - at:.1f} s, whole after "
                    f"{time.monotonic() - healed:.1f} s more; {self.told()}",
                    flush=True,
                )
        self.check()

    def told(self) -> str:
        """Return the figures of the load."""
        sent = self._load.sent
        path = self._site.hosts[0].oborona.state / state_files.FEEDBACK
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            (labels,) = db.execute("SELECT count(*) FROM word").fetchone()
        return (
            f"{len(sent)} messages, {sum(one.tries > 1 for one in sent)} put off, slowest "
            f"{max(one.took_s for one in sent):.1f} s, {len(self._load.acknowledged)} events, "
            f"{labels} labels"
        )

    # --- what befalls it ---

    def _kill(self, host: SceneHost) -> str:
        pid, name = self._process(host)
        os.kill(pid, signal.SIGKILL)
        if name == "serve":
            assert host.oborona.process is not None
            host.oborona.process.wait(timeout=30)
            host.oborona.start()
        return f"{name} of {host.name} is killed"

    def _stand_still(self, host: SceneHost) -> str:
        pid, name = self._process(host)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self._chance.uniform(2.0, 9.0))
        with suppress(ProcessLookupError):  # it was taken for hanging
            os.kill(pid, signal.SIGCONT)
        return f"{name} of {host.name} stands still"

    def _process(self, host: SceneHost) -> tuple[int, str]:
        """Return a process of the daemon, or now and then one of its Postfix."""
        daemon, postfix = sorted(host.processes().items()), sorted(host.postfix.children().items())
        return self._chance.choice(
            postfix if postfix and self._chance.random() < POSTFIX_SHARE else daemon
        )

    def _fail_over(self, _host: SceneHost) -> str:
        self._site.pair.fail_over()
        time.sleep(self._chance.uniform(0.5, 3.0))
        self._site.pair.rejoin()
        return "the standby takes over"

    def _lose_redis(self, _host: SceneHost) -> str:
        cluster = self._site.redis
        node = self._chance.choice(cluster.primaries())
        shards = len(cluster.primaries())
        node.kill()
        # who is back before that, with nothing, takes the counts with him (docs/operate/cluster.md)
        wait_for(lambda: len(cluster.primaries()) == shards, "a replica to take over")
        time.sleep(self._chance.uniform(0.5, 3.0))
        node.start()
        cluster.wait_until_whole()
        return "a primary of Redis is gone"

    def _cut_off(self, host: SceneHost) -> str:
        host.cut(True)
        time.sleep(self._chance.uniform(*self._cut_s))
        host.cut(False)
        return f"{host.name} is cut off"

    def _fill(self, host: SceneHost) -> str:
        filler = host.oborona.state / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        time.sleep(FULL_S)
        filler.unlink()
        return f"the disk of {host.name} is full"

    # --- what must hold ---

    def check(self) -> None:
        """Wait until all hosts have what was acknowledged, and look whether it is that.

        Raises:
            AssertionError: it is not.
        """
        load = self._load
        assert not load.refused, load.refused
        sent, events = list(load.sent), set(load.acknowledged)
        late = [one for one in sent if one.took_s > DEADLINE_S]
        assert not late, late
        assert load.longest_s() < DEADLINE_S
        for host in self._site.hosts:
            wait_so(
                f"{host.name} has all events, decided",
                lambda host=host: events <= self._decided(host),  # type: ignore[misc]
                HEALED_S,
            )
        wait_so("all messages are counted", lambda: not self._miscounted(sent, low=True), HEALED_S)
        wrong = self._miscounted(sent, low=False)
        assert not wrong, wrong

    def _decided(self, host: SceneHost) -> set[int]:
        """Return the messages that a host knows a decided event of, by the door of the load."""
        path = host.oborona.state / state_files.EVENTS
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
                rows = db.execute(
                    "SELECT ident, done, word FROM event WHERE way = ?", (EventChannel.HTTP,)
                ).fetchall()
        except sqlite3.OperationalError:  # it is just being replaced
            return set()
        twice = [ident for ident, times in Counter(row[0] for row in rows).items() if times > 1]
        assert not twice, f"{host.name} has events twice: {twice}"
        words = Counter(word for _, done, word in rows if done and word)
        assert all(times == 1 for times in words.values()), f"{host.name}: two have one label"
        return {int(ident) for ident, done, _ in rows if done}

    def _miscounted(self, sent: list[SentMail], *, low: bool) -> list[str]:
        """Return what is counted too seldom, or else what is counted too often."""
        counts = asyncio.run(self._counts([one.sender for one in sent]))
        return [
            f"{one.sender} is counted {count} times, tried {one.tries} times"
            for one, count in zip(sent, counts, strict=True)
            if (count < 1 if low else count > one.tries)
        ]

    async def _counts(self, senders: list[str]) -> list[int]:
        shingles = [self._hasher.shingle(ShingleType.FROM, sender) for sender in senders]
        access = ClusterAccess(
            nodes=tuple(NodeAddress(*node.address) for node in self._site.redis.nodes),
            connect_s=20.0,
        )
        with tempfile.TemporaryDirectory(prefix="oborona-counts-") as folder:
            counters = ClusterCounters(Path(folder), "other", access, deadline_s=30.0, stale_s=0.0)
            try:
                rows = await counters.read(shingles, time.time())
            except StorePartial:
                return [0] * len(senders)
            finally:
                counters.close()
        return [row[Window.DAY][Metric.SEEN] for row in rows]


def main() -> None:
    """Run faults on a scene of their own."""
    words = argparse.ArgumentParser()
    words.add_argument("number", type=int)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--long", action="store_true")
    said = words.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with SceneSite(USERS) as site:
        faults = SceneFaults(site, said.seed, LONG_CUT_S if said.long else CUT_S)
        try:
            faults.run(said.number)
        except BaseException:
            for host in site.hosts:
                kept = Path(tempfile.gettempdir()) / f"scene-{said.seed}-{host.name}.log"
                kept.write_text(host.oborona.log())
            raise
        print(f"seed {said.seed}: {said.number} faults; {faults.told()}")


if __name__ == "__main__":
    main()
