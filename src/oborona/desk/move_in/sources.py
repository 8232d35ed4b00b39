"""The files of an old configuration: found, bounded, line by line.  None of them is believed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.errors import ConfigError

MOST_FILES: Final = 5_000
MOST_DEPTH: Final = 12  # folders below one another
MOST_OCTETS: Final = 32 << 20  # of a file
MOST_ALTOGETHER: Final = 128 << 20
MOST_LINE: Final = 16_384  # characters
NO_TEXT: Final = "\ufffd"  # stands for octets that are no UTF-8
_MIB: Final = 1 << 20


class SourceLine(NamedTuple):
    """A line that says something, as text."""

    place: SourcePlace
    text: str


class SourceFolder:
    """The folder that an old configuration lies in.

    Args:
        root: of it.

    Raises:
        ConfigError: it is no folder that can be read, or holds too much.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read = 0
        self._opened: set[str] = set()
        self.names: list[str] = []  # of plain files, below the root
        if not root.is_dir():
            raise ConfigError("is no folder", file=str(root))
        self._find(root, 0)
        self.names.sort()

    def _find(self, folder: Path, depth: int) -> None:
        try:
            with os.scandir(folder) as found:
                for one in found:
                    if one.is_dir(follow_symlinks=False):
                        if depth >= MOST_DEPTH:
                            raise ConfigError("lies too deep", file=one.path)
                        self._find(Path(one.path), depth + 1)
                    elif one.is_file(follow_symlinks=True):
                        self.names.append(os.path.relpath(one.path, self.root))
        except OSError as error:
            raise ConfigError(
                f"can't be read: {error.strerror}", file=str(error.filename or folder)
            ) from None
        if len(self.names) > MOST_FILES:
            raise ConfigError(f"holds more than {MOST_FILES:,} files", file=str(self.root))

    def inside(self, named: str, *homes: str) -> str | None:
        """Return the file that a path of the old machine is, copied into this folder.

        Args:
            named: as the configuration has it.
            homes: folders of the old machine that this one may be a copy of.
        """
        known = set(self.names)
        path = os.path.normpath(named)
        tries = [path.lstrip("/")]
        tries += [os.path.relpath(path, home) for home in homes if path.startswith(f"{home}/")]
        if Path(path).is_absolute():
            tries.append(os.path.relpath(path, self.root.resolve()))
        found = next((name for name in tries if name in known), None)
        if found is not None:
            return found
        alike = [name for name in self.names if Path(name).name == Path(path).name]
        return alike[0] if len(alike) == 1 else None

    def octets(self, name: str) -> bytes:
        """Return what a file holds.

        Raises:
            ConfigError: it can't be read, leads out of the folder, or is too large.
        """
        path = self.root / name
        try:
            if not path.resolve().is_relative_to(self.root.resolve()):
                raise ConfigError("is a link that leads out of the folder", file=name)
            with path.open("rb") as file:
                raw = file.read(MOST_OCTETS + 1)
        except (OSError, ValueError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or error
            raise ConfigError(f"can't be read: {why}", file=name) from None
        self._read += len(raw)
        self._opened.add(name)
        if len(raw) > MOST_OCTETS or self._read > MOST_ALTOGETHER:
            raise ConfigError(
                f"is too large: a file has {MOST_OCTETS // _MIB} MiB at most, all of them "
                f"{MOST_ALTOGETHER // _MIB}",
                file=name,
            )
        return raw

    def unread(self) -> list[str]:
        """Return the files that nobody has asked for."""
        return [name for name in self.names if name not in self._opened]

    def lines(self, name: str, plan: MovePlan) -> Iterator[SourceLine]:
        """Yield the lines of a file that say something.

        Those that are no text are left.
        """
        return text_lines(self.octets(name), name, plan)


def text_lines(raw: bytes, name: str, plan: MovePlan) -> Iterator[SourceLine]:
    """Yield the lines of octets that hold more than a comment; those that are no text are left.

    Args:
        raw: the octets.
        name: of their file.
        plan: takes what is left.
    """
    for number, octets in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        place = SourcePlace(name, number)
        try:
            text = octets.decode().strip()
        except UnicodeDecodeError:
            if octets.lstrip().startswith(b"#"):
                continue
            plan.leave(place, octets[:200].decode("utf-8", "replace"), "is not UTF-8")
            continue
        if len(text) > MOST_LINE:
            plan.leave(place, text, f"is longer than {MOST_LINE:,} characters")
        elif text and not text.startswith("#"):
            yield SourceLine(place, text)
