"""The engine that computes on a cluster: Spark, driven from this process by a Java of its own.

Whatever it reads and writes lies in one folder that all machines of the cluster see under the same
path. It is told what DuckDB is told, and gives the same rows in the same order.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
from ibis.expr import types as ir
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from oborona.config.eventlog import TableEngine
from oborona.errors import StoreError
from oborona.eventlog.engines.engine import EngineMemoryError, EventEngine
from oborona.eventlog.engines.statements import Statement, StatementCache
from oborona.eventlog.tables.table_file import SUFFIX

_NO_MEMORY = "OutOfMemoryError"


class SparkEngine(EventEngine):
    """Spark, driven by Ibis.

    Args:
        work: folder for tables on their way; it is there, and all machines of the cluster see it.
        master: where the cluster is, as Spark writes it.
        memory_mib: of this process's Java.
        settings: of Spark beside those that decide what comes of statements.

    Raises:
        StoreError: the cluster can't be reached, or Java is missing.
    """

    dialect = TableEngine.PYSPARK

    def __init__(
        self, work: Path, *, master: str, memory_mib: int, settings: Mapping[str, str]
    ) -> None:
        self._read_from = work / "tables"
        self._tables = 0
        self._folders: dict[str, Path] = {}  # of tables, by the names that the engine knows
        self._clear()  # what a process left that was killed
        wanted = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": f"{memory_mib}m",
            "spark.sql.shuffle.partitions": "16",
            **settings,
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.ansi.enabled": "false",  # x / 0 is none, as rules have it
            "spark.sql.warehouse.dir": str(self._read_from),
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        }
        builder = SparkSession.builder.master(master).appName("oborona eventlog")
        for name, value in wanted.items():
            builder = builder.config(name, value)
        with _explained():
            self._session: SparkSession = builder.getOrCreate()
            self._session.sparkContext.setLogLevel("ERROR")
            self._backend = ibis.pyspark.connect(self._session)
        self._statements = StatementCache(self._backend.compile)
        # every call into Java is a line of it
        logging.getLogger("py4j").setLevel(logging.WARNING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with _explained():
            self._session.stop()
        self._clear()

    def table(self, name: str, table: pa.Table) -> ir.Table:
        # A table of Python's would travel within each statement; a file is read where it is needed.
        def write(folder: Path) -> None:
            pq.write_table(table, folder / f"rows{SUFFIX}")

        return self._read(name, write)

    def files(self, name: str, paths: Iterable[Path], schema: pa.Schema) -> ir.Table:
        found = list(paths)

        def link(folder: Path) -> None:
            for number, path in enumerate(found):
                (folder / f"{number:06}{SUFFIX}").symlink_to(path.absolute())

        return self._read(name, link) if found else self.table(f"no_{name}", schema.empty_table())

    def write(self, rows: ir.Table, path: Path) -> None:
        parts = path.with_name(f"{path.name}.parts")
        with _explained():
            self._computed(self._statements.made(rows)).coalesce(1).write.mode("overwrite").parquet(
                str(parts)
            )
        try:
            (part,) = parts.glob(f"part-*{SUFFIX}")
            part.replace(path)
            shutil.rmtree(parts)
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: Spark wrote no one file there ({error})") from error

    def collect(self, rows: ir.Table) -> pa.Table:
        return self._answered(self._statements.made(rows))

    def answer(self, key: Hashable, build: Callable[[], ir.Table]) -> pa.Table:
        return self._answered(self._statements.of(key, build))

    def _answered(self, statement: Statement) -> pa.Table:
        with _explained():
            found = self._computed(statement).toArrow()
        return found.select(statement.columns.names).cast(statement.columns)

    def _read(self, name: str, fill: Callable[[Path], None]) -> ir.Table:
        """Return the rows of a folder of files, known under a name.

        They have names of ours there: Hadoop reads no file with a colon in its name, and would take
        the folders of a Delta table for columns.
        """
        self._tables += 1
        folder = self._read_from / f"{name}.{self._tables}"
        before = self._folders.pop(name, None)
        self._folders[name] = folder
        try:
            folder.mkdir(parents=True)
            fill(folder)
        except OSError as error:
            raise StoreError(f"{folder}: {error.strerror}") from error
        with _explained():
            self._session.read.parquet(str(folder)).createOrReplaceTempView(name)
            found = self._backend.table(name)
        if before is not None:
            shutil.rmtree(before, ignore_errors=True)
        return found

    def _clear(self) -> None:
        shutil.rmtree(self._read_from, ignore_errors=True)

    def _computed(self, statement: Statement) -> DataFrame:
        found = self._session.sql(statement.sql)
        wide = {
            field.name: found[field.name].cast("long")  # numbers of rows are of 32 bits there
            for field in statement.columns
            if pa.types.is_int64(field.type)
        }
        return found.withColumns(wide)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        told = str(error)
        if _NO_MEMORY in told:
            raise EngineMemoryError(
                "the batch does not fit into the memory that Spark may take"
            ) from error
        raise StoreError(
            f"Spark: {told.splitlines()[0] if told else type(error).__name__}"
        ) from error
