"""Rows of messages that somebody ticked: what a box of each says, and what acts need of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from oborona.console.track_row import TrackedMessage

MOST: Final = 50  # rows that are acted on at once
MOST_VALUE: Final = 2_000  # characters of a box


class TickedRow(NamedTuple):
    """A row that was ticked.

    Args:
        id: of the message, or reference of the refusal.
        refused: before its content: there is no copy, and nothing to learn.
        senders: envelope sender and author, as far as they are told.
        client: address.
    """

    id: str
    refused: bool
    senders: tuple[str, ...]
    client: str


def box_value(row: TrackedMessage) -> str:
    """Return what the box of a row sends."""
    author = row.header_from.rpartition("<")[2].rstrip("> ")
    senders = [one for one in dict.fromkeys((row.sender, author)) if "@" in one]
    words = [("id", row.id), *(("from", one) for one in senders), ("client", row.client)]
    if row.refused:
        words.append(("refused", "1"))
    return urlencode([(name, value[:300]) for name, value in words], errors="replace")


def ticked_rows(values: Iterable[str]) -> list[TickedRow]:
    """Return the rows whose boxes a form sent; what is none is left out."""
    rows = dict[str, TickedRow]()
    for value in values:
        fields = dict[str, list[str]]()
        for name, word in parse_qsl(value[:MOST_VALUE], max_num_fields=None):
            fields.setdefault(name, []).append(word)
        (ident,) = fields.get("id", [""])[:1]
        if ident:
            rows[ident] = TickedRow(
                ident,
                "refused" in fields,
                tuple(fields.get("from", ())),
                (fields.get("client") or [""])[0],
            )
    return list(rows.values())[:MOST]


def ids_of(rows: Sequence[TickedRow]) -> list[str]:
    """Return the messages among rows: whatever was refused before its content is none."""
    return [row.id for row in rows if not row.refused]
