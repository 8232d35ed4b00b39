"""A window of flows as the counters have it.

    ClientIp under flow-packets, flow-octets, flow-streams    how much a source sent
    FlowDestination under flow-streams                        that it sent to an address
    FlowDestinations under flow-streams                       to how many addresses, once a day each

Of one source in one window `MOST_DESTINATIONS` are paired: who writes to more has shown it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.accounts.flows.addresses import AddressIds, AddressTable
from oborona.accounts.flows.windows import FlowWindow
from oborona.counters.batch import KEYS
from oborona.counters.bulk_batch import (
    encode_records,
    keys_of_hashes,
    pairs_of_hashes,
    seen_cells,
)
from oborona.message.hashing import Hasher, ShingleType
from oborona.types import CounterPrefix

MOST_DESTINATIONS: Final = 1000
SUMS: Final = 6  # of a source: packets and octets have two cells or three
AT_ONCE: Final = 100_000  # entries of sources whose records are made at once
KNOWN: Final = 200_000  # texts of addresses: 20 MB

Hashes = npt.NDArray[np.uint64]


def spool_records(
    windows: Sequence[FlowWindow], table: AddressTable, hasher: Hasher
) -> Iterator[bytes]:
    """Yield the records of a spool that count windows, numbered from 1 on.

    Args:
        windows: of one file.
        table: of their addresses.
        hasher: of the site.
    """
    sequence = 1
    for window in windows:
        for record in _records(window, table, hasher, sequence):
            yield record
            sequence += 1


def _records(
    window: FlowWindow, table: AddressTable, hasher: Hasher, first: int
) -> Iterator[bytes]:
    """Yield the records of a window, made of some sources at a time."""
    edges = np.searchsorted(window.pair_source, np.arange(len(window.source) + 1))
    entries = np.cumsum(np.minimum(np.diff(edges), MOST_DESTINATIONS) + SUMS)
    texts = _AddressTexts(table)
    begin = done = 0
    while begin < len(entries):
        end = max(begin + 1, int(np.searchsorted(entries, done + AT_ONCE, side="right")))
        for record in _of_sources(window, slice(begin, end), edges, texts, hasher, first):
            yield record
            first += 1
        begin, done = end, int(entries[end - 1])


def _of_sources(
    window: FlowWindow,
    rows: slice,
    edges: npt.NDArray[np.intp],
    texts: _AddressTexts,
    hasher: Hasher,
    first: int,
) -> Iterator[bytes]:
    sources = texts.of(window.source[rows])
    hashes = _hashes(hasher, ShingleType.CLIENT_IP, sources)
    pairs = _pairs(window, edges[rows.start : rows.stop + 1].tolist(), texts, hasher, sources)
    # what makes a pair known to later windows is in the record of its pair: before it, nobody had
    # seen the pair
    once = seen_cells(pairs["both"], np.ones(len(pairs), dtype=np.int64), window.start)
    keys, cells = [once[0]], [once[1]]
    for prefix, amounts in (
        (CounterPrefix.FLOW_PACKETS, window.packets),
        (CounterPrefix.FLOW_OCTETS, window.octets),
        (CounterPrefix.FLOW_STREAMS, window.streams),
    ):
        some_keys, some_cells = seen_cells(
            keys_of_hashes(prefix, ShingleType.CLIENT_IP, hashes), amounts[rows], window.start
        )
        keys.append(some_keys)
        cells.append(some_cells)
    yield from encode_records(
        np.concatenate(keys, dtype=KEYS), np.concatenate(cells), pairs, window.start, first=first
    )


def _pairs(
    window: FlowWindow,
    edges: list[int],
    texts: _AddressTexts,
    hasher: Hasher,
    sources: list[bytes],
) -> npt.NDArray[np.void]:
    there = texts.of(window.pair_destination[edges[0] : edges[-1]])
    both, distinct, numbers = array("Q"), array("Q"), []
    for source, (begin, end) in zip(sources, pairwise(edges), strict=True):
        hashes, unique = hasher.pair_hashes(
            ShingleType.FLOW_DESTINATION,
            ShingleType.FLOW_DESTINATIONS,
            source,
            there[begin - edges[0] : min(end, begin + MOST_DESTINATIONS) - edges[0]],
        )
        both.extend(hashes)
        distinct.append(unique)
        numbers.append(len(hashes))
    return pairs_of_hashes(
        CounterPrefix.FLOW_STREAMS,
        (ShingleType.FLOW_DESTINATION, np.array(both, dtype=np.uint64)),
        (ShingleType.FLOW_DESTINATIONS, np.repeat(np.array(distinct, dtype=np.uint64), numbers)),
        window.start,
    )


class _AddressTexts:
    """The texts of addresses; of those that come again and again, made once."""

    def __init__(self, table: AddressTable) -> None:
        self._table = table
        self._known: dict[int, bytes] = {}

    def of(self, numbers: AddressIds) -> list[bytes]:
        if len(self._known) > KNOWN:
            self._known.clear()
        known, text_of = self._known, self._table.text_of
        found = []
        for number in numbers.tolist():
            text = known.get(number)
            if text is None:
                text = known[number] = text_of(number).encode()
            found.append(text)
        return found


def _hashes(hasher: Hasher, kind: ShingleType, pieces: list[bytes]) -> Hashes:
    return np.fromiter(
        (shingle.hash for shingle in hasher.each(kind, pieces)), np.uint64, len(pieces)
    )
