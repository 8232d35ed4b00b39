"""A TOML text with one value or table changed: all else stays as it was written, comments too.

What is returned is valid if what came in was, and says what was asked for: whoever edits reads it
again with `parse`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from oborona.errors import ConfigError
from oborona.toml.document import parse
from oborona.toml.scan import Path, TomlScanner

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_LINE: Final = 88  # characters: longer arrays get a line for each item


class _SpanScanner(TomlScanner):
    """Notes where values end, too."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "")
        self.spans: dict[Path, tuple[int, int]] = {}

    def _value(self, path: Path) -> None:
        start = self._skip(_BLANKS)
        super()._value(path)
        end = self._at
        while end > start and self._text[end - 1] in " \t":
            end -= 1
        self.spans[path] = start, end


_BLANKS: Final = re.compile(r"[ \t]*")


class TomlText:
    """The text of a TOML file that is edited.

    Args:
        raw: of the file.
        file: named in errors.

    Raises:
        ConfigError: it is no TOML.
    """

    def __init__(self, raw: bytes, file: str = "") -> None:
        self._file = file
        self._crlf = b"\r\n" in raw
        self._take(raw.decode("utf-8", "replace").replace("\r\n", "\n"), raw)

    @property
    def raw(self) -> bytes:
        """The text as it is now."""
        text = self._text if self._text.endswith("\n") or not self._text else f"{self._text}\n"
        return (text.replace("\n", "\r\n") if self._crlf else text).encode()

    def set_field(self, table: str, key: str, value: Any) -> None:
        """Set a value of a table that is there once, such as `[verdict]`; it is made if need be.

        Raises:
            ConfigError: it is written in one line with others, or the value can't be written.
        """
        if table in self._data:
            self._set((table,), key, value)
        else:
            self._append(f"[{_key(table)}]\n{_key(key)} = {toml_value(value)}\n")

    def set_named(self, sort: str, name: str, fields: Mapping[str, Any]) -> None:
        """Set values of the table of a name, such as `[[rule]]`; it is made if need be.

        Raises:
            ConfigError: as of `set_field`.
        """
        number = self._number(sort, name)
        if number is None:
            lines = [f"{_key(key)} = {toml_value(value)}\n" for key, value in fields.items()]
            self._append(f"[[{_key(sort)}]]\nname = {toml_value(name)}\n{''.join(lines)}")
            return
        for key, value in fields.items():
            self._set((sort, number), key, value)

    def add_table(self, sort: str, name: str, inner: str, fields: Mapping[str, Any]) -> None:
        """Put a table such as `[[rule.test]]` behind the last one of the table of a name.

        Raises:
            ConfigError: there is no table of that name here, or it is written in one line.
        """
        number = self._number(sort, name)
        if number is None:
            raise ConfigError(f"{name} is not written in this file", file=self._file)
        lines = [f"{_key(key)} = {toml_value(value)}\n" for key, value in fields.items()]
        table = f"[[{_key(sort)}.{_key(inner)}]]\n{''.join(lines)}"
        following = self._scan.keys.get((sort, number + 1))
        self._header((sort, number))
        if following is None and not self._headers_after((sort, number)):
            self._append(table)
            return
        end = self._end_of((sort, number))
        before = self._text[:end].rstrip("\n")
        self._take(f"{before}\n\n{table}\n{self._text[end:]}")

    def _number(self, sort: str, name: str) -> int | None:
        tables = self._data.get(sort, [])
        if not isinstance(tables, list):
            raise ConfigError(f"{sort} is no array of tables", file=self._file)
        return next(
            (
                number
                for number, table in enumerate(tables)
                if isinstance(table, dict) and table.get("name") == name
            ),
            None,
        )

    def _set(self, table: Path, key: str, value: Any) -> None:
        written = toml_value(value)
        span = self._scan.spans.get((*table, key))
        if span is not None:
            self._take(f"{self._text[: span[0]]}{written}{self._text[span[1] :]}")
            return
        offset = self._header(table)
        named = self._scan.spans.get((*table, "name"))
        end = self._text.find("\n", offset if named is None else named[1])
        head, tail = (self._text, "") if end < 0 else (self._text[:end], self._text[end:])
        self._take(f"{head}\n{_key(key)} = {written}{tail}")

    def _header(self, table: Path) -> int:
        """Return where the header of a table is."""
        place = self._scan.keys.get(table)
        offset = -1 if place is None else self._offset(place.line, place.column)
        if offset < 0 or self._text[offset] != "[":
            raise ConfigError(
                f"{table[0]} is written in one line with others; edit the file itself",
                file=self._file,
                line=0 if place is None else place.line,
            )
        return offset

    def _headers_after(self, table: Path) -> bool:
        return self._end_of(table) < len(self._text)

    def _end_of(self, table: Path) -> int:
        """Return where the next header begins that is not one of tables within this one."""
        start = self._header(table)
        offsets = [
            offset
            for path, place in self._scan.keys.items()
            if path[: len(table)] != table
            and path != table[:1]
            and (offset := self._offset(place.line, place.column)) > start
            and self._text[offset] == "["
        ]
        end = min(offsets, default=len(self._text))
        # words above a header are of what follows it
        while True:
            line = self._text.rfind("\n", 0, max(0, end - 1)) + 1
            if end == len(self._text) or line <= start or self._text[line : line + 1] != "#":
                return end
            end = line

    def _append(self, table: str) -> None:
        before = self._text.rstrip("\n")
        self._take(f"{before}\n\n{table}" if before else table)

    def _take(self, text: str, raw: bytes | None = None) -> None:
        document = parse(text.encode() if raw is None else raw, self._file)
        scan = _SpanScanner(text)
        scan.scan()
        self._text, self._data, self._scan = text, document.data, scan
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column - 1


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it.

    Raises:
        ConfigError: it can't be written.
    """
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return f"{value:g}" if float(f"{value:g}") == value else repr(value)
        case str():
            return _text(value)
        case list() | tuple() | set() | frozenset():
            items = [toml_value(item) for item in value]
            line = f"[{', '.join(items)}]"
            if len(line) <= _LINE:
                return line
            return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
        case Mapping():
            fields = [f"{_key(key)} = {toml_value(item)}" for key, item in value.items()]
            return f"{{ {', '.join(fields)} }}" if fields else "{}"
    raise ConfigError(f"{type(value).__name__} can't be written in a policy file")


def _text(value: str) -> str:
    try:
        plain = msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
    except UnicodeEncodeError as error:
        raise ConfigError("a text that is no Unicode can't be written") from error
    if "\n" not in value or "'''" in value or value.endswith("'"):
        return plain
    long = f"'''\n{value}'''"
    try:
        kept = tomllib.loads(f"k = {long}")["k"] == value
    except tomllib.TOMLDecodeError:
        kept = False
    return long if kept else plain


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key).replace("\n", "\\n")
