"""Tables as Parquet files: written whole or not at all, the same octets each time.

A file is named once all of it is on the disk. What is written is read again before it is named: a
table that lost a row on the way is never seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from oborona.atomic_file import write_atomically
from oborona.errors import StoreError
from oborona.eventlog.tables.checksum import checksum
from oborona.eventlog.tables.table_file import TableDamaged, TableMismatch

ROW_GROUP: Final = 1 << 17  # rows: what one thread holds in memory at a time, unpacked


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table; its folder exists.

    Raises:
        StoreError: it can't be written; what was there stays.
    """
    write_atomically(path, packed_table(table))


def write_checked(path: Path, table: pa.Table, source: pa.Table) -> None:
    """Write a table that has the columns of another and more, and the same rows.

    Raises:
        TableMismatch: what would be written has other rows; nothing is.
        StoreError: it can't be written; what was there stays.
    """
    octets = packed_table(table)
    packed = pq.read_table(pa.BufferReader(octets), columns=source.column_names)
    found, wanted = (packed.num_rows, checksum(packed)), (source.num_rows, checksum(source))
    if found != wanted:
        raise TableMismatch(
            f"{path}: would hold {found[0]} rows with checksum {found[1]:016x}; its source has "
            f"{wanted[0]} with {wanted[1]:016x}"
        )
    write_atomically(path, octets)


def packed_table(table: pa.Table) -> bytes:
    """Return a table as Parquet: equal tables are equal octets."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.combine_chunks(),
        sink,
        compression="zstd",
        row_group_size=ROW_GROUP,
        use_dictionary=[field.name for field in table.schema if pa.types.is_string(field.type)],
        write_statistics=True,
    )
    octets: bytes = sink.getvalue().to_pybytes()
    return octets


def read_table(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Return a table that we wrote.

    Args:
        path: of the file.
        schema: the columns that it has; None = whatever it has.

    Raises:
        TableDamaged: it is gone, is no Parquet file, is cut short, or has other columns.
        StoreError: it can't be read.
    """
    with _damage_told(path):
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
    if schema is not None and not table.schema.equals(schema):
        raise TableDamaged(
            f"{path}: has other columns than its log: {_differences(table.schema, schema)}"
        )
    return table


def read_column(path: Path, name: str) -> pa.ChunkedArray:
    """Return one column of a table that we wrote, and read no more of the file; errors as of
    `read_table`.
    """
    with _damage_told(path), pq.ParquetFile(path) as file:
        if name not in file.schema_arrow.names:
            raise TableDamaged(f"{path}: has no column {name}")
        return file.read([name]).column(name)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # of Arrow, too, of octets that it can't unpack
        if error.errno is None or isinstance(error, FileNotFoundError):
            raise TableDamaged(f"{path}: is no whole Parquet file ({error})") from error
        raise StoreError(f"{path}: {error.strerror}") from error
    except (pa.ArrowException, ValueError) as error:
        raise TableDamaged(f"{path}: is no whole Parquet file ({error})") from error


def _differences(found: pa.Schema, wanted: pa.Schema) -> str:
    there = {field.name: str(field.type) for field in found}
    told = [
        f"{field.name} is {there.get(field.name, 'missing')} instead of {field.type}"
        for field in wanted
        if there.get(field.name) != str(field.type)
    ]
    told += [f"{name} is too many" for name in there if name not in wanted.names]
    return ", ".join(told[:5]) or "in another order"
