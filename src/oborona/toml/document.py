"""One TOML file: its data, and where each piece of it stands.

A file is taken whole or not at all. Refused, each with its own words: unreadable, no plain file,
too large, not UTF-8, a byte order mark, broken TOML, nested too deeply. Line and column of broken
TOML come from the text of the standard library's error, which is all that Python before 3.14 gives.
"""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from oborona.errors import ConfigError
from oborona.toml.place import TomlPlace
from oborona.toml.scan import Path as KeyPath
from oborona.toml.scan import TomlScanner

MAX_FILE_BYTES = 4 * 1024 * 1024  # ten thousand long rules; more is a wrong file
_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)\s*$")

_OPEN = re.compile(
    r"^[^'\"\n#]*=[ \t]*'(?!'')[^'\n]*$", re.MULTILINE
)  # a text in ' that does not end in its line
_TWICE = re.compile(r"Cannot declare \('(.+)',?\) twice$")
_NO_QUOTE = (
    "the closing quote of a text is missing in this line; a text of several lines stands "
    "in three quotes"
)


class TomlDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A TOML file that could be read."""

    file: str
    data: dict[str, Any]
    keys: dict[KeyPath, TomlPlace]
    values: dict[KeyPath, TomlPlace]

    def key(self, *path: str | int) -> TomlPlace:
        """Return where a key stands, or the nearest table around it that has a place."""
        while path:
            if place := self.keys.get(path) or self.values.get(path):
                return place
            path = path[:-1]
        return TomlPlace(file=self.file)

    def value(self, *path: str | int) -> TomlPlace:
        """Return where a value begins; its key's place when it has none of its own."""
        return self.values.get(path) or self.key(*path)


def read(path: Path, error: type[ConfigError] = ConfigError) -> tuple[TomlDocument, bytes]:
    """Return a file's document and its very bytes.

    Args:
        path: named in errors as given.
        error: what to raise.

    Raises:
        ConfigError: as `error`, with file, line and column.
    """
    raw = octets(path, error)
    return parse(raw, str(path), error), raw


def octets(path: Path, error: type[ConfigError] = ConfigError) -> bytes:
    """Return the bytes of a file, which may be anything.

    Args:
        path: named in errors as given.
        error: what to raise.

    Raises:
        ConfigError: as `error`: it can't be read, is no plain file, or too large.
    """
    try:
        # Looked at before it is opened: opening a pipe waits for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise error("is not a plain file", file=str(path))
        with path.open("rb") as handle:
            raw = handle.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as fault:  # ValueError: NUL in the name
        raise error(
            f"cannot be read: {getattr(fault, 'strerror', None) or fault}", file=str(path)
        ) from fault
    if len(raw) > MAX_FILE_BYTES:
        raise error(f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB", file=str(path))
    return raw


def parse(raw: bytes, file: str = "", error: type[ConfigError] = ConfigError) -> TomlDocument:
    """Return the document that `raw` is.

    Raises:
        ConfigError: as `error`: not UTF-8, broken TOML, nested too deeply; never anything else.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        column = fault.start - (raw.rfind(b"\n", 0, fault.start) + 1) + 1
        problem = f"is not UTF-8: byte 0x{raw[fault.start]:02x}"
        raise error(problem, file=file, line=line, column=column) from fault
    if text.startswith("\ufeff"):
        raise error(
            "begins with a byte order mark; save it as UTF-8 without one",
            file=file,
            line=1,
            column=1,
        )
    text = text.replace("\r\n", "\n")  # as tomllib does
    try:
        data = tomllib.loads(text)
        scanner = TomlScanner(text, file)
        scanner.scan()
    except tomllib.TOMLDecodeError as fault:
        raise _syntax(fault, text, file, error) from fault
    except RecursionError as fault:
        raise error("values are nested too deeply", file=file) from fault
    except ValueError as fault:  # an integer of thousands of digits
        raise error(f"broken TOML: {fault}", file=file) from fault
    return TomlDocument(file=file, data=data, keys=scanner.keys, values=scanner.values)


def _syntax(
    fault: tomllib.TOMLDecodeError, text: str, file: str, error: type[ConfigError]
) -> ConfigError:
    words = str(fault)
    where = _POSITION.search(words)
    problem = f"broken TOML: {words[: where.start()] if where else words}"
    if problem.endswith("Invalid value"):
        problem += "; a text stands in quotes, and true, false and numbers in none"
    if problem.endswith(r"Illegal character '\n'"):
        problem = f"broken TOML: {_NO_QUOTE}"
    if declared := _TWICE.search(problem):
        problem = _twice(declared[1].split("', '"), text)
    elif problem.endswith("Cannot overwrite a value"):
        problem = "broken TOML: this key stands in its table already; keep one of the two lines"
    if where and where[1]:
        return error(problem, file=file, line=int(where[1]), column=int(where[2]))
    if problem.endswith('Expected "\'"') and (opened := _OPEN.search(text)):
        line, column = text.count("\n", 0, opened.start()) + 1, len(opened[0]) + 1
        return error(f"broken TOML: {_NO_QUOTE}", file=file, line=line, column=column)
    line = text.count("\n") + 1
    column = len(text) - text.rfind("\n")
    return error(
        f"{problem} (at the end of the file: is it half-written?)",
        file=file,
        line=line,
        column=column,
    )


def _twice(names: list[str], text: str) -> str:
    """Return what to do about a table that was begun before: who appends to a file that has all
    tables meets this first.
    """
    header = r"^[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(map(re.escape, names)) + r"[ \t]*\]"
    first = re.search(header, text, re.MULTILINE)
    line = "" if first is None else f" from line {text.count(chr(10), 0, first.start()) + 1} on"
    return f"[{'.'.join(names)}] is there already{line}: write its keys there, and no second one"
