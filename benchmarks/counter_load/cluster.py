"""The cluster store as a subject of the bench: filled past outbox and functions, and asked itself
how far it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import hiredis
import msgspec
import numpy as np

from oborona import state_files
from oborona.counter_load.fill import ROUNDS, records, rounds
from oborona.counter_load.subject import BENCH, StoreSize
from oborona.counters.cluster.blocking_client import BlockingClusterClient, Command
from oborona.counters.cluster.layout import (
    APPLIED,
    APPLIED_KEYS,
    OPENINGS,
    SLOT_OF_TAG,
    TAGS,
    field_of,
    page_of,
    tag_of,
)
from oborona.counters.cluster.outbox import ID_KEY, TAGS_KEY, Numbers, all_done
from oborona.counters.cluster.page_queries import DOOR, SLOT
from oborona.counters.cluster.progress import SpoolProgress
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, Reply
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import LmdbReader, positions
from oborona.errors import StoreBusy, StoreError

IN_FLIGHT: Final = 4  # more only wait for each other: the node or the worker is busy by then
ASK_S: Final = 0.025  # between two questions to the cluster how far it is: 256 at once
COMMANDS: Final = 2000  # in one go
PAGES: Final = tuple((byte, upper) for byte in range(256) for upper in (0, 0x40, 0x80, 0xC0))


class ClusterSubject(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that runs already and holds nothing; it is left as it was.

    Args:
        directory: of spools and outbox; empty or not there yet.
        access: how to reach it.
        durability: of the spools, as `ClusterCounters` takes it.
        pids: of its nodes on this machine, whose CPU is to count.
        doorkeeper: whether shingles seen once get no record.
    """

    directory: str
    access: ClusterAccess
    durability: Durability = "second"
    pids: tuple[int, ...] = ()
    doorkeeper: bool = True

    @property
    def name(self) -> str:
        return "cluster"

    @property
    def at_once(self) -> int:
        return IN_FLIGHT

    @property
    def has_writer(self) -> bool:
        return True

    @contextlib.contextmanager
    def filled(
        self, keys: int, now: float, progress: Callable[[float], None]
    ) -> Iterator[ClusterWatch]:
        """Put the records into their pages, and remove all pages at the end.

        Raises:
            StoreBusy: the cluster holds keys already.
            StoreError: it does not answer, or not as it should.
        """
        with contextlib.closing(BlockingClusterClient(self.access)) as shards:
            if held := sum(map(_number, _ask_nodes(shards, b"DBSIZE"))):
                raise StoreBusy(f"the cluster holds {held} keys; the bench wants one that is empty")
            try:
                for done, sample in enumerate(rounds(keys), 1):
                    _put(shards, sample.keys, records(sample, now))
                    progress(done / ROUNDS)
                with contextlib.closing(
                    LmdbReader(Path(self.directory) / state_files.COUNTERS_OUTBOX)
                ) as reader:
                    yield ClusterWatch(shards, reader)
            finally:
                for tag in range(TAGS):
                    _ask(shards, [(SLOT_OF_TAG[tag], (b"UNLINK", APPLIED_KEYS[tag], *_pages(tag)))])

    def counters(self, number: int) -> ClusterCounters:
        return ClusterCounters(
            self.directory, f"{BENCH}-{number}", self.access, durability=self.durability
        )

    def writer(self) -> ClusterWriter:
        return ClusterWriter(
            self.directory,
            self.access,
            program="oborona counters bench",
            sync=self.durability != "none",
            doorkeeper=self.doorkeeper,
        )


