"""The engine that computes on this machine: DuckDB, within the process.

It reads files of one folder alone, has no network, and takes so much memory and no more: what does
not fit it puts beside, into a folder that is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import duckdb
import ibis
import pyarrow as pa
from ibis.backends.duckdb import Backend
from ibis.expr import types as ir

from oborona.config.eventlog import TableEngine
from oborona.errors import StoreError
from oborona.eventlog.engines.engine import EngineMemoryError, EventEngine
from oborona.eventlog.engines.statements import Statement, StatementCache


class LocalEngine(EventEngine):
    """DuckDB, driven by Ibis.

    Args:
        folder: whose files it may read.
        work: folder of what does not fit into memory; it is there.
        memory_mib: of its buffers.
        threads: of the engine.
    """

    dialect = TableEngine.DUCKDB

    def __init__(self, folder: Path, work: Path, *, memory_mib: int, threads: int = 1) -> None:
        self._backend: Backend = ibis.duckdb.connect(
            threads=threads,
            memory_limit=f"{memory_mib}MiB",
            temp_directory=str(work),
            autoinstall_known_extensions=False,
            autoload_known_extensions=False,
            preserve_insertion_order=False,
        )
        self._statements = StatementCache(self._backend.compile)
        self._database: duckdb.DuckDBPyConnection = self._backend.con
        self._database.execute("SET TimeZone = 'UTC'")  # times without a zone are read in it
        self._database.execute("SET allowed_directories = ?", [[str(folder), str(work)]])
        self._database.execute("SET enable_external_access = false")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._backend.disconnect()

    def table(self, name: str, table: pa.Table) -> ir.Table:
        # Ibis holds columns that can't be null for another type, and files never are of it. Its own
        # tables of memory are never let go by the engine.
        fields = [field.with_nullable(True) for field in table.schema]
        self._database.register(name, table.cast(pa.schema(fields)))
        with _explained():
            return self._backend.table(name)

    def files(self, name: str, paths: Iterable[Path], schema: pa.Schema) -> ir.Table:
        names = [str(path) for path in paths]
        if not names:
            return self.table(f"no_{name}", schema.empty_table())
        with _explained():
            return self._backend.read_parquet(names, table_name=name)

    def write(self, rows: ir.Table, path: Path) -> None:
        with _explained():
            self._backend.to_parquet(rows, path)

    def collect(self, rows: ir.Table) -> pa.Table:
        return self._computed(self._statements.made(rows))

    def answer(self, key: Hashable, build: Callable[[], ir.Table]) -> pa.Table:
        return self._computed(self._statements.of(key, build))

    def _computed(self, statement: Statement) -> pa.Table:
        with _explained():
            found: pa.Table = self._database.sql(statement.sql).to_arrow_table()
            return found.cast(statement.columns)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise EngineMemoryError(
            "the batch does not fit into the memory that it may take"
        ) from error
    except duckdb.Error as error:
        raise StoreError(f"DuckDB: {str(error).splitlines()[0]}") from error
