"""List files of a policy, read again only when they changed.

A file with the same times, size and number is not opened; one with the same contents is not parsed
again.  So a change in a policy file costs nothing for a list of a million entries beside it.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from oborona.errors import PolicyError
from oborona.policy.folders import PolicyFolders
from oborona.policy.local_lists import ListSource, in_vain
from oborona.policy.named_tables import refuse
from oborona.reputation.locallists import BrokenLine, ListTable, LocalList, LocalLists, read
from oborona.toml import TomlPlace

MAX_BYTES: Final = 64 * 1024 * 1024  # of a list file: two million of the longest usual entries
MAX_TOTAL: Final = 5_000_000  # entries of all lists: 40 to 105 MB in each process

_COMMENT: Final = re.compile(rb"(?<!\S)#[^\n]*")
_SPACE: Final = re.compile(rb"\s*\n\s*")
_BESIDE: Final = (
    b"#",
    b"\n\n",
    b" ",
    b"\t",
    b"\r",
    b"\v",
    b"\f",
)  # of these one is in a file that holds more than entries

Look = tuple[int, int, int, int]
"""Times of change of contents and of the file, size, number."""


def file_state(path: Path) -> Look:
    """Return what changes whenever a file does, zeros where it can't be looked at."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0, 0
    # The change time moves with a new mode or owner: a file that could not be read may be readable
    # now.
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class _KnownList(NamedTuple):
    look: Look
    digest: bytes
    table: ListTable
    meant: bytes  # digest of the entries, however they are written down


class ListFiles:
    """Tables of list files, kept from one policy to the next."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownList] = {}  # by name: a copy of the folder has the same lists

    def read(
        self, folders: PolicyFolders, sources: Sequence[ListSource], *, force: bool = False
    ) -> tuple[LocalLists, dict[str, bytes]]:
        """Return the lists that are switched on, and digests of what their files mean, by the names
        of the lists.

        Args:
            folders: of the policy.
            sources: of the policy.
            force: open the files even if they look as before.

        Raises:
            PolicyError: a file that can't be used, with its line; what was known before stays
                known.
        """
        lists: list[LocalList] = []
        used: dict[str, _KnownList] = {}
        meant: dict[str, bytes] = {}
        for source in sources:
            if not source.enabled:
                continue
            tables = [source.entries] if len(source.entries) else []
            if source.file:
                path = folders.find(source.file)
                if source.file not in used:
                    used[source.file] = self._read_source(path, source, force)
                meant[source.name] = used[source.file].meant
                table = used[source.file].table
                vain = in_vain(table, source.of)
                if vain is not None:
                    raise PolicyError(
                        f"local list {source.name}: {vain[1]}", file=str(path), line=vain[0]
                    )
                tables.append(table)
            lists.append(
                LocalList(
                    name=source.name,
                    action=source.action,
                    of=source.of,
                    tables=tuple(tables),
                    mode=source.mode,
                    why=source.why,
                )
            )
            if sum(len(entry.table) for entry in used.values()) > MAX_TOTAL:
                raise refuse(
                    f"more than {MAX_TOTAL} entries in all list files", source.places["file"]
                )
        self._known = used
        return LocalLists(lists), meant

    def _read_source(self, path: Path, source: ListSource, force: bool) -> _KnownList:
        entry = self._known.get(source.file)
        state = file_state(path)
        if entry is not None and entry.look == state and not force:
            return entry
        raw = contents(path, f"local list {source.name}", source.places["file"], MAX_BYTES)
        digest = hashlib.sha256(raw).digest()
        if entry is not None and entry.digest == digest:
            return entry._replace(look=state)
        try:
            return _KnownList(state, digest, read(raw), _meant(raw, digest))
        except BrokenLine as fault:
            raise PolicyError(fault.problem, file=str(path), line=fault.line) from None


def _meant(raw: bytes, digest: bytes) -> bytes:
    """Return a digest of the entries of a list file, in their order: to sort a million would take
    longer than to read them.

    Args:
        raw: the file.
        digest: of all of it; that of the entries where there is nothing beside them.
    """
    if not any(sign in raw for sign in _BESIDE):
        return digest
    entries = _SPACE.sub(b"\n", _COMMENT.sub(b"", raw)).strip() + b"\n"
    return hashlib.sha256(entries).digest()


def digest_of(entries: Iterable[bytes]) -> bytes:
    """Return a digest of a list's entries, whatever their order.

    One that stands there twice is there once.
    """
    return hashlib.sha256(b"\n".join(sorted(set(entries)))).digest()


def contents(path: Path, of: str, place: TomlPlace, most: int) -> bytes:
    """Return what a list file holds.

    Args:
        path: of the file.
        of: whose file it is, as errors say it: `local list NAME`.
        place: that names it.
        most: bytes.

    Raises:
        PolicyError: it can't be read, is no plain file, or is too large.
    """
    try:
        # Looked at before it is opened: opening a pipe waits for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise PolicyError(f"is not a plain file; {of} names it ({place})", file=str(path))
        with path.open("rb") as handle:
            raw = handle.read(most + 1)
    except OSError as fault:
        why = fault.strerror or fault
        raise PolicyError(
            f"cannot be read: {why}; {of} names it ({place})", file=str(path)
        ) from fault
    if len(raw) > most:
        raise PolicyError(f"is larger than {most // 1024 // 1024} MiB", file=str(path))
    return raw