class ClusterWatch:
    """Asks the cluster, each 25 ms at most, which steps of the outbox it has."""

    def __init__(self, shards: BlockingClusterClient, reader: LmdbReader) -> None:
        self._shards = shards
        self._reader = reader
        self._progress: dict[int, SpoolProgress] = {}
        self._done = 0
        self._asked_at = 0.0

    def applied(self, number: int) -> int:
        """Return up to which flush of that worker all of the cluster has everything."""
        now = time.monotonic()
        if now - self._asked_at >= ASK_S:
            self._asked_at = now
            self._look()
        if number not in self._progress:
            with self._reader.transaction() as txn:
                found = {} if txn is None else positions(txn)
            owner = next((owner for owner in found if owner.startswith(f"{BENCH}-{number}.")), None)
            if owner is None:
                return 0
            self._progress[number] = SpoolProgress(self._reader, owner, float("inf"))
        progress = self._progress[number]
        progress.look(now, now)
        return progress.covered(self._done)

    def size(self) -> StoreSize:
        """Return records and shingles seen once, and the memory of all primaries."""
        ours = (b"p", APPLIED + self._outbox()[0], DOOR)  # fields of a page that are no records
        fields = 0
        for tag in range(TAGS):
            pages = _pages(tag)
            lengths = _ask(self._shards, [(SLOT_OF_TAG[tag], (b"HLEN", page)) for page in pages])
            others = _ask(
                self._shards, [(SLOT_OF_TAG[tag], (b"HMGET", page, *ours)) for page in pages]
            )
            fields += sum(map(_number, lengths))
            for found in others:
                assert isinstance(found, list), "HMGET answers with a list"
                fields -= sum(one is not None for one in found)
                fields += len(found[-1] or b"") // SLOT.size
        used = 0
        for text in _ask_nodes(self._shards, b"INFO", b"memory"):
            assert isinstance(text, bytes), "INFO answers with text"
            used += int(text.partition(b"used_memory:")[2].split()[0])
        return StoreSize(keys=fields, bytes=used)

    def _look(self) -> None:
        _id, last = self._outbox()
        answers = _ask(
            self._shards,
            [(SLOT_OF_TAG[tag], (b"HGET", APPLIED_KEYS[tag], _id)) for tag in range(TAGS)],
        )
        applied = [int(answer.split()[0]) if isinstance(answer, bytes) else 0 for answer in answers]
        self._done = max(self._done, all_done(last, np.array(applied, np.uint64)))

    def _outbox(self) -> tuple[bytes, Numbers]:
        """Return its id, and by tag the last step that has something for it."""
        with self._reader.transaction() as txn:
            if txn is None:
                return b"", np.zeros(TAGS, np.uint64)
            last = np.frombuffer(txn.get(TAGS_KEY, b""), "<u8")[:TAGS]
            return txn.get(ID_KEY, b""), last.astype(np.uint64)


def _put(shards: BlockingClusterClient, keys: list[bytes], found: list[bytes]) -> None:
    pages: dict[bytes, tuple[int, list[bytes]]] = {}
    for key, record in zip(keys, found, strict=True):
        pages.setdefault(page_of(key), (tag_of(key), []))[1].extend((field_of(key), record))
    _ask(
        shards,
        [(SLOT_OF_TAG[tag], (b"HSET", page, *pairs)) for page, (tag, pairs) in pages.items()],
    )


def _pages(tag: int) -> list[bytes]:
    return [OPENINGS[tag] + bytes(page) for page in PAGES]


def _ask(shards: BlockingClusterClient, commands: Sequence[Command]) -> list[Reply]:
    """Return all answers.

    Raises:
        StoreError: one of them is an error.
    """
    answers: list[Reply] = []
    for at in range(0, len(commands), COMMANDS):
        answers += shards.ask(commands[at : at + COMMANDS])
    for answer in answers:
        if isinstance(answer, StoreError):
            raise answer
        if isinstance(answer, hiredis.ReplyError):
            raise StoreError(f"the cluster answers: {answer}")
    return answers


def _ask_nodes(shards: BlockingClusterClient, *words: bytes) -> list[Reply]:
    """Return the answer of each primary."""
    _ask(shards, [(0, (b"EXISTS", OPENINGS[0]))])  # it has a map now
    return [answer for node in shards.nodes() for answer in shards.ask_node(node, words)]


def _number(answer: Reply) -> int:
    assert isinstance(answer, int), "a count is a number"
    return answer
