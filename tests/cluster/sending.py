"""Steps that are made by hand and sent to real nodes, and what is stored then."""

from __future__ import annotations

import numpy as np

from oborona.counters import record
from oborona.counters.batch import KEYS, BatchSegment, SpoolBatch
from oborona.counters.cluster import add_function, steps
from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.layout import APPLIED_KEYS, SLOT_OF_TAG, field_of, page_of, tag_of
from oborona.types import CounterPrefix, Shingle

NOON = 20_000 * 144 + 72  # a bucket
OUTBOX = b"an id..."
KEY = record.key_of(Shingle(8, 0x1122334455667788), CounterPrefix.IN)
PAIR = record.key_of(Shingle(30, 0x11200000000000AB), CounterPrefix.IN)
TAG = tag_of(KEY)


def batch(adds: list[tuple[bytes, int, bytes]], forgotten: list[bytes] | None = None) -> SpoolBatch:
    segments = [
        BatchSegment(
            bucket=bucket,
            keys=np.frombuffer(key * (len(cells) // 8), KEYS),
            cells=np.frombuffer(cells, "<u8"),
        )
        for key, bucket, cells in adds
        if cells
    ]
    return SpoolBatch(
        sequence=1, time=0.0, forgotten=forgotten or [], segments=segments, pairs=[], end=0
    )


class Sent:
    """Sends step after step of one outbox, and reads records back."""

    def __init__(self, shards: BlockingClusterClient) -> None:
        self.shards = shards
        self.before = self.step = 0

    def send(
        self, one: SpoolBatch, reference: int, *, believed: bool = True, doorkeeper: bool = False
    ) -> object:
        made = steps.make(
            [one], reference, [0] * 256, OUTBOX, believed=believed, doorkeeper=doorkeeper
        )
        self.before, self.step = self.step, self.step + 1
        [share] = made.shares
        return self.again(share)

    def again(self, share: steps.TagShare) -> object:
        words = share.arguments(add_function.ADD, self.step, self.before)
        [answer] = self.shards.ask([(SLOT_OF_TAG[share.tag], words)])
        assert not isinstance(answer, Exception), answer
        return answer

    def stored(self, key: bytes) -> bytes:
        slot = SLOT_OF_TAG[tag_of(key)]
        [answer] = self.shards.ask([(slot, (b"HGET", page_of(key), field_of(key)))])
        assert answer is None or isinstance(answer, bytes)
        return answer or b""

    def empty(self) -> None:
        for key in (page_of(KEY), APPLIED_KEYS[TAG]):
            self.shards.ask([(SLOT_OF_TAG[TAG], (b"DEL", key))])
        self.before = self.step = 0
