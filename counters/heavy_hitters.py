"""The heaviest keys of each type, by a sketch; numbers and bytes only.

    for each prefix, type and metric up to ROOM keys, each with a weight: what was counted, halved
    once a day
    feed    what the keys of a step gain → prune → wait
    settle  what waits and what is kept, summed by key → prune; once enough waits, or when somebody
            asks
    prune   of more keys than there is room for: take the weight of the first one too many from all
            of them, and leave those that have some left

A prune takes the same from ROOM + 1 keys at least, and age scales all alike. So a weight is never
too large, and too small by at most a (ROOM + 1)-th of all that was counted for its prefix, type and
metric, halved once a day too: every key with more than that is kept. It is the summary of Misra and
Gries; that it may be merged and keeps its bound is shown by Agarwal and others, Mergeable
Summaries, PODS 2012. Readers see notes, and those have room for fewer keys.

What is taken back weighs on until it is old: a key may be looked at for nothing, and its count says
so.

A weight below LEAST counts as none: all of it is over fifteen days old, and so out of every window.
A clock that jumps ahead costs one halving, one that is set back costs none.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from oborona.counters import decode, record
from oborona.counters.batch import Cells, Keys
from oborona.counters.batch_sums import sorted_order
from oborona.counters.window import DAY_S
from oborona.types import Metric

ROOM: Final = 1024  # keys kept in memory, for each prefix, type and metric; 18 bytes a key
# keys of a note: 1,548 bytes, less than what LMDB would put on pages of its own
NOTE_ROOM: Final = 128
WAITING: Final = 1 << 17  # keys of a metric that wait to be settled
LEAST: Final = 2.0**-15
LEVELS: Final = np.uint64(record.LEVELS)
LARGE: Final = 2.0**64  # weights are brought down before they lose digits
BEYOND_SEEN: Final = np.uint64(record.COUNTS & ~record.DIGIT | 0xF << record.LEVEL_SHIFT)
NOTE: Final = struct.Struct("<Id")  # CRC-32 of what follows it; Unix time of the weights
CRC: Final = struct.Struct("<I")
HASH: Final = np.dtype("<u8")
WEIGHT: Final = np.dtype("<f4")
HEAD_BYTES: Final = 2  # of a key: its prefix and type


class WeightedKeys(NamedTuple):
    """Keys, ascending, and the weight of each."""

    heads: npt.NDArray[np.uint16]
    hashes: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]

    def at(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> WeightedKeys:
        return WeightedKeys(self.heads[which], self.hashes[which], self.weights[which])


class HeavyHitters:
    """The heaviest keys; fed by the one process that writes a store.

    Args:
        room: keys kept for each prefix, type and metric.

    Attributes:
        changed: set when something is fed or forgotten; for whoever writes notes to take back.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.changed = False
        self._room = room
        self._parts: dict[Metric, list[WeightedKeys]] = {metric: [] for metric in Metric}
        self._waiting = dict.fromkeys(Metric, 0)  # keys in parts that are not settled
        self._now: float | None = None
        self._scale = 1.0  # weights are held times this, so that what comes later is worth more

    def feed(self, keys: Keys, cells: Cells, starts: npt.NDArray[np.intp], now: float) -> None:
        """Take in what keys gained.

        Args:
            keys: distinct, ascending.
            cells: of all keys, one key's behind the other's; one at least of each.
            starts: where in `cells` each key's begin, and at last their number.
            now: Unix time in seconds; the gains count as of now.
        """
        self._age(now)
        if not len(keys):
            return
        self.changed = True
        heads, hashes = keys["head"].astype(np.uint16), keys["hash"].astype(np.uint64)
        for metric, gains in _gains(cells, starts):
            gained = WeightedKeys(heads, hashes, gains * self._scale)
            waits = _pruned(gained if gains.all() else gained.at(np.flatnonzero(gains)), self._room)
            self._parts[metric].append(waits)
            self._waiting[metric] += len(waits.heads)
            if self._waiting[metric] > WAITING:
                self._settle(metric)

    def forget(self, keys: Sequence[bytes]) -> None:
        """Let go of keys; what they gain later begins at nothing."""
        if not keys:
            return
        self.changed = True
        for metric in Metric:
            weighted = self._settle(metric)
            stays = np.ones(len(weighted.heads), dtype=bool)
            for key in keys:
                head, hash_ = int.from_bytes(key[:HEAD_BYTES]), int.from_bytes(key[HEAD_BYTES:])
                stays &= (weighted.heads != head) | (weighted.hashes != np.uint64(hash_))
            self._parts[metric] = [weighted.at(stays)]

    def weights(self, head: int, metric: Metric) -> dict[int, float]:
        """Return the hashes of the keys kept of one prefix and type, heaviest first, with their
        weights.
        """
        keys = self._settle(metric)
        keys = keys.at(keys.heads == head)
        keys = keys.at(np.argsort(-keys.weights, kind="stable"))
        return dict(zip(keys.hashes.tolist(), (keys.weights / self._scale).tolist(), strict=True))

    def notes(self) -> Iterator[tuple[int, Metric, bytes]]:
        """Yield head, metric and note of all that is kept."""
        for metric in Metric:
            keys = _pruned(self._settle(metric), NOTE_ROOM)
            for start, end in _runs(keys.heads):
                order = start + np.argsort(-keys.weights[start:end], kind="stable")
                weights = keys.weights[order] / self._scale
                note = [
                    struct.pack("<d", self._now),
                    keys.hashes[order].astype(HASH).tobytes(),
                    weights.astype(WEIGHT).tobytes(),
                ]
                covered = b"".join(note)
                yield int(keys.heads[start]), metric, CRC.pack(zlib.crc32(covered)) + covered

    def restore(self, head: int, metric: Metric, note: bytes) -> None:
        """Take in a note that was kept.

        Raises:
            ValueError: it is damaged; nothing of it is taken in.
        """
        when, hashes, weights = _read(note)
        self._age(when)
        order = np.argsort(hashes)
        heads = np.full(len(hashes), head, dtype=np.uint16)
        keys = WeightedKeys(heads, hashes[order], weights[order].astype(np.float64) * self._scale)
        self._parts[metric].append(keys)

    def _age(self, now: float) -> None:
        if self._now is not None:
            self._scale *= 2.0 ** (min(max(now - self._now, 0.0), DAY_S) / DAY_S)
        self._now = now
        if self._scale > LARGE:
            for parts in self._parts.values():
                parts[:] = [part._replace(weights=part.weights / self._scale) for part in parts]
            self._scale = 1.0

    def _settle(self, metric: Metric) -> WeightedKeys:
        """Make one of all parts, and return it."""
        parts = self._parts[metric]
        if len(parts) != 1:
            together = WeightedKeys(
                np.concatenate([np.empty(0, np.uint16), *(part.heads for part in parts)]),
                np.concatenate([np.empty(0, np.uint64), *(part.hashes for part in parts)]),
                np.concatenate([np.empty(0, np.float64), *(part.weights for part in parts)]),
            )
            heaviest = _pruned(_joined(together), self._room)
            parts[:] = [heaviest.at(heaviest.weights >= LEAST * self._scale)]
            self._waiting[metric] = 0
        return parts[0]


