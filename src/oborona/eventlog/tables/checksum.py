"""A checksum of a table's rows that does not hang on their order, nor on any engine.

Each value is hashed to 64 bits under its column's name, those of a row are added up and mixed, and
the rows are added up, all modulo 2^64. Two tables with the same rows have the same; one that lost a
row, doubled one, or changed a value has another but for a chance of 2^-64. It guards against
faults, not against people: the hash is not keyed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from oborona.eventlog.tables.row_total import digits

Hashes = npt.NDArray[np.uint64]
_NULL: Final = np.uint64(0x6E756C6C)
_ONE: Final = np.uint64(0x9E3779B97F4A7C15)
_TWO: Final = np.uint64(0xBF58476D1CE4E5B9)
_THREE: Final = np.uint64(0x94D049BB133111EB)


def checksum(table: pa.Table) -> int:
    """Return the checksum of a table, 0 of an empty one: 64 bits."""
    return int(row_hashes(table).sum(dtype=np.uint64))


def checksum_text(table: pa.Table) -> str:
    """Return the checksum of a table as 16 hexadecimal digits."""
    return digits(checksum(table))


def row_hashes(table: pa.Table) -> Hashes:
    """Return a hash of each row, the same whatever the order of the columns.

    Args:
        table: columns of numbers, texts, octets, flags, times and lists of texts.

    Raises:
        TypeError: a column is of another type.
    """
    rows = np.zeros(table.num_rows, np.uint64)
    for name in table.column_names:
        seed = np.uint64(xxhash.xxh3_64_intdigest(name.encode()))
        rows += _mixed(_values(table.column(name)) ^ seed)
    return _mixed(rows)


def _values(column: pa.ChunkedArray) -> Hashes:
    kind = column.type
    if pa.types.is_list(kind):
        return _texts(pc.binary_join(column, "\x1f"))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(column)
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_floating(kind):
        return _with_nulls(column, _bits(column))
    elif not pa.types.is_integer(kind):
        raise TypeError(f"no checksum of a column of type {kind}")
    return _with_nulls(column, _filled(column.cast(pa.int64()), 0).view(np.uint64))


def _bits(column: pa.ChunkedArray) -> Hashes:
    """Return the bits of doubles, all that are no number as one, and -0 as 0."""
    numbers = _filled(column.cast(pa.float64()), 0.0).astype(np.float64) + 0.0
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)


def _texts(column: pa.ChunkedArray) -> Hashes:
    """Hash each text once, however often it is there."""
    encoded = pc.dictionary_encode(column).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no rows
        return np.zeros(len(column), np.uint64)
    hashes = np.fromiter(
        (
            xxhash.xxh3_64_intdigest(value)
            for value in encoded.dictionary.cast(pa.binary()).to_pylist()
        ),
        np.uint64,
        len(encoded.dictionary),
    )
    places = _filled(encoded.indices, 0)
    found = hashes[places] if len(hashes) else np.zeros(len(places), np.uint64)
    return _with_nulls(column, found)


def _with_nulls(column: pa.ChunkedArray, values: Hashes) -> Hashes:
    if not column.null_count:
        return values
    return np.where(column.is_null().to_numpy(), _NULL, values)


def _filled(column: pa.ChunkedArray | pa.Array, value: float) -> npt.NDArray[np.generic]:
    filled = pc.fill_null(column, value) if column.null_count else column
    numbers: npt.NDArray[np.generic] = (
        filled.to_numpy()
        if isinstance(filled, pa.ChunkedArray)
        else filled.to_numpy(zero_copy_only=False)
    )
    return numbers


def _mixed(values: Hashes) -> Hashes:
    """Return the finaliser of SplitMix64 of each."""
    mixed = values + _ONE
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _TWO
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _THREE
    return mixed ^ (mixed >> np.uint64(31))
