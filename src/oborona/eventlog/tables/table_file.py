"""What files of tables are called, and what is wrong with one."""

from __future__ import annotations

from typing import Final

from oborona.errors import StoreError

SUFFIX: Final = ".parquet"


class TableDamaged(StoreError):  # noqa: N818 - reads as what happened
    """A file holds no whole table of the columns that it is to have."""


class TableMismatch(StoreError):  # noqa: N818 - reads as what happened
    """A table has other rows than the one that it was made of."""