def hashes_of(note: bytes) -> list[int]:
    """Return the hashes of a note's keys, heaviest first.

    Raises:
        ValueError: the note is damaged.
    """
    hashes: list[int] = _read(note)[1].tolist()
    return hashes


def _read(note: bytes) -> tuple[float, npt.NDArray[np.uint64], npt.NDArray[np.float32]]:
    number, rest = divmod(len(note) - NOTE.size, HASH.itemsize + WEIGHT.itemsize)
    if number < 0 or rest or CRC.unpack_from(note)[0] != zlib.crc32(note[CRC.size :]):
        raise ValueError(f"{len(note)} bytes are no note of the heaviest keys")
    _crc, when = NOTE.unpack_from(note)
    hashes = np.frombuffer(note, HASH, number, NOTE.size)
    return when, hashes, np.frombuffer(note, WEIGHT, number, NOTE.size + hashes.nbytes)


def _gains(
    cells: Cells, starts: npt.NDArray[np.intp]
) -> Iterator[tuple[Metric, npt.NDArray[np.float64]]]:
    """Yield what each key gained, for each metric in which any did."""
    sightings = (cells & decode.DIGIT).astype(np.float64)
    # few: nearly all keys are seen a few times and nothing else
    beyond = np.flatnonzero(cells & BEYOND_SEEN)
    columns = {Metric.SEEN: sightings}
    if len(beyond):
        levels = decode.levels_of(cells[beyond])
        is_taken_back = levels >= LEVELS
        amounts = decode.amounts(cells[beyond], np.where(is_taken_back, np.uint64(0), levels))
        amounts[is_taken_back] = 0
        sightings[beyond] = amounts[:, Metric.SEEN]
        for metric in list(Metric)[1:]:
            if amounts[:, metric].any():
                columns[metric] = np.zeros(len(cells))
                columns[metric][beyond] = amounts[:, metric]
    for metric, column in columns.items():
        gains = column if len(starts) > len(cells) else np.add.reduceat(column, starts[:-1])
        if gains.any():
            yield metric, gains


def _joined(several: WeightedKeys) -> WeightedKeys:
    """Return each key once, ascending, with the sum of its weights."""
    several = several.at(sorted_order(several.heads, several.hashes))
    first = np.ones(len(several.heads), dtype=bool)
    first[1:] = (several.hashes[1:] != several.hashes[:-1]) | (
        several.heads[1:] != several.heads[:-1]
    )
    if first.all():
        return several
    at = np.flatnonzero(first)
    return WeightedKeys(several.heads[at], several.hashes[at], np.add.reduceat(several.weights, at))


def _pruned(weighed: WeightedKeys, room: int) -> WeightedKeys:
    """Return at most `room` keys of each head: less, each, by the weight of the first one too
    many.
    """
    crowded = [(start, end) for start, end in _runs(weighed.heads) if end - start > room]
    if not crowded:
        return weighed
    weights = weighed.weights.copy()
    for start, end in crowded:
        weights[start:end] -= _first_too_many(weights[start:end], room)
    return weighed._replace(weights=weights).at(weights > 0)


def _first_too_many(weights: npt.NDArray[np.float64], room: int) -> float:
    """Return the (room + 1)-th heaviest weight; there are more than `room`."""
    least = weights.min()
    above = weights[weights > least]  # the many that were seen once are all alike
    return float(
        least
        if len(above) <= room
        else np.partition(above, len(above) - room - 1)[len(above) - room - 1]
    )


def _runs(heads: npt.NDArray[np.uint16]) -> list[tuple[int, int]]:
    """Return where each head begins and ends; equal ones stand together."""
    borders = np.flatnonzero(heads[1:] != heads[:-1]) + 1
    places = [0, *borders.tolist(), len(heads)]
    return [(start, end) for start, end in pairwise(places) if start < end]
