"""How logs and readers are declared: by a folder with a file of TOML for each, of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from oborona.errors import ConfigError
from oborona.toml import TomlPlace, read, table

SUFFIX: Final = ".toml"
Declared = TypeVar("Declared", bound=msgspec.Struct)
MOST: Final = 100  # more are no declarations but something else's files


def declaration_files(folder: Path, what: str) -> list[Path]:
    """Return the files of a folder, by name; none where it is not there.

    Args:
        folder: of the declarations.
        what: they declare, in the plural.

    Raises:
        ConfigError: they are too many.
    """
    if not folder.is_dir():
        return []
    paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    if len(paths) > MOST:
        raise ConfigError(f"{folder} holds {len(paths)} files, and at most {MOST} {what} are read")
    return paths


def read_declaration(
    path: Path, kind: type[Declared], problem: Callable[[Declared], tuple[str, str] | None]
) -> Declared:
    """Return what a file declares.

    Args:
        path: of the file.
        kind: of what it declares.
        problem: tells which key is wrong, and how; the empty key is the file itself.

    Raises:
        ConfigError: it can't be read, or says something that is not right.
    """
    document, _ = read(path)
    given = table(document, (), kind, name=path.name)
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in given:
            raise ConfigError(f"{field.name} is not set", file=str(path))
    declared = kind(**{key: value.value for key, value in given.items()})
    found = problem(declared)
    if found:
        key, words = found
        place = given[key].place if key in given else TomlPlace(file=str(path))
        raise ConfigError(words, file=place.file, line=place.line, column=place.column)
    return declared
