"""A file of flows is taken: counted once, whatever dies when.

    file → records → windows → staged for the counters → (one transaction: file, windows, exporters)
    → released to the counters

A file is taken when the transaction is on the disk.  Before that a death leaves a staged file that
nobody noted, which goes; after it, one that is noted, which is released
(`counters/whole_spool.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.accounts.addresses.own_networks import NetworkHolder
from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.records import Numbers
from oborona.accounts.flows.spool_records import spool_records
from oborona.accounts.flows.store import (
    ExporterWindow,
    FileState,
    FlowFile,
    FlowStore,
    SourceWindow,
)
from oborona.accounts.flows.windows import FlowWindow
from oborona.counters.whole_spool import WholeSpool
from oborona.message.hashing import Hasher

_NETWORK_BITS: Final = 32  # networks of a window have smaller numbers


class ReadFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader made of one file, or of one window of a data base."""

    name: str
    size: int
    start: int  # Unix seconds
    windows: list[FlowWindow]
    table: AddressTable
    exporters: list[ExporterWindow]
    records: int
    wrong: int = 0


class FlowTaker:
    """Takes files.

    Args:
        store: open; whoever calls closes it.
        spool: the staged counts.
        hasher: of the site.
        kept_from: windows of sources with so many streams are kept.
        holder: tells whose account an address is.
    """

    def __init__(
        self,
        store: FlowStore,
        spool: WholeSpool,
        hasher: Hasher,
        *,
        kept_from: int,
        holder: Callable[[str], NetworkHolder] = lambda _address: NetworkHolder(),
    ) -> None:
        self._store = store
        self._spool = spool
        self._hasher = hasher
        self._kept_from = kept_from
        self._holder = holder

    def recover(self, now: float) -> None:
        """Bring to an end what a process before us began.

        Raises:
            StoreError: it can't; a later call tries again.
        """
        noted = self._store.staged()
        for file in noted:
            self._release(file, now)
        for name in self._spool.staged() - {file.spool for file in noted}:
            self._spool.unstage(name)

    def take(
        self,
        read: ReadFile,
        now: float,
        goes_on: Callable[[], None] = lambda: None,
    ) -> FlowFile:
        """Take a file, and have it counted.

        Raises:
            StoreError: it is not taken, or taken and not released: `recover` goes on from there.
        """
        spool = self._spool.stage(spool_records(read.windows, read.table, self._hasher))
        file = FlowFile(
            name=read.name,
            size=read.size,
            state=FileState.STAGED,
            spool=spool,
            records=read.records,
            wrong=read.wrong,
            start=read.start,
            taken=now,
        )
        goes_on()
        self._store.take(
            file,
            (
                source
                for window in read.windows
                for source in kept(window, read.table, self._kept_from, self._holder)
            ),
            read.exporters,
        )
        return self._release(file, now)

    def _release(self, file: FlowFile, now: float) -> FlowFile:
        self._spool.release(file.spool)
        taken = msgspec.structs.replace(file, state=FileState.TAKEN, spool="", taken=now)
        self._store.note(taken)
        return taken


def kept(
    window: FlowWindow, table: AddressTable, least: int, holder: Callable[[str], NetworkHolder]
) -> list[SourceWindow]:
    """Return the rows of a window that are kept for a day."""
    many = window.streams >= least
    networks = _networks(window, table, many)
    found = []
    for row in many.nonzero()[0].tolist():
        address = table.text_of(int(window.source[row]))
        at_once = int(window.at_once[row])
        held_by = holder(address)
        found.append(
            SourceWindow(
                start=window.start,
                address=address,
                packets=int(window.packets[row]),
                octets=int(window.octets[row]),
                streams=int(window.streams[row]),
                at_once=at_once if at_once >= 0 else None,
                destinations=int(window.destinations[row]),
                refused=int(window.refused[row]),
                sampled=bool(window.sampled[row]),
                networks=int(networks[row]),
                account=held_by.account,
                customer=held_by.customer,
                state=held_by.state,
            )
        )
    return found


def _networks(window: FlowWindow, table: AddressTable, many: npt.NDArray[np.bool_]) -> Numbers:
    """Return to how many networks a source sent, by row; 0 of rows that are not asked for."""
    wanted = many[window.pair_source]
    network = table.networks_of(window.pair_destination[wanted])
    # two numbers in one, so that one plain sort brings what is equal together
    pairs = (window.pair_source[wanted] << _NETWORK_BITS) | network
    pairs.sort()
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = pairs[1:] != pairs[:-1]
    counts: Numbers = np.bincount(pairs[first] >> _NETWORK_BITS, minlength=len(many))
    return counts
