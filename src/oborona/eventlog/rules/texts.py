"""Texts and sets of event rules as an engine of tables sees them, equal to what Python makes of one
row.

What engines do otherwise than the language:
    lower()    by the Unicode of their own year; here ASCII by the engine, all else by Python's own
               table of letters
    sets       functions of members, which drivers refuse or write differently; here one text of
               all members, each between two signs that no member has
    patterns   RE2 in DuckDB, as here; Java's on Spark (`java_patterns`)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules.columns import engine_function
from oborona.policy.expression.forms import small_letters
from oborona.policy.expression.table_dialect import MEMBER_END

_DOTTED_I: Final = "İ"  # the one letter whose small form is two characters
_TEXTS: Final = dt.Array(dt.string)
_list_distinct: Final = engine_function("list_distinct", _TEXTS, _TEXTS)
_array_distinct: Final = engine_function("array_distinct", _TEXTS, _TEXTS)
_OCTETS: Final = {
    TableEngine.DUCKDB: engine_function("strlen", dt.string, dt.int64),
    TableEngine.PYSPARK: engine_function("octet_length", dt.string, dt.int64),
}
_array_compact: Final = engine_function("array_compact", _TEXTS, _TEXTS)


def lower(text: ir.Value, engine: TableEngine) -> ir.Value:
    """Return a text in lower case, letter by letter, as `policy.expression.forms.small_letters`."""
    capitals, small = _letters()
    other = text.replace(_DOTTED_I, _DOTTED_I.lower()).translate(capitals, small)
    return ibis.ifelse(_OCTETS[engine](text) == text.length(), text.lower(), other)


@lru_cache(maxsize=1)
def _letters() -> tuple[str, str]:
    """Return all letters that have another small form, and these."""
    pairs = [
        (letter, small)
        for letter in map(chr, range(sys.maxunicode + 1))
        if (small := small_letters(letter)) != letter and letter != _DOTTED_I
    ]
    return "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)


def members(texts: ir.Value) -> ir.Value:
    """Return all members of a set as one text, each between two signs; empty for an empty set."""
    joined = texts.join(MEMBER_END)
    return ibis.ifelse(texts.length() > 0, MEMBER_END + joined + MEMBER_END, "")


def any_contains(texts: ir.Value, piece: str) -> ir.Value:
    """Return whether any member holds a piece."""
    return (texts.length() > 0) & texts.join(MEMBER_END).contains(piece)


def any_starts(texts: ir.Value, starts: Sequence[str]) -> ir.Value:
    """Return whether any member starts with one of these."""
    every = members(texts)
    return _any(every.contains(MEMBER_END + start) & (every != "") for start in starts)


def any_ends(texts: ir.Value, ends: Sequence[str]) -> ir.Value:
    """Return whether any member ends with one of these."""
    every = members(texts)
    return _any(every.contains(end + MEMBER_END) & (every != "") for end in ends)


def starts_with(text: ir.Value, starts: Sequence[str | ir.Value]) -> ir.Value:
    """Return whether a text starts with one of these."""
    return _any(text.startswith(start) for start in starts)


def ends_with(text: ir.Value, ends: Sequence[str | ir.Value]) -> ir.Value:
    """Return whether a text ends with one of these."""
    return _any(text.endswith(end) for end in ends)


def size(texts: ir.Value, engine: TableEngine) -> ir.Value:
    """Return how many distinct members a set has."""
    if engine is TableEngine.DUCKDB:
        return _list_distinct(texts).length()
    return _array_distinct(_array_compact(texts)).length()


def _any(conditions: Iterable[ir.Value]) -> ir.Value:
    return reduce(or_, conditions, ibis.literal(False))
