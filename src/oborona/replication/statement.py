"""Statements of a change, as the log has them: SQL and values, in the order in which they were
run.

Who runs them on the same file has the same file: values of the clock and of chance are among the
values, and no SQL of a common store asks for them (a test looks).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oborona.errors import StoreError

MAX_OCTETS: Final = 64 << 20  # of one change: PostgreSQL takes up to 1 GB, a machine's memory less
_PARTS: Final = ("SAVEPOINT", "RELEASE", "ROLLBACK TO")
_SHAPES: Final = ("CREATE", "ALTER", "DROP", "PRAGMA USER_VERSION =", "PRAGMA APPLICATION_ID =")


class RecordedStatement(msgspec.Struct, frozen=True, array_like=True):
    """One statement, with the values of each time that it was run."""

    sql: str
    values: list[Any]  # a list or dict for each time


class ChangeDamagedError(StoreError):
    """What is in the log as a change is none."""


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(list[RecordedStatement])


def is_bound(sql: str) -> bool:
    """Whether a statement is part of a change though it changes no row: it bounds what is undone
    alone, or gives the file another shape.
    """
    return sql.lstrip()[:32].upper().startswith((*_PARTS, *_SHAPES))


def is_change(statements: Sequence[RecordedStatement]) -> bool:
    """Whether there is more among statements than bounds of what was undone."""
    return any(not one.sql.startswith(_PARTS) for one in statements)


def encode(statements: Sequence[RecordedStatement]) -> bytes:
    """Return statements as octets.

    Raises:
        StoreError: they are too large for one change.
    """
    octets = _encoder.encode(statements)
    if len(octets) > MAX_OCTETS:
        raise StoreError(
            f"a change of {len(octets):,} octets is more than the {MAX_OCTETS:,} of the site's log"
        )
    return octets


def decode(octets: bytes) -> list[RecordedStatement]:
    """Return the statements that octets are.

    Raises:
        ChangeDamagedError: they are none.
    """
    try:
        return _decoder.decode(octets)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ChangeDamagedError(f"is no list of statements ({error})") from error
