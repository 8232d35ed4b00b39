"""Text as roff has it: what stands in a help or a table is shown as it is, whatever it holds.

Every sign that roff or its man macros give a meaning to is written by its name: backslash, hyphen,
quotes, accents.  A line that would begin with a request begins with a sign of no width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from oborona import __version__

_NAMED: Final = {
    "\\": r"\(rs",
    "-": r"\-",
    "'": r"\(aq",
    '"': r"\(dq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    "|": r"|\:",  # a line may end behind it: there are long choices
}
_CODE: Final = re.compile(r"`([^`\n]+)`")
_LEFT: Final = (".nh", ".ad l")  # names and addresses are neither hyphenated nor stretched
_FIRST: Final = "."  # the other sign that begins a request, the apostrophe, has a name


def escaped(text: str) -> str:
    """Return a text of one line as roff shows it; signs that no page can show become "?"."""
    line = "".join(map(_sign, " ".join(text.split())))
    return rf"\&{line}" if line.startswith(_FIRST) else line


def bold(text: str) -> str:
    """Return a text of one line in bold."""
    return rf"\fB{escaped(text)}\fR"


def prose(text: str) -> str:
    """Return a paragraph as one line; what stands between backticks is bold."""
    pieces = _CODE.split(" ".join(text.split()))
    line = "".join(
        rf"\fB{_signs(piece)}\fR" if place % 2 else _signs(piece)
        for place, piece in enumerate(pieces)
    )
    return rf"\&{line}" if line.startswith(_FIRST) else line


def literal(text: str) -> list[str]:
    """Return lines that are shown as they are, indented."""
    lines = [_signs(line.expandtabs()).rstrip() for line in text.splitlines()]
    return [".PP", ".RS 4", ".nf", *(rf"\&{line}" for line in lines), ".fi", ".RE"]


def tagged(tag: str, *paragraphs: str) -> list[str]:
    """Return an entry: a tag, and what it means.

    Args:
        tag: in roff.
        paragraphs: in roff, a line each; empty ones are left out.
    """
    meant = [paragraph for paragraph in paragraphs if paragraph]
    lines = [".TP", tag, meant[0] if meant else r"\&"]
    for paragraph in meant[1:]:
        lines += [".IP", paragraph]
    return lines


def page(name: str, section: int, summary: str, body: Iterable[str]) -> str:
    """Return a page.

    Args:
        name: of what it is about, without its section.
        section: of the manual.
        summary: one line, what `apropos` finds.
        body: its lines below NAME.
    """
    heading = (
        f'.TH "{escaped(name.upper())}" {section} "" "Oborona {escaped(__version__)}" "Oborona"'
    )
    name_line = rf"{escaped(name)} \- {escaped(summary)}"
    return "\n".join(
        [r".\" Written from the code.", heading, *_LEFT, ".SH NAME", name_line, *body, ""]
    )


def _signs(text: str) -> str:
    return "".join(map(_sign, text))


def _sign(sign: str) -> str:
    if sign in _NAMED:
        return _NAMED[sign]
    if sign.isascii():
        return sign if sign.isprintable() else "?"
    # half of a pair is no sign, and a control is none that can be shown
    return rf"\[u{ord(sign):04X}]" if sign.isprintable() else "?"
