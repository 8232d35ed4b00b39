"""Bodies of many rows: JSON lines, or an array."""

from __future__ import annotations

from io import BytesIO
from itertools import islice
from typing import Final

import msgspec

from oborona.errors import PeerError

JSON_LINES: Final = ("application/x-ndjson", "application/jsonl")

_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])


class RefusedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that was left out."""

    line: int  # or place in the array, from 1
    reason: str


def json_rows(body: bytes, *, lines: bool, most: int) -> list[tuple[int, bytes]]:
    """Return what a body tells, a JSON text each, with its line, or its place in an array; of too
    many as many as show it.

    Args:
        body: as it came.
        lines: it has a JSON text a line; otherwise it is an array of them.
        most: rows that it may have.

    Raises:
        PeerError: it is no array.
    """
    if lines:  # one at a time: a body of line feeds has a million
        pieces = ((number, line) for number, line in enumerate(BytesIO(body), 1) if line.strip())
        return list(islice(pieces, most + 1))
    try:
        told = _ARRAY.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise PeerError(str(error) or "is nested too deep") from None
    return [(number, bytes(raw)) for number, raw in enumerate(told[: most + 1], 1)]
