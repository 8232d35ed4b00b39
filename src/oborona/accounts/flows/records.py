"""Flow records as columns: what every reader makes of its source, and windows are made of.

One record is what an exporter said of one TCP stream in one direction, client to server, or of a
part of it where the stream was longer than the exporter's active timeout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.accounts.flows.addresses import AddressIds, OwnSources

SMTP_PORTS: Final = (25, 465, 587, 2525)
TCP: Final = 6

Numbers = npt.NDArray[np.int64]


class FlowRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records, one row each, in any order."""

    source: AddressIds  # of the client
    destination: AddressIds
    source_port: npt.NDArray[np.uint16]
    packets: Numbers
    octets: Numbers  # of IP packets, headers included
    begin: Numbers  # Unix milliseconds
    end: Numbers  # Unix milliseconds, as the exporter told it: it may lie before the begin
    received: Numbers  # Unix milliseconds; 0: the source does not say
    flags: npt.NDArray[np.uint8]  # of TCP, all of the stream together; 0: not told
    exporter: npt.NDArray[np.uint16]  # place in a list of exporters

    def __len__(self) -> int:
        return len(self.source)

    def only(self, rows: npt.NDArray[np.bool_]) -> Self:
        """Return some of the rows."""
        return type(self)(**{name: getattr(self, name)[rows] for name in self.__struct_fields__})

    def of_sources(self, own: OwnSources) -> Self:
        """Return the rows whose source is ours."""
        return self.only(own.select(self.source))


TYPES: Final[dict[str, type[np.generic]]] = {
    "source": np.int64,
    "destination": np.int64,
    "source_port": np.uint16,
    "packets": np.int64,
    "octets": np.int64,
    "begin": np.int64,
    "end": np.int64,
    "received": np.int64,
    "flags": np.uint8,
    "exporter": np.uint16,
}


class RecordColumns:
    """Gathers records, part by part, each column in one piece that grows where it lies."""

    def __init__(self) -> None:
        self._columns = {name: bytearray() for name in TYPES}

    def add(self, records: FlowRecords) -> None:
        """Put records behind those that are here."""
        for name in TYPES:
            self._columns[name] += getattr(records, name).tobytes()

    def records(self) -> FlowRecords:
        """Return all records, without a copy: nothing can be added any more."""
        return FlowRecords(
            **{name: np.frombuffer(column, TYPES[name]) for name, column in self._columns.items()}
        )


def from_rows(rows: Sequence[Sequence[int]]) -> FlowRecords:
    """Return records from rows, each with its values in the order of the columns."""
    columns = zip(*rows, strict=True) if rows else [()] * len(TYPES)
    return FlowRecords(
        **{
            name: np.array(column, dtype=kind)
            for (name, kind), column in zip(TYPES.items(), columns, strict=True)
        }
    )
