"""ClickHouse itself, within the process: a table of flows, and queries with parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from chdb.session import Session

from oborona.accounts.flows.clickhouse_sql import COLUMNS, ClickHouseQuery

SETTINGS = "SETTINGS output_format_json_quote_64bit_integers = 0"
RECORDS = f"""
SELECT {", ".join(COLUMNS)} FROM told
WHERE received = 0 OR received >= {{start:UInt32}} * 1000 AND received < {{end:UInt32}} * 1000;
"""


@cache
def session() -> Any:
    """Return the engine, with an empty table `told`; there can be one in a process."""
    made: Any = Session()  # type: ignore[no-untyped-call]
    made.query(
        "CREATE TABLE told (received Int64, begin Int64, end Int64, source String, destination String,"
        " source_port UInt16, destination_port UInt16, protocol UInt8, packets Int64, octets Int64,"
        " flags UInt16, exporter String, sampling UInt64) ENGINE = Memory"
    )
    return made


def tell(rows: Sequence[Sequence[object]]) -> None:
    """Let the table `told` have these rows and no others; values in the order of `COLUMNS`."""
    session().query("TRUNCATE TABLE told")
    if rows:
        values = ", ".join(f"({', '.join(map(repr, row))})" for row in rows)
        session().query(f"INSERT INTO told ({', '.join(COLUMNS)}) VALUES {values}")


def answer(sql: str, parameters: Mapping[str, str] = {}) -> bytes:
    """Return the answer to a query as lines of JSON.

    Raises:
        RuntimeError: in the words of ClickHouse.
    """
    told = session().query(f"{sql}\n{SETTINGS}", "JSONCompactEachRow", params=dict(parameters))
    return bytes(told.bytes() or b"")


def ask(query: ClickHouseQuery, take: Callable[[bytes], None]) -> None:
    """Have a query answered, as a client does over HTTP."""
    each(answer(query.sql, query.parameters).splitlines(), take)


def each(lines: Iterable[bytes], take: Callable[[bytes], None]) -> None:
    """Give lines to a function."""
    for line in lines:
        take(line)
