"""Rows of a table in a dump that mysqldump or mariadb-dump has written; pure.

Only `INSERT INTO ... VALUES` is read; nothing of it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_INSERT: Final = re.compile(
    r"INSERT\s+(?:IGNORE\s+)?INTO\s+[`\"']?(?P<table>\w{1,64})[`\"']?\s*(?P<columns>\([^()]{0,2000}\))?\s*VALUES\s*",
    re.IGNORECASE,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "Z": "\x1a"}
_WORD: Final = re.compile(r"[^,()'\s]+")


class SqlRow(NamedTuple):
    """One row, or what is wrong with it.

    Args:
        line: 1-based, on which it begins.
        values: NULL is empty.
        columns: names; empty where the dump gives none.
        problem: it can't be read.
    """

    line: int
    values: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    problem: str = ""


def rows_of(text: str, table: str) -> Iterator[SqlRow]:
    """Yield the rows of a table, and one with a problem for each statement that breaks off."""
    index, line, counted = 0, 1, 0
    while (found := _INSERT.search(text, index)) is not None:
        index = found.end()
        if found["table"].lower() != table:
            continue
        columns = tuple(
            name.strip(" `\"'").lower() for name in (found["columns"] or "()")[1:-1].split(",")
        )
        columns = columns if any(columns) else ()
        while True:
            index = _behind_space(text, index)
            line += text.count("\n", counted, index)
            counted = index
            values, index = _row(text, index)
            if values is None:
                yield SqlRow(line, problem="a row that breaks off")
                break
            yield SqlRow(line, values, columns)
            index = _behind_space(text, index)
            if index >= len(text) or text[index] != ",":
                break
            index += 1


def _behind_space(text: str, index: int) -> int:
    while index < len(text) and text[index].isspace():
        index += 1
    return index


def _row(text: str, index: int) -> tuple[tuple[str, ...] | None, int]:
    """Return the values of a row, None where it has no end, and where it is over."""
    values = list[str]()
    if index >= len(text) or text[index] != "(":
        return None, index
    index += 1
    while index < len(text):
        letter = text[index]
        if letter == ")":
            return tuple(values), index + 1
        if letter == "'":
            value, index = _quoted(text, index + 1)
            if value is None:
                return None, index
            values.append(value)
        elif (word := _WORD.match(text, index)) is not None:
            values.append("" if word.group().upper() == "NULL" else word.group())
            index = word.end()
        elif letter == "(":
            return None, index
        else:
            index += 1
    return None, index


def _quoted(text: str, index: int) -> tuple[str | None, int]:
    pieces = list[str]()
    while index < len(text):
        letter = text[index]
        if letter == "\\" and index + 1 < len(text):
            pieces.append(_ESCAPES.get(text[index + 1], text[index + 1]))
            index += 2
        elif letter != "'":
            end = index
            while end < len(text) and text[end] not in "'\\":
                end += 1
            end = max(end, index + 1)
            pieces.append(text[index:end])
            index = end
        elif text.startswith("''", index):
            pieces.append("'")
            index += 2
        else:
            return "".join(pieces), index + 1
    return None, index
