"""Other stores under the load of `oborona counters bench`: what one makes of Redis or SQLite in an afternoon.

Both keep `seen` alone, by ten-minute bucket and by day, so that an add counts twice; what has left the windows stays. A read gives the
four windows, as ours does.

    Redis    a hash for each shingle with a field for each bucket and day; a message is one pipeline of 40 HGETALL and 80 HINCRBY,
             by hiredis on a blocking socket
    SQLite   a row for each shingle and bucket or day; WAL, synchronous = NORMAL; adds are summed in memory for 0.1 s and upserted
             in one transaction; a read is one SELECT of 40 keys
"""

from __future__ import annotations

import contextlib
import socket
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, NoReturn

import hiredis
import msgspec
import numpy as np

from oborona.counters.bench.fill import ROUNDS, Sample, first_buckets, rounds
from oborona.counters.bench.subject import Size
from oborona.counters.bench.workload import WHOLE_DAYS
from oborona.counters.record import key_of
from oborona.counters.window import BUCKETS_A_DAY, DAYS, bucket_of, day_of
from oborona.types import Amounts, Pieces, Prefix, Shingle, Window

Seen = list[list[int]]
"""[shingle][Window] of `seen`"""

Slot = int
"""A ten-minute bucket, or minus a day."""

SECONDS = 60.0  # for one answer: bounds a hang
READ_BYTES: Final = 1 << 18


