"""Texts and sets of event rules as an engine of tables sees them, equal to what Python makes of one
row.

What engines do otherwise than the language:
    lower()    by the Unicode of their own year, and without the Greek sigma that ends a word; here
               ASCII by the engine, all else by Python's own table of letters
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

from oborona.eventlog.rules.columns import TableEngine, engine_function
from oborona.policy.expression.table_dialect import MEMBER_END

_SIGMA: Final = "Σ"
_FINAL_SIGMA: Final = "ς"
_DOTTED_I: Final = "İ"  # the one letter whose small form is two characters
_ASCII: Final = r"^[\x00-\x7f]*$"
_TEXTS: Final = dt.Array(dt.string)
_list_distinct: Final = engine_function("list_distinct", _TEXTS, _TEXTS)
_array_distinct: Final = engine_function("array_distinct", _TEXTS, _TEXTS)
_array_compact: Final = engine_function("array_compact", _TEXTS, _TEXTS)


def lower(text: ir.Value) -> ir.Value:
    """Return a text in lower case, letter by letter as Python's `str.lower` has it."""
    capitals, small = _letters()
    dotted = text.replace(_DOTTED_I, "i̇")
    before, after = _sigma_patterns()
    ended = dotted.re_replace(before + _SIGMA + after, rf"\1{_FINAL_SIGMA}\2")
    other = ibis.ifelse(text.contains(_SIGMA), ended, dotted).translate(capitals, small)
    return ibis.ifelse(text.re_search(_ASCII), text.lower(), other)


@lru_cache(maxsize=1)
def _letters() -> tuple[str, str]:
    """Return all letters that have another small form, and these."""
    pairs = [
        (letter, small)
        for letter in map(chr, range(sys.maxunicode + 1))
        if (small := letter.lower()) != letter and letter != _DOTTED_I
    ]
    return "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)


@lru_cache(maxsize=1)
def _sigma_patterns() -> tuple[str, str]:
    """Return what stands before and behind a sigma that ends a word, as groups of a pattern.

    A cased letter before it, and none behind it; characters that don't count may stand between.
    Which are which is asked of Python, whose `str.lower` looks for them.

    Source: Unicode 3.13, Final_Sigma.
    """
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    no_end = {letter for letter in every if f"A{letter}{_SIGMA}".lower().endswith(_FINAL_SIGMA)}
    # after nothing, a letter that is cased ends the word before a sigma; one that is ignored not
    cased = {letter for letter in no_end if f"{letter}{_SIGMA}".lower().endswith(_FINAL_SIGMA)}
    ignored = no_end - cased
    skip = f"[{_class_of(ignored)}]*"
    end = f"[^{_class_of(cased | ignored)}]"
    return f"([{_class_of(cased)}]{skip})", f"({skip}(?:{end}|$))"


def _class_of(letters: Iterable[str]) -> str:
    spans: list[list[int]] = []
    for code in sorted(map(ord, letters)):
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in spans)


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
