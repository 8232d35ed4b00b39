"""Writes src/oborona/message/confusables.tsv: every character that `normalise` replaces, and by
what.

    python tests/message/generate_confusables.py [OUTPUT]      needs the package
    confusable-homoglyphs (3.3.1: Unicode 15.1)

Source: the confusables data of Unicode Technical Standard 39 (© Unicode, Inc., Unicode License v3),
as that package carries it, and the Unicode database of the running Python. Not part of the running
program.

A line is `code point<TAB>replacement`. Kept are characters outside ASCII that are still themselves
after NFKC and case fold, and whose replacement is ASCII letters, or ASCII punctuation for
punctuation, in this order:

    1. decimal digits of any script: their value
    2. letters whose own shape is confusable with ASCII letters: those (Cyrillic U+043E: o)
    3. letters whose capital is (Cyrillic ve: its capital looks like B, so both are b)
    4. letters with marks over a base that is ASCII or was replaced: the base (e acute, Cyrillic io:
       e)
    5. dashes, quotes, and other punctuation confusable with one ASCII character
"""

from __future__ import annotations

import json
import sys
import unicodedata
from importlib.resources import files
from pathlib import Path
from typing import Final

_QUOTES: Final = dict.fromkeys(
    "\u2018\u2019\u201a\u201b\u2032\u2035\u02bc\u02bb\u02b9\u055a\u05f3\u00b4", "'"
) | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u2036\u301d\u301e\u05f4", '"')

_NOTICE: Final = (
    "# From the confusables data of Unicode 15.1, copyright Unicode, Inc., under the Unicode "
    "License v3"
    " (https://www.unicode.org/license.txt), reduced by generate_confusables.py\n"
)
# merged with other letters they would cost words their difference
_KEPT: Final = frozenset("ьЬыЫюЮσΣ")


def _shape(character: str, like: str) -> str:
    """Return what `character` looks like; for a Latin letter without strokes and hooks (ł: l)."""
    if "LATIN" in unicodedata.name(character[0], ""):
        like = "".join(
            each
            for each in unicodedata.normalize("NFD", like)
            if unicodedata.category(each) != "Mn"
        )
    return like.casefold()


def table() -> dict[str, str]:
    """Return character -> replacement."""
    text = files("confusable_homoglyphs").joinpath("confusables.json").read_text("utf-8")
    groups: dict[str, list[dict[str, str]]] = json.loads(text)
    shapes = {}
    for character, others in groups.items():
        ascii_shapes = {
            shape for other in others if (shape := _shape(character, other["c"])).isascii()
        }
        if (
            len(character) == 1
            and not character.isascii()
            and character not in _KEPT
            and ascii_shapes - {""}
        ):
            # "l" stands for a group of I, l, 1 and |: prefer letters, and among them a stable
            # choice.
            shapes[character] = min(
                ascii_shapes, key=lambda shape: (not shape.isalpha(), len(shape), shape)
            )
    found: dict[str, str] = {}
    for code in range(0x80, 0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        if (
            category in {"Cn", "Cs", "Co"}
            or unicodedata.normalize("NFKC", character).casefold() != character
        ):
            continue
        if category == "Nd":
            found[character] = str(unicodedata.decimal(character))
            continue
        shape = shapes.get(character, "")
        if category[0] in "LN" and not (shape.isalpha() and shape.isascii()):
            capital = character.upper()
            shape = shapes.get(capital, "") if len(capital) == 1 else ""
        if category[0] in "LN":
            if shape.isalpha():
                found[character] = shape
        elif character in _QUOTES:
            found[character] = _QUOTES[character]
        elif category == "Pd":
            found[character] = "-"
        elif category[0] == "P" and len(shape) == 1 and not shape.isalnum():
            found[character] = shape
    for code in range(0x80, 0x110000):
        character = chr(code)
        if character in found or unicodedata.category(character)[0] not in "LSP":
            continue
        base, *marks = list(unicodedata.normalize("NFKD", character))
        if marks and all(unicodedata.category(mark) == "Mn" for mark in marks):
            base = found.get(base.casefold(), base.casefold())
            if base.isascii() and unicodedata.normalize("NFKC", character).casefold() == character:
                found[character] = base
    return found


def main() -> None:
    output = (
        Path(sys.argv[1])
        if len(sys.argv) > 1
        else Path(__file__).parents[2] / "message" / "confusables.tsv"
    )
    lines = [f"{ord(character):04X}\t{shape}\n" for character, shape in sorted(table().items())]
    output.write_text(_NOTICE + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