def sights(sample: Sample, now: float) -> Iterator[tuple[bytes, Slot, int]]:
    """Yield (key, slot, seen) of a sample's history, by key: what lies in a bucket counts in its day as well."""
    firsts = first_buckets(now)[sample.slots]
    fine = sample.slots >= WHOLE_DAYS
    places = np.concatenate([sample.places[fine], sample.places])
    slots = np.concatenate([firsts[fine], -(firsts // BUCKETS_A_DAY)])
    counts = np.concatenate([sample.counts[fine], sample.counts])
    order = np.lexsort((slots, places))
    for (place, slot), same in groupby(
        zip(places[order].tolist(), slots[order].tolist(), counts[order].tolist(), strict=True),
        lambda one: one[:2],
    ):
        yield sample.keys[place], slot, sum(count for _place, _slot, count in same)


def windows(seen: dict[Slot, int], now: float) -> list[int]:
    """Return [Window] of one shingle."""
    last = bucket_of(now)
    today = day_of(last)
    totals = [0] * len(Window)
    for slot, count in seen.items():
        if slot < 0:
            totals[Window.FORTNIGHT] += count if today - DAYS < -slot <= today else 0
            continue
        age = last - slot
        totals[Window.RECENT] += count if age == 0 else 0
        totals[Window.HOUR] += count if 0 <= age < 6 else 0
        totals[Window.DAY] += count if 0 <= age < BUCKETS_A_DAY else 0
    return totals


def slots_of(now: float) -> tuple[Slot, Slot]:
    """Return the two that an add counts in."""
    bucket = bucket_of(now)
    return bucket, -day_of(bucket)


class AtOnce:
    """A watch on a store that has each flush when it returns."""

    def __init__(self, size: Callable[[], Size]) -> None:
        self.size = size

    def applied(self, number: int) -> None:
        """There is nothing to wait for."""


class RedisSubject(msgspec.Struct, frozen=True, kw_only=True):
    """An empty redis-server that runs already.

    Args:
        port: of loopback.
        pid: of the server.
    """

    port: int
    pid: int

    @property
    def name(self) -> str:
        return "redis-server, HINCRBY"

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.pid,)

    @property
    def at_once(self) -> int:
        return 1

    @property
    def has_writer(self) -> bool:
        return False

    @contextlib.contextmanager
    def filled(self, keys: int, now: float, progress: Callable[[float], None]) -> Iterator[AtOnce]:
        """Bring the history as one HSET a key."""
        with contextlib.closing(Connection(self.port)) as redis:
            for done, sample in enumerate(rounds(keys), 1):
                commands = []
                for key, theirs in groupby(sights(sample, now), lambda one: one[0]):
                    fields: list[bytes | int] = []
                    for _key, slot, seen in theirs:
                        fields += (slot, seen)
                    commands.append(_pack(b"HSET", key, *fields))
                for at in range(0, len(commands), 1000):
                    redis.ask(commands[at : at + 1000])
                progress(done / ROUNDS)
            yield AtOnce(lambda: _redis_size(redis))

    def counters(self, number: int) -> RedisCounters:
        return RedisCounters(Connection(self.port))

    def writer(self) -> NoReturn:
        raise NotImplementedError("Redis has no writer of ours")


class Connection:
    """A blocking connection; not redis-py, whose Python parser and packer cost more than Redis does."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def ask(self, commands: Sequence[bytes]) -> list[object]:
        """Return the answers to a pipeline of packed commands."""
        self._socket.sendall(b"".join(commands))
        answers: list[object] = []
        while len(answers) < len(commands):
            answer = self._reader.gets()
            if answer is False:
                self._reader.feed(self._socket.recv(READ_BYTES))
            elif isinstance(answer, hiredis.HiredisError):
                raise answer
            else:
                answers.append(answer)
        return answers

    def close(self) -> None:
        self._socket.close()


class RedisCounters:
    """One worker on Redis; a flush has nothing left to do."""

    def __init__(self, redis: Connection) -> None:
        self._redis = redis
        self._added = 0

    async def read(self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN) -> Seen:
        return self._seen(self._redis.ask(_hgetalls(shingles, prefix)), now)

    async def read_add(
        self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN
    ) -> Seen:
        reads = _hgetalls(pieces.shingles, prefix)
        answers = self._redis.ask(reads + _hincrbys(pieces, amounts, now, prefix))
        self._added += 1
        return self._seen(answers[: len(reads)], now)

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN) -> None:
        self._redis.ask(_hincrbys(pieces, amounts, now, prefix))
        self._added += 1

    def flush(self, now: float) -> int:
        added, self._added = self._added, 0
        return added

    def close(self) -> None:
        self._redis.close()

    def _seen(self, answers: Sequence[object], now: float) -> Seen:
        found = []
        for answer in answers:
            assert isinstance(answer, list), "HGETALL answers with a list"
            found.append(windows(dict(zip(map(int, answer[::2]), map(int, answer[1::2]), strict=True)), now))
        return found


def _pack(*words: bytes | int) -> bytes:
    return hiredis.pack_command(words)  # type: ignore[arg-type, no-any-return]  # its stub takes a tuple of one word


def _hgetalls(shingles: Sequence[Shingle], prefix: Prefix) -> list[bytes]:
    return [_pack(b"HGETALL", key_of(shingle, prefix)) for shingle in shingles]


def _hincrbys(pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix) -> list[bytes]:
    return [
        _pack(b"HINCRBY", key_of(shingle, prefix), slot, amounts.seen)
        for shingle in pieces.shingles
        for slot in slots_of(now)
    ]


def _redis_size(redis: Connection) -> Size:
    keys, memory = redis.ask([_pack(b"DBSIZE"), _pack(b"INFO", b"memory")])
    assert isinstance(keys, int), "DBSIZE answers with a number"
    assert isinstance(memory, bytes), "INFO answers with text"
    used = next(line for line in memory.split(b"\r\n") if line.startswith(b"used_memory:"))
    return Size(keys=keys, bytes=int(used.partition(b":")[2]))


UPSERT: Final = "INSERT INTO counts (key, slot, seen) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seen = seen + excluded.seen"
SELECT: Final = "SELECT key, slot, seen FROM counts WHERE key IN ({})"


class SqliteSubject(msgspec.Struct, frozen=True, kw_only=True):
    """A database file.

    Args:
        path: where it is made.
    """

    path: str

    @property
    def name(self) -> str:
        return "SQLite, upserts"

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    @property
    def at_once(self) -> int:
        return 1

    @property
    def has_writer(self) -> bool:
        return False

    @contextlib.contextmanager
    def filled(self, keys: int, now: float, progress: Callable[[float], None]) -> Iterator[AtOnce]:
        """Make the table and insert the history."""
        with contextlib.closing(self._open()) as database:
            database.execute(
                "CREATE TABLE counts (key BLOB, slot INTEGER, seen INTEGER, PRIMARY KEY (key, slot)) WITHOUT ROWID"
            )
            for done, sample in enumerate(rounds(keys), 1):
                with database:
                    database.executemany("INSERT INTO counts VALUES (?, ?, ?)", sights(sample, now))
                progress(done / ROUNDS)
            yield AtOnce(lambda: _sqlite_size(database))

    def counters(self, number: int) -> SqliteCounters:
        return SqliteCounters(self._open())

    def writer(self) -> NoReturn:
        raise NotImplementedError("SQLite has no writer of ours")

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=SECONDS)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(
            "PRAGMA mmap_size = 8589934592"
        )  # as LMDB reads: through the page cache, without a copy
        return database


class SqliteCounters:
    """One worker on SQLite."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._summed: Counter[tuple[bytes, Slot]] = Counter()

    async def read(self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN) -> Seen:
        keys = [key_of(shingle, prefix) for shingle in shingles]
        found: dict[bytes, dict[Slot, int]] = {key: {} for key in keys}
        query = SELECT.format(",".join("?" * len(keys)))  # as many marks as keys, and nothing else
        for key, slot, seen in self._database.execute(query, keys):
            found[key][slot] = seen
        for key, seen_by_slot in found.items():
            for slot in slots_of(now):
                if own := self._summed.get((key, slot)):
                    seen_by_slot[slot] = seen_by_slot.get(slot, 0) + own
        return [windows(found[key], now) for key in keys]

    async def read_add(
        self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN
    ) -> Seen:
        seen = await self.read(pieces.shingles, now, prefix)
        self.add(pieces, amounts, now, prefix)
        return seen

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN) -> None:
        slots = slots_of(now)
        for shingle in pieces.shingles:
            key = key_of(shingle, prefix)
            for slot in slots:
                self._summed[key, slot] += amounts.seen

    def flush(self, now: float) -> int:
        summed, self._summed = self._summed, Counter()
        with self._database:
            self._database.executemany(UPSERT, [(*place, seen) for place, seen in sorted(summed.items())])
        return len(summed)

    def close(self) -> None:
        self._database.close()


def _sqlite_size(database: sqlite3.Connection) -> Size:
    def number(query: str) -> int:
        return int(database.execute(query).fetchone()[0])

    pages = number("PRAGMA page_count") - number("PRAGMA freelist_count")
    return Size(
        keys=number("SELECT count(*) FROM (SELECT DISTINCT key FROM counts)"),
        bytes=pages * number("PRAGMA page_size"),
    )
