"""Mail-like load on a cluster: one worker that reads and adds, its sender beside it, and a
dictionary that knows better.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec
import numpy as np

from oborona.counters.cluster.outbox import TAGS_KEY
from oborona.counters.cluster.store import DEADLINE_S, ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess
from oborona.counters.memory import MemoryCounters
from oborona.errors import StorePartial
from oborona.types import Amounts, CountedPieces, Shingle, UniquePair

NOON: Final = 20_000 * 86_400 + 43_200.0
KNOWN: Final = 2_000  # shingles that come again
TAKEN_EACH: Final = 3  # messages: then the one before is taken back
STEP_S: Final = 0.5  # `applied` is noted with the next step
SENT_S: Final = 60.0  # bounds a hang
SENDER: Final = """
import sys, threading
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
directory, now, *nodes = sys.argv[1:]
access = ClusterAccess(nodes=tuple(map(NodeAddress.parse, nodes)))
writer = ClusterWriter(directory, access, report=lambda line: print(line, flush=True))
writer.run(threading.Event(), clock=lambda: float(now))
"""


class Figures(msgspec.Struct):
    """What a load met."""

    messages: int = 0
    partial: int = 0  # reads that were not whole
    slowest_ms: float = 0.0
    whole_again_s: float = 0.0  # after `trouble`, until reads were whole for good
    sent_again_s: float = 0.0  # after `trouble`, until the cluster had everything


class Load:
    """Adds and reads until it is stopped; used as a context."""

    def __init__(
        self,
        directory: Path,
        access: ClusterAccess,
        *,
        pause_s: float = 0.005,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.figures = Figures()
        self.model = MemoryCounters()
        self._random = random.Random(5)
        self._seen: set[Shingle] = set()
        self._before: tuple[Shingle, ...] = ()  # of the message before
        self._pause_s = pause_s
        self._trouble = self._partial_at = self._lacked_at = 0.0
        self._done_at = time.monotonic()
        self._directory = directory
        self._access = access
        self._log = (directory / "sender.log").open("w+")
        self.sender = self._start()
        self.worker = ClusterCounters(directory, "worker-0", access, deadline_s=deadline_s)
        self._adding: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._adding = asyncio.create_task(self._add())
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._adding is not None:
            self._adding.cancel()
            with suppress(asyncio.CancelledError):
                await self._adding
        self.worker.close()
        self.sender.kill()
        self.sender.wait()
        self._log.close()

    def kill_sender(self) -> None:
        """Kill it wherever it is, and start another."""
        self.sender.kill()
        self.sender.wait()
        self.sender = self._start()

    @property
    def reports(self) -> list[str]:
        """What the sender had to say."""
        self._log.seek(0)
        return self._log.read().splitlines()

    def trouble(self) -> None:
        """From now on it is measured how long it lasts."""
        self._trouble = time.monotonic()

    async def until_whole(self) -> None:
        """Go on adding until reads have been whole for a second, and the cluster has all but the
        last step.
        """
        end = time.monotonic() + SENT_S
        while time.monotonic() - max(self._partial_at, self._lacked_at, self._trouble) < 1.0:
            assert time.monotonic() < end, self.reports
            await asyncio.sleep(0.05)

    async def until_sent(self) -> None:
        """Add no more, and wait until the cluster has everything."""
        assert self._adding is not None
        self._adding.cancel()
        with suppress(asyncio.CancelledError):
            await self._adding
        self.worker.flush(NOON)
        await asyncio.to_thread(self._wait_until_sent)

    async def until_acknowledged(self, tag: int) -> None:
        """Go on adding until this tag says that it has a step that was not made yet."""
        end = time.monotonic() + SENT_S
        made = max(self._tags()[0], default=0)
        while max(self._tags()[1][tag : tag + 1], default=0) <= made:
            assert time.monotonic() < end, self.reports
            await asyncio.sleep(0.05)

    def lacking(self) -> bool:
        """Whether the cluster lacks something that was taken."""
        last, applied = self._tags()
        return not last or any(has < wanted for has, wanted in zip(applied, last, strict=True))

    def _tags(self) -> tuple[list[int], list[int]]:
        """Return by tag the last step made for it, and the last one that it has.

        Empty while there is no outbox.
        """
        with self.worker._reader.transaction() as txn:
            if txn is None:
                return [], []
            last, applied = np.frombuffer(txn.get(TAGS_KEY, b""), "<u8").reshape(2, -1).tolist()
            return last, applied

    async def differences(self, access: ClusterAccess, directory: Path) -> list[Shingle]:
        """Return what somebody who never added anything reads otherwise than it is."""
        other = ClusterCounters(directory, "other", access, deadline_s=30.0)
        seen = sorted(self._seen)
        wrong = []
        for at in range(0, len(seen), 500):
            part = seen[at : at + 500]
            told = await other.read(part, NOON)
            right = await self.model.read(part, NOON)
            wrong += [
                shingle for shingle, one, two in zip(part, told, right, strict=True) if one != two
            ]
        other.close()
        return wrong

    def _start(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", SENDER, str(self._directory), str(NOON)]
        words += [str(node) for node in self._access.nodes]
        return subprocess.Popen(words, stdout=self._log)

    def _wait_until_sent(self) -> None:
        end = time.monotonic() + SENT_S
        quiet = 0
        while (
            quiet < 60
            # the last flush may not be taken yet, by a sender that was just started on a busy
            # machine
        ):
            assert time.monotonic() < end, self.reports
            quiet = 0 if self.lacking() else quiet + 1
            time.sleep(0.05)

    async def _add(self) -> None:
        flushed = time.monotonic()
        while True:
            pieces = self._pieces()
            asked = (*pieces.shingles, *dict.fromkeys(pair.distinct for pair in pieces.pairs))
            began = time.monotonic()
            try:
                await self.worker.read(asked, NOON)
            except StorePartial as partial:
                self.figures.partial += len(partial.totals) == len(asked)
                self._partial_at = time.monotonic()
            took_ms = 1000 * (time.monotonic() - began)
            self.figures.slowest_ms = max(self.figures.slowest_ms, took_ms)
            for counters in (self.worker, self.model):
                counters.add(pieces, Amounts(seen=1), NOON)
                if self.figures.messages % TAKEN_EACH == 0:
                    counters.take_back(self._before, Amounts(seen=1), NOON)
            self._before = pieces.shingles
            self._seen.update(asked, (pair.both for pair in pieces.pairs))
            self.figures.messages += 1
            if time.monotonic() - flushed >= 0.1:
                self.worker.flush(NOON)
                flushed = time.monotonic()
            self._note_lack()
            if self._trouble:
                self.figures.whole_again_s = max(self._partial_at - self._trouble, 0.0)
                self.figures.sent_again_s = max(self._lacked_at - self._trouble, 0.0)
            await asyncio.sleep(self._pause_s)

    def _note_lack(self) -> None:
        """Note when a step was not everywhere for longer than one takes."""
        done = not self.lacking()
        now = time.monotonic()
        if done:
            self._done_at = now
        elif now - self._done_at > STEP_S:
            self._lacked_at = now

    def _pieces(self) -> CountedPieces:
        def known(kind: int) -> Shingle:
            number = min(int(self._random.paretovariate(1.1)), KNOWN)
            return Shingle(kind, number * 0x9E3779B97F4A7C15 % 2**64)

        fresh = [Shingle(5, self._random.getrandbits(64)) for _ in range(24)]
        shingles = tuple(dict.fromkeys([*fresh, *(known(8) for _ in range(16))]))
        first, number = self._random.getrandbits(4) << 60, self._random.getrandbits(5)
        pair = UniquePair(both=Shingle(30, first + 1000 + number), distinct=Shingle(31, first))
        return CountedPieces(shingles=shingles, pairs=(pair,))
