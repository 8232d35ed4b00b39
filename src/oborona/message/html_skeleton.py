"""The skeleton of an HTML page: how it is built, whatever its words are.

    tables, lists, headings, pictures, links and forms, in the order of the source; then the classes
    that its elements have

A sender who has every word, link and address of a mailing written anew still sends it in one
layout. Links' hosts are no part of it: they are what changes, and are counted for themselves.

What mail programs write around a plain letter is everybody's, so it is left out: text formatting,
paragraphs, boxes and line breaks, and the classes of Outlook, Gmail, Apple Mail and others
(`_EVERYBODYS`). What then has fewer than `MIN_PIECES` pieces, or fewer than `MIN_KINDS` distinct
ones, is no layout: letters with a table, or a signature with a logo, stay below.

Limits: `MAX_PIECES` of each kind from the start; one more or less is another skeleton; read from
the source by patterns, so that tags in comments count (Outlook's conditional ones are part of a
template as well).
"""

from __future__ import annotations

import re
from typing import Final

MIN_PIECES: Final = 20
MIN_KINDS: Final = 5
MAX_PIECES: Final = 3000  # large newsletters have 2,000 tags

_BUILDS: Final = frozenset(
    {"table", "tr", "td", "th", "img", "a", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "form", "input", "button",
     "center", "map", "area"}
)  # fmt: skip
_TAG: Final = re.compile(r"<([a-z][a-z0-9]{0,9})[\s/>]")
_CLASSES: Final = re.compile(r"class\s*+=\s*+(?:\"[^\"<>]{1,200}|'[^'<>]{1,200}|[^\s\"'<>]{1,200})")
# classes that a program numbers are numbered anew in each copy
_DIGITS: Final = re.compile(r"[0-9]+")
_EVERYBODYS: Final = re.compile(
    r"mso|wordsection|section0|gmail|apple-|moz-|yahoo|yiv|ydp|y_msg|x_|ox-|protonmail|outlook|elementtoproof|im$|hoenzb"
)


def skeleton(source: str) -> str:
    """Return the skeleton of a page, empty when it is built like everybody's.

    Args:
        source: of the page, cut to the limit of HTML that is read.
    """
    source = source.lower()
    pieces = [tag for tag in _TAG.findall(source)[:MAX_PIECES] if tag in _BUILDS]
    for attribute in _CLASSES.findall(source)[:MAX_PIECES]:
        names = _DIGITS.sub("0", attribute.partition("=")[2]).strip("\"' ").split()
        pieces += [f".{name}" for name in names if _EVERYBODYS.match(name) is None]
    if len(pieces) < MIN_PIECES or len(set(pieces)) < MIN_KINDS:
        return ""
    return " ".join(pieces)
