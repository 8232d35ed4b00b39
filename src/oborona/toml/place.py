"""Where something stands in a TOML file, down to a character inside a quoted text."""

from __future__ import annotations

import re

import msgspec

# in """...""": drops the line end and what follows it
_LINE_END_ESCAPE = re.compile(r"\\[ \t]*\n[ \t\n]*")
_ESCAPE_LENGTH = {"u": 6, "U": 10, "x": 4}  # with the backslash; all others are 2


class TomlPlace(msgspec.Struct, frozen=True):
    """A line and column of a file, 1-based, in characters; 0 = unknown."""

    file: str = ""
    line: int = 0
    column: int = 0
    token: str = ""  # the string literal that begins here, quotes included; "" for anything else

    def __str__(self) -> str:
        """`file:line`, as origins are shown; empty when nothing is known."""
        return ":".join(str(part) for part in (self.file, self.line) if part)

    def inside(self, index: int) -> TomlPlace:
        """Return the place of character `index` of the decoded text.

        Args:
            index: 0-based; past the end means the closing quote.

        Without a token (the text came from elsewhere) it is this place itself.
        """
        if not self.token:
            return self
        raw = self.token[: _raw_offset(self.token, index)]
        lines = raw.count("\n")
        column = len(raw) - raw.rfind("\n") if lines else self.column + len(raw)
        return TomlPlace(file=self.file, line=self.line + lines, column=column)


def _raw_offset(token: str, index: int) -> int:
    """Offset in the literal of decoded character `index`."""
    quote = token[0]
    long = token.startswith(quote * 3) and len(token) >= 6
    at = 3 if long else 1
    end = len(token) - at
    if long and token.startswith(
        "\n", at
    ):  # a line end right after the opening quotes is no part of the text
        at += 1
    while index > 0 and at < end:
        if quote == '"' and token[at] == "\\":
            if long and (dropped := _LINE_END_ESCAPE.match(token, at)):
                at = dropped.end()
                continue
            at += _ESCAPE_LENGTH.get(token[at + 1], 2)
        else:
            at += 1
        index -= 1
    if quote == '"' and long and at < end and (dropped := _LINE_END_ESCAPE.match(token, at)):
        at = dropped.end()
    return min(at, end)
