"""What an engine is asked to do, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import pyarrow as pa
from ibis.expr import types as ir

from oborona.config.eventlog import TableEngine
from oborona.errors import StoreError


class EngineMemoryError(StoreError):
    """The memory that the engine may take does not suffice."""


class EventEngine(Protocol):
    """Computes expressions of Ibis over tables; for one thread at a time, and to be closed."""

    @property
    def dialect(self) -> TableEngine:
        """Which statements are written for."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    def close(self) -> None:
        """Let its memory go."""
        ...

    def table(self, name: str, table: pa.Table) -> ir.Table:
        """Return a table in memory as one of the engine.

        Args:
            name: under which the engine knows it, and holds its memory; the next one of the name
                takes its place.
            table: its rows.
        """
        ...

    def files(self, name: str, paths: Iterable[Path], schema: pa.Schema) -> ir.Table:
        """Return the rows of Parquet files with the same columns.

        Args:
            name: under which the engine knows them; the next ones of the name take their place.
            paths: of files that we wrote; none = no rows.
            schema: their columns.
        """
        ...

    def write(self, rows: ir.Table, path: Path) -> None:
        """Write rows, computed, as one Parquet file in their order: where they are too many for the
        memory.

        Args:
            rows: to be computed.
            path: in a folder that the engine may use.

        Raises:
            EngineMemoryError: the memory does not suffice.
            StoreError: a file can't be read or written.
        """
        ...

    def collect(self, rows: ir.Table) -> pa.Table:
        """Return rows, computed, in their order.

        Raises:
            EngineMemoryError: the memory does not suffice.
            StoreError: a file can't be read.
        """
        ...

    def answer(self, key: Hashable, build: Callable[[], ir.Table]) -> pa.Table:
        """Return rows, computed by the statement that is known under a key.

        Args:
            key: the same for the same expression over tables of the same names and columns.
            build: makes the expression where none is known.

        Raises:
            EngineMemoryError, StoreError: as of `collect`.
        """
        ...
