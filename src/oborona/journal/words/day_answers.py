"""Which messages of a day may answer a question, by its search file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from oborona.journal.words.day_chunks import PART, read_counts, read_ids
from oborona.journal.words.slices import SLICES, AskedSlices, common_messages, in_order

_DEAR: Final = 8  # rows that follow each other are read in the time of one by itself
_OCTETS: Final = PART // 8  # of a slice of a part
_NOTHING: Final = bytes(_OCTETS)


class DayStretch(msgspec.Struct, frozen=True):
    """Messages that may answer: some above an id, or all of a stretch."""

    after: int
    ids: Sequence[int] = ()  # the highest one first
    last: int = 0  # all up to this id may; 0 = those alone


class _Chunk(NamedTuple):
    number: int
    parts: int
    counts: bytes | None


class DayAnswers:
    """What slices say of a question, from the newest messages to the oldest.

    Args:
        db: the search file, in a transaction; errors of SQLite come out as they are.
        first: the lowest id that the day may have.
        asked: of at least one condition.
        ids: messages that are wanted, too.

    Raises:
        ValueError: the file is damaged; `TypeError` too, both from what it yields.
    """

    def __init__(
        self, db: sqlite3.Connection, first: int, asked: AskedSlices, ids: Iterable[int]
    ) -> None:
        self._db = db
        self._first = first
        self._asked = asked
        late = [number for (number,) in db.execute("SELECT id FROM late")]
        self._always = sorted({*late, *ids})  # the highest one last

    def between(self, after: int, last: int) -> Iterator[DayStretch]:
        """Yield the stretches with messages between two ids, which may have others, too; the
        newest first, each without a gap to the one before.
        """
        while self._always and self._always[-1] > last:
            self._always.pop()
        chunks = self._db.execute(
            "SELECT last, number, parts, counts FROM chunk ORDER BY number"
        ).fetchall()
        begins = [self._first - 1, *(end for end, *_ in chunks)]
        for (end, *chunk), begin in reversed(list(zip(chunks, begins, strict=False))):
            if end <= after:
                return
            if begin < last:
                yield from self._of_chunk(_Chunk(*chunk), last if last < end else None)
                yield DayStretch(begin, self._taken(begin))

    def _of_chunk(self, chunk: _Chunk, last: int | None) -> Iterator[DayStretch]:
        """Yield the parts of a chunk of which messages may answer, up to an id or all."""
        number, parts, counts = chunk
        wanted = parts
        if last is not None:
            sql = "SELECT number FROM part WHERE last >= ? ORDER BY last LIMIT 1"
            wanted = self._db.execute(sql, (last,)).fetchone()[0] - number + 1
        asked = self._asked if counts is None else in_order(self._asked, read_counts(counts))
        found = common_messages(asked, partial(self._slice, number, parts))
        for place in reversed(range(wanted if found else 0)):
            bits = found[place * _OCTETS : (place + 1) * _OCTETS]
            if bits != _NOTHING[: len(bits)]:
                yield from self._of_part(number + place, int.from_bytes(bits, "little"))

    def _of_part(self, number: int, bits: int) -> Iterator[DayStretch]:
        sql = "SELECT ids FROM part WHERE number = ?"
        ids = read_ids(self._db.execute(sql, (number,)).fetchone()[0])
        if bits.bit_length() > len(ids):
            raise ValueError(f"ids of part {number}")
        after, last = ids[0] - 1, ids[-1]
        if bits.bit_count() > len(ids) // _DEAR:
            yield DayStretch(last, self._taken(last))
            self._taken(after)
            yield DayStretch(after, last=last)
            return
        found = set(self._taken(after))
        while bits:
            place = bits.bit_length() - 1
            found.add(ids[place])
            bits ^= 1 << place
        yield DayStretch(after, sorted(found, reverse=True))

    def _taken(self, after: int) -> list[int]:
        """Return those above an id that are always wanted, the highest one first, once."""
        taken = list[int]()
        while self._always and self._always[-1] > after:
            taken.append(self._always.pop())
        return taken

    def _slice(self, number: int, parts: int, place: int) -> bytes:
        sql = "SELECT bits FROM slices WHERE place = ?"
        row = self._db.execute(sql, (number * SLICES + place,)).fetchone()
        if row is None or len(row[0]) > parts * _OCTETS:
            raise ValueError(f"slices of chunk {number}")
        bits: bytes = row[0]
        return bits
