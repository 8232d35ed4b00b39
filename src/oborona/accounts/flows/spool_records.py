"""A window of flows as the counters have it.

    ClientIp under flow-packets, flow-octets, flow-streams    how much a source sent
    FlowDestination under flow-streams                        that it sent to an address
    FlowDestinations under flow-streams                       to how many addresses, once a day each

Of one source in one window `MOST_DESTINATIONS` are paired: who writes to more has shown it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.accounts.flows.addresses import AddressTable
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
    sources = [table.text_of(number).encode() for number in window.source.tolist()]
    hashes = _hashes(hasher, ShingleType.CLIENT_IP, sources)
    pairs = _pairs(window, table, hasher, sources)
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
            keys_of_hashes(prefix, ShingleType.CLIENT_IP, hashes), amounts, window.start
        )
        keys.append(some_keys)
        cells.append(some_cells)
    yield from encode_records(
        np.concatenate(keys, dtype=KEYS),
        np.concatenate(cells),
        pairs,
        window.start,
        first=first,
    )


def _pairs(
    window: FlowWindow, table: AddressTable, hasher: Hasher, sources: list[bytes]
) -> npt.NDArray[np.void]:
    edges = np.searchsorted(window.pair_source, np.arange(len(sources) + 1)).tolist()
    known, at = np.unique(window.pair_destination, return_inverse=True)
    texts = [table.text_of(number).encode() for number in known.tolist()]
    of_pairs = at.tolist()
    both, distinct = list[int](), list[int]()
    for source, (begin, end) in zip(sources, pairwise(edges), strict=True):
        there = [texts[place] for place in of_pairs[begin : min(end, begin + MOST_DESTINATIONS)]]
        for pair in hasher.pairs(
            ShingleType.FLOW_DESTINATION, ShingleType.FLOW_DESTINATIONS, [source], there
        ):
            both.append(pair.both.hash)
            distinct.append(pair.distinct.hash)
    return pairs_of_hashes(
        CounterPrefix.FLOW_STREAMS,
        (ShingleType.FLOW_DESTINATION, np.array(both, dtype=np.uint64)),
        (ShingleType.FLOW_DESTINATIONS, np.array(distinct, dtype=np.uint64)),
        window.start,
    )


def _hashes(hasher: Hasher, kind: ShingleType, pieces: list[bytes]) -> Hashes:
    return np.fromiter(
        (shingle.hash for shingle in hasher.each(kind, pieces)), np.uint64, len(pieces)
    )
