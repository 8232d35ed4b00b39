"""A table that others read while it is written: Delta Lake, by delta-rs.

Who reads it sees a whole version or the one before. There is one writer: on a local file system
nothing keeps two apart, but the lock of the process of event logs.

delta-rs takes a repeated application transaction and doubles its rows: what was appended under a
number is looked up before anything is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from oborona.errors import StoreError
from oborona.eventlog.tables.checksum import checksum
from oborona.eventlog.tables.parquet import ROW_GROUP
from oborona.eventlog.tables.row_total import LARGEST, RowTotal, digits

APPLICATION: Final = "oborona"
"""The name under which a table knows what was appended to it."""
REVISION: Final = "oborona revision"
"""The name under which it knows whose rows were given out again."""


class DeliveredTable:
    """A table with a partition for each slot of event time.

    Args:
        path: its folder; it is made with the first rows.
        partition: the column of partitions: texts.
    """

    def __init__(self, path: Path, partition: str) -> None:
        self.path = path
        self._partition = partition

    def last(self, application: str = APPLICATION) -> int:
        """Return the number of the last commit of a kind; 0 = there is none.

        Args:
            application: the kind: `APPLICATION`, or `REVISION`.

        Raises:
            StoreError: the table can't be read.
        """
        with self._told():
            table = self._opened()
            known = None if table is None else table.transaction_version(application)
            return known or 0

    def append(self, number: int, rows: pa.Table) -> None:
        """Append rows in one commit.

        Args:
            number: under which it is known; greater than all before.
            rows: with the column of partitions.

        Raises:
            StoreError: they can't be written; nothing of them is seen.
        """
        self._write(APPLICATION, number, rows, mode="append")

    def replace(
        self,
        number: int,
        value: str,
        rows: pa.Table | pa.RecordBatchReader,
        application: str = APPLICATION,
    ) -> None:
        """Put rows in the place of a partition in one commit; else as `append`.

        Args:
            number: under which it is known.
            value: of the partition.
            rows: of that partition alone.
            application: the kind of the commit.
        """
        predicate = f"{self._partition} = '{value}'"
        self._write(application, number, rows, mode="overwrite", predicate=predicate)

    def files(self, value: str | None = None) -> frozenset[str]:
        """Return the paths of the files that the table is made of now.

        Args:
            value: of one partition; None = all.
        """
        filters = None if value is None else [(self._partition, "=", value)]
        with self._told():
            table = self._opened()
            return (
                frozenset()
                if table is None
                else frozenset(table.file_uris(file_pruning_predicate=filters))
            )

    def files_of_all(self) -> dict[str, list[str]]:
        """Return the paths of the files of each partition that has any, as the table is now."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.files()):
            value = unquote(Path(path).parent.name).removeprefix(f"{self._partition}=")
            found.setdefault(value, []).append(path)
        return found

    def counts(self) -> Mapping[str, int]:
        """Return how many rows each partition has, as the table's log says."""
        with self._told():
            table = self._opened()
            counts = Counter[str]()
            if table is not None:
                actions = pa.table(table.get_add_actions(flatten=True))
                for value, rows in zip(
                    actions.column(f"partition.{self._partition}").to_pylist(),
                    actions.column("num_records").to_pylist(),
                    strict=True,
                ):
                    counts[value] += rows
            return counts

    def rows(self, files: Collection[str]) -> pa.Table | None:
        """Return the rows of some of its files, without the partition's column; None of none."""
        with self._told():
            tables = list(map(_read, sorted(files)))
            return pa.concat_tables(tables) if tables else None

    def total(self, files: Collection[str]) -> RowTotal:
        """Return how many rows some of its files have, and their checksum; little is in memory."""
        counted, summed = 0, 0
        with self._told():
            for path in files:
                with pq.ParquetFile(path) as file:
                    for batch in file.iter_batches(ROW_GROUP):
                        counted += batch.num_rows
                        summed += checksum(plain_texts(pa.Table.from_batches([batch])))
        return RowTotal(counted, digits(summed & LARGEST))

    def rows_of(self, column: str, value: int) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows that have a value in a column, by partition, without its column.

        Raises:
            StoreError: the table can't be read.
        """
        for partition, files in self.files_of_all().items():
            with self._told():
                found = [pq.ParquetFile(path).read(columns=[column]) for path in files]
                having = [
                    path
                    for path, values in zip(files, found, strict=True)
                    if pc.any(pc.equal(values.column(column), value)).as_py()
                ]
                rows = [
                    table.filter(pc.equal(table.column(column), value))
                    for table in map(_read, having)
                ]
            if rows:
                yield partition, pa.concat_tables(rows)

    def erase(self, column: str, value: int) -> None:
        """Remove the rows that have a value in a column, and all files that no version of now
        needs: who reads an older one at this moment has to begin again.

        Raises:
            StoreError: the table can't be read or written.
        """
        with self._told():
            table = self._opened()
            if table is not None:
                table.delete(f"{column} = {value}")
                table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    def delete(self, before: str) -> None:
        """Remove the partitions whose value is less than one, and their files."""
        with self._told():
            table = self._opened()
            if table is not None:
                table.delete(f"{self._partition} < '{before}'")

    def tidy(self) -> None:
        """Make few large files of many small ones; remove those that no version of a week needs."""
        with self._told():
            table = self._opened()
            if table is not None:
                table.optimize.compact()
                table.vacuum(dry_run=False)

    def _write(
        self, application: str, number: int, rows: pa.Table | pa.RecordBatchReader, **mode: str
    ) -> None:
        with self._told():
            write_deltalake(
                str(self.path),
                rows,
                partition_by=[self._partition],
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(application, number)]
                ),
                **mode,  # type: ignore[call-overload]
            )

    def _opened(self) -> DeltaTable | None:
        return DeltaTable(str(self.path)) if DeltaTable.is_deltatable(str(self.path)) else None

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}") from error
        except (DeltaError, pa.ArrowException, ValueError) as error:
            raise StoreError(f"{self.path}: {str(error).splitlines()[0][:300]}") from error


def _read(path: str) -> pa.Table:
    """Return the rows of a file."""
    return plain_texts(pq.ParquetFile(path).read())


def plain_texts(table: pa.Table) -> pa.Table:
    """Return rows with texts that delta-rs wrote as views of texts as all others."""
    return table.cast(
        pa.schema([field.with_type(_plain(field.type)) for field in table.schema], metadata=None)
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    return pa.string() if pa.types.is_string_view(kind) else kind
