"""Counting as one makes it of Redis in an afternoon, under the load of `oborona counters bench`.

A hash for each shingle with a field for each bucket and day; a message is one pipeline of 40
HGETALL and 80 HINCRBY, by hiredis on a blocking socket. An add is in the store with its answer.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, NoReturn

import hiredis
import msgspec

from benchmarks.counted import AtOnce, Seen, sights, slots_of, windows
from oborona.counter_load.fill import ROUNDS, rounds
from oborona.counter_load.subject import StoreSize
from oborona.counters.record import key_of
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

ANSWER_S: Final = 60.0  # for one answer: bounds a hang
READ_BYTES: Final = 1 << 18


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
    """A blocking connection.

    Not redis-py, whose Python parser and packer cost more than Redis does.
    """

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), ANSWER_S)
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

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Seen:
        return self._seen(self._redis.ask(_hgetalls(shingles, prefix)), now)

    async def read_add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> Seen:
        reads = _hgetalls(pieces.shingles, prefix)
        answers = self._redis.ask(reads + _hincrbys(pieces, amounts, now, prefix))
        self._added += 1
        return self._seen(answers[: len(reads)], now)

    def add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
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
            found.append(
                windows(dict(zip(map(int, answer[::2]), map(int, answer[1::2]), strict=True)), now)
            )
        return found


def _pack(*words: bytes | int) -> bytes:
    return hiredis.pack_command(words)  # type: ignore[arg-type, no-any-return]  # its stub takes a tuple of one word


def _hgetalls(shingles: Sequence[Shingle], prefix: CounterPrefix) -> list[bytes]:
    return [_pack(b"HGETALL", key_of(shingle, prefix)) for shingle in shingles]


def _hincrbys(
    pieces: CountedPieces, amounts: Amounts, now: float, prefix: CounterPrefix
) -> list[bytes]:
    return [
        _pack(b"HINCRBY", key_of(shingle, prefix), slot, amounts.seen)
        for shingle in pieces.shingles
        for slot in slots_of(now)
    ]


def _redis_size(redis: Connection) -> StoreSize:
    keys, memory = redis.ask([_pack(b"DBSIZE"), _pack(b"INFO", b"memory")])
    assert isinstance(keys, int), "DBSIZE answers with a number"
    assert isinstance(memory, bytes), "INFO answers with text"
    used = next(line for line in memory.split(b"\r\n") if line.startswith(b"used_memory:"))
    return StoreSize(keys=keys, bytes=int(used.partition(b":")[2]))
