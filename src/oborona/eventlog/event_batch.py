"""A batch of events that somebody sends, checked row by row before anybody says that it is taken.

A row is a JSON object whose values are of the kinds that its log declares. What is kept of it are
declared columns alone, written anew: whoever makes tables reads what was checked here. JSON that
can be read in two ways (a name that is there twice, a number that no double holds) is refused.

No package of event logs is needed: the HTTP door does it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from oborona.eventlog.declared_log import DeclaredLog
from oborona.eventlog.export.record_shaper import (
    MOST_OCTETS,
    BrokenRecord,
    Record,
    record_values,
)

LONGEST_REASON: Final = 300  # characters
IDENT_OCTETS: Final = 16


class EventBatch(NamedTuple):
    """What is taken of a batch, and what is not."""

    octets: bytes  # the rows, as JSON lines
    rows: int
    refused: tuple[tuple[int, str], ...]  # number of a row, and why

    def ident(self, *names: str) -> str:
        """Return what tells it from any other batch, for who sends the same rows under the same
        names.
        """
        digest = blake2b(digest_size=IDENT_OCTETS)
        for part in (*(name.encode() for name in names), self.octets):
            digest.update(b"%d:" % len(part))
            digest.update(part)
        return digest.hexdigest()


def check_batch(log: DeclaredLog, rows: Iterable[tuple[int, bytes]]) -> EventBatch:
    """Return what can be taken of some rows.

    Args:
        log: whose rows they are.
        rows: of JSON, each with its number.
    """
    taken: list[bytes] = []
    refused: list[tuple[int, str]] = []
    known: dict[object, int] = {}  # ids, each with its row
    for number, octets in rows:
        try:
            taken.append(_line(_record(log, octets, number, known)))
        except BrokenRecord as broken:
            why = str(broken).encode("utf-8", "backslashreplace").decode()
            refused.append((number, why[:LONGEST_REASON]))
    return EventBatch(b"".join(taken), len(taken), tuple(refused))


def _record(log: DeclaredLog, octets: bytes, number: int, known: dict[object, int]) -> Record:
    """Return what a row says in declared columns; note its id among those that are known."""
    try:
        said = _DECODER.decode(octets.decode())
    except (ValueError, RecursionError) as error:
        raise BrokenRecord(f"no JSON object: {error}") from None
    if not isinstance(said, dict):
        raise BrokenRecord("no JSON object")
    record = {name: said[name] for name in log.source if said.get(name) is not None}
    for name, value in record.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise BrokenRecord(f"{name} is a number that is too large")
        if isinstance(value, dict | list):
            raise BrokenRecord(f"{name} is neither text nor number")
    ident = record_values(log, record).get(log.id, number)
    if known.setdefault(ident, number) != number:
        raise BrokenRecord(f"{log.id} is that of row {known[ident]}, too")
    return record


def _line(record: Record) -> bytes:
    try:
        line = msgspec.json.encode(record) + b"\n"
    except UnicodeError as error:
        raise BrokenRecord(f"a text is no Unicode: {error}") from None
    if len(line) > MOST_OCTETS:
        raise BrokenRecord(f"more than {MOST_OCTETS} octets")
    return line


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; which of two values of a name is meant nobody can tell."""
    said = dict(pairs)
    if len(said) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise BrokenRecord(f"{name[:80]!r} is there twice")
    return said


def _no_number(name: str) -> NoReturn:
    raise BrokenRecord(f"{name} is no number of JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
