"""The rows by which ClickHouse answers the queries of one window, checked, become the window.

An answer comes from another program over a network: what can't be so is refused as a whole.
"""

from __future__ import annotations

from array import array
from typing import Annotated, Final, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.json_lines import MOST
from oborona.accounts.flows.nfdump import FileDamaged
from oborona.accounts.flows.spool_records import MOST_DESTINATIONS
from oborona.accounts.flows.windows import FlowWindow

SHOWN: Final = 60  # octets of a row that is none
Amount = Annotated[int, Meta(ge=0, le=MOST)]


class ExporterRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What an exporter told in the window."""

    exporter: int  # bits of its address
    records: Amount
    wrong: Amount  # records that are none
    times_wrong: Amount
    lag_s: float | None  # None: of no record
    sampling: Amount


class SharedRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How much of what an exporter told others told, too."""

    exporter: int
    share: Annotated[float, Meta(ge=0, le=1)]


class SourceRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sums of a source."""

    source: int  # bits of its address
    packets: Amount
    octets: Amount
    streams: Amount
    at_once: Annotated[int, Meta(ge=-1, le=MOST)]  # -1: not known
    destinations: Amount
    refused: Amount
    sampled: bool | Annotated[int, Meta(ge=0, le=1)]
    to: Annotated[list[int], Meta(max_length=MOST_DESTINATIONS)]  # bits of addresses, each once


Row = TypeVar("Row")


def decode_row(decoder: msgspec.json.Decoder[Row], line: bytes) -> Row:
    """Return a row.

    Raises:
        FileDamaged: the line is none.
    """
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileDamaged(f"a row that is none ({error}): {line[:SHOWN]!r}") from error


class SourceColumns:
    """Gathers the rows of sources, and makes the window of them.

    Args:
        table: takes the addresses.
        own: which sources are ours.
    """

    def __init__(self, table: AddressTable, own: OwnSources) -> None:
        self._table = table
        self._own = own
        self._decoder = msgspec.json.Decoder(SourceRow)
        self._columns = {name: array("q") for name in (*SourceRow.__struct_fields__[:-1], "paired")}
        self._pairs = array("q")

    @property
    def streams(self) -> int:
        """How many streams all rows tell of."""
        return sum(self._columns["streams"])

    def add(self, line: bytes) -> None:
        """Take a line of the answer.

        Raises:
            FileDamaged: it is no row, or one that can't be so.
        """
        row = decode_row(self._decoder, line)
        if not (
            max(row.refused, row.destinations, row.at_once) <= row.streams
            and len(row.to) == min(row.destinations, MOST_DESTINATIONS)
        ):
            raise FileDamaged(f"sums that can't be so: {line[:SHOWN]!r}")
        try:
            source = self._table.id_of_bits(row.source)
            self._pairs.extend(map(self._table.id_of_bits, row.to))
        except ValueError as error:
            raise FileDamaged(str(error)) from error
        values = (source, *msgspec.structs.astuple(row)[1:-1], len(row.to))
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)

    def window(self, start: int) -> FlowWindow:
        """Return the window of all rows; they are let go.

        Raises:
            FileDamaged: a source comes twice, or is not ours.
        """
        columns = {name: np.array(column, dtype=np.int64) for name, column in self._columns.items()}
        pairs = np.array(self._pairs, dtype=np.int64)
        self._columns, self._pairs = {}, array("q")
        order = np.argsort(columns["source"], kind="stable")
        paired = columns.pop("paired")
        source = columns["source"][order]
        if (source[1:] == source[:-1]).any():
            raise FileDamaged("a source comes twice")
        if not self._own.select(source).all():
            raise FileDamaged("a source that is not ours")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        pair_source = np.repeat(place, paired)
        by_source = np.argsort(pair_source, kind="stable")
        sorted_columns = {name: column[order] for name, column in columns.items()}
        return FlowWindow(
            start=start,
            **sorted_columns | {"sampled": sorted_columns["sampled"].astype(bool)},
            pair_source=pair_source[by_source],
            pair_destination=pairs[by_source],
        )
