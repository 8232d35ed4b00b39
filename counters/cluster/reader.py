"""A read-only, blocking view of the cluster's counters, for tools beside a running daemon.

It does not include the counts that this machine has not sent yet, as a rule those of 0.2 s.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import lmdb

from oborona import state_files
from oborona.counters import decode
from oborona.counters.cluster.blocking_client import ANSWER_S, BlockingClusterClient
from oborona.counters.cluster.page_queries import ClusterPage, answer_of, pages_of
from oborona.counters.cluster.wire import ClusterAccess, Reply
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.record import key_of
from oborona.counters.top import TOP_LIMIT, Ranks, candidates, ranked
from oborona.counters.window import Timeline, bucket_of
from oborona.errors import StoreAbsent, StoreError, StorePartial
from oborona.types import CounterPrefix, Metric, Shingle, Window

ROUNDS: Final = 2  # a slot that has moved is found in the second
NO_OUTBOX: Final = b""


class ClusterReader:
    """Reads what a cluster has; for tools beside a running daemon.

    Close it, or use it as a context.

    Args:
        directory: of the outbox, which has the candidates for `top`.
        access: how to reach the cluster.
        answer_s: deadline for an answer.
        environment: the outbox's, when its sender lives in this very process.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        access: ClusterAccess,
        *,
        answer_s: float = ANSWER_S,
        environment: lmdb.Environment | None = None,
    ) -> None:
        self._reader = LmdbReader(Path(directory) / state_files.COUNTERS_OUTBOX, environment)
        self._shards = BlockingClusterClient(access, answer_s=answer_s)

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted.

        Raises:
            StorePartial: part of the cluster does not answer; it carries what the others say.
        """
        records, trouble = self._records(
            [key_of(shingle, prefix) for shingle in shingles], bucket_of(now)
        )
        totals = decode.totals(records, now)
        if trouble:
            raise StorePartial(f"part of the cluster does not answer: {trouble}", totals)
        return totals

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: part of the cluster does not answer.
        """
        records, trouble = self._records(
            [key_of(shingle, prefix) for shingle in shingles], bucket_of(now)
        )
        if trouble:
            raise StoreError(f"the cluster does not answer: {trouble}")
        return [decode.timeline(record, now) for record in records]

    async def top(
        self,
        shingle_type: int,
        metric: Metric,
        window: Window,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
        limit: int = TOP_LIMIT,
    ) -> Ranks:
        """Return the shingles of a type that counted most of a metric in a window at `now`,
        heaviest first.

        Each count is that of the whole cluster; looked at are those that this machine counted most,
        `outbox_feeder.py`.

        Raises:
            StoreError: no writer has run on this machine, or part of the cluster does not answer.
        """
        with self._reader.transaction() as txn:
            if txn is None:
                raise StoreAbsent(
                    f"no outbox in {self._reader.directory}: has the writer run?",
                    state_files.COUNTERS,
                )
            shingles = candidates(txn, shingle_type, metric, prefix)
        return ranked(shingles, await self.read(shingles, now, prefix), metric, window, limit)

    def close(self) -> None:
        """Hang up, and let go of the outbox."""
        self._shards.close()
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _records(self, keys: list[bytes], reference: int) -> tuple[list[bytes], str]:
        """Return the records of keys, empty where there is none.

        And what is wrong, empty when all are answered for.
        """
        records: dict[bytes, bytes] = {}
        left = pages_of(dict.fromkeys(keys))
        trouble = ""
        for _ in range(ROUNDS):
            replies = self._shards.ask([(page.slot, page.words(NO_OUTBOX)) for page in left])
            unanswered: list[tuple[ClusterPage, Reply]] = []
            for page, reply in zip(left, replies, strict=True):
                answer = answer_of(page, reply, reference)
                if answer is None:
                    unanswered.append((page, reply))
                else:
                    records.update(zip(page.keys, answer[1], strict=True))
            if not unanswered:
                trouble = ""
                break
            left, trouble = [page for page, _reply in unanswered], str(unanswered[0][1])
        return [records.get(key, b"") for key in keys], trouble
