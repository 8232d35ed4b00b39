"""Where each key of a TOML document stands.

The standard library's parser gives values without positions, so this walks a text **that it has
accepted** and notes where every key and value begins. Because the text is known to be valid it
needs no error handling: four kinds of statement (`[table]`, `[[array of tables]]`, `key = value`,
comment), five kinds of value.

Keys are paths of names and array indexes: ("rule", 0, "when"). Source: TOML 1.0.0
(https://toml.io/en/v1.0.0). Known limit: a key that was only implied (`a` in `[a.b]`) has no place
of its own.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator

from oborona.toml.place import TomlPlace

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\n]|\#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'''"""(?:\\.|(?!""")[^\\])*"{3,5}'''
    r"""|'{3}(?:(?!'{3}).)*'{3,5}"""
    r"""|"(?:\\.|[^"\\])*"|'[^']*'""",
    re.DOTALL,
)
_BARE = re.compile(r"[^\s.=\[\]\"']+")
_SCALAR = re.compile(r"[^,\]}#\n]+")


class TomlScanner:
    """One walk over one accepted text.

    Args:
        text: what `tomllib.loads` accepted, CRLF already turned into LF.
        file: the name that places carry.
    """

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._at = 0
        # arrays of tables met, and how many tables each has so far
        self._lengths: dict[Path, int] = {}
        self.keys: dict[Path, TomlPlace] = {}
        self.values: dict[Path, TomlPlace] = {}

    def place(self, offset: int, token: str = "") -> TomlPlace:
        """Return the place of a character of the text."""
        line = bisect_right(self._lines, offset)
        return TomlPlace(
            file=self._file, line=line, column=offset - self._lines[line - 1] + 1, token=token
        )

    def scan(self) -> None:
        """Fill `keys` and `values`."""
        table: Path = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _header(self) -> Path:
        start = self._at
        many = self._text.startswith("[[", start)
        self._at += 2 if many else 1
        names = list(self._key())
        self._at = self._text.index("]]" if many else "]", self._at) + (2 if many else 1)
        path: Path = ()
        for name in names[:-1]:
            path = self._latest((*path, name))
        path = (*path, names[-1])
        if many:
            self._lengths[path] = self._lengths.get(path, 0) + 1
            self.keys.setdefault(path, self.place(start))
        path = self._latest(path)
        self.keys.setdefault(path, self.place(start))
        return path

    def _latest(self, path: Path) -> Path:
        """Return the path of the last table so far when `path` is an array of tables."""
        length = self._lengths.get(path)
        return path if length is None else (*path, length - 1)

    def _key(self) -> Iterator[str]:
        """Yield the names of a dotted key; ends before what follows it."""
        while True:
            self._skip(_SPACE)
            if quoted := _STRING.match(self._text, self._at):
                self._at = quoted.end()
                yield tomllib.loads(f"k = {quoted[0]}")["k"]
            else:
                start = self._at
                yield self._text[start : self._skip(_BARE)]
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return
            self._at += 1

    def _pair(self, table: Path) -> None:
        key = self.place(self._at)
        path = table
        for name in self._key():
            path = (*path, name)
            self.keys.setdefault(path, key)
        self._at += 1  # the equals sign
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        start = self._at
        text = self._text
        if string := _STRING.match(text, start):
            self._at = string.end()
            self.values[path] = self.place(start, string[0])
            return
        self.values[path] = self.place(start)
        if text[start] == "[":
            self._items(path, "]")
        elif text[start] == "{":
            self._items(path, "}")
        else:
            self._skip(_SCALAR)

    def _items(self, path: Path, closing: str) -> None:
        """Walk an array or an inline table, its opening bracket included."""
        self._at += 1
        index = 0
        while self._text[self._skip(_BLANK)] != closing:
            if closing == "]":
                self._value((*path, index))
                index += 1
            else:
                self._pair(path)
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1
