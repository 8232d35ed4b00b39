"""Translations as translators edit them (gettext's .po files), read when the console starts.

The compiled form is left out: reading all of them takes some milliseconds once, and there is no
file of octets that two people who translate would have to merge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*\Z')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r"}
_FIELD: Final = re.compile(r"(msgid_plural|msgid|msgstr)(?:\[(\d)\])?\s+")


class PoEntry(msgspec.Struct):
    """A text and its translation.

    Args:
        text: in English, as it stands in the source.
        plural: its plural; empty: it has none.
        translations: one, or one for each of the language's numbers.
        fuzzy: a guess that nobody has looked at.
    """

    text: str = ""
    plural: str = ""
    translations: list[str] = msgspec.field(default_factory=list)
    fuzzy: bool = False


def read_po(words: str) -> Iterator[PoEntry]:
    """Yield the entries of a file; the first, of the empty text, is its head.

    Raises:
        ValueError: a line is none of such a file.
    """
    entry, field = PoEntry(), ""
    for number, line in enumerate(words.splitlines(), 1):
        found = _FIELD.match(line)
        if line.startswith("#"):
            if field == "msgstr":
                yield entry
                entry, field = PoEntry(), ""
            entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        if not line.strip():
            continue
        string = _STRING.match(line, found.end() if found else 0)
        if string is None or not (found or field):
            raise ValueError(f"line {number}: {line}")
        if found:
            if found[1] == "msgid" and field == "msgstr":
                yield entry
                entry = PoEntry()
            field = found[1]
            if field == "msgstr":
                entry.translations.append("")
        _add(entry, field, _ESCAPE.sub(lambda code: _ESCAPED.get(code[1], code[1]), string[1]))
    if field == "msgstr":
        yield entry


def _add(entry: PoEntry, field: str, text: str) -> None:
    if field == "msgid":
        entry.text += text
    elif field == "msgid_plural":
        entry.plural += text
    else:
        entry.translations[-1] += text
