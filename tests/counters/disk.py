"""What a disk may hold after the power was cut: a model of a disk, told each call that `power.c`
recorded.

    contents   What was written before the file's last completed sync began is there. Each sector of
               what was written later holds one of the contents it had since then: a write may be
               torn, missing, or there ahead of an earlier one. The length is one that the file had;
               sectors that never came are zeros.
    O_DSYNC    A write that returned is there.
    names      What was made, renamed or removed before the last completed sync of the folder began
               is done. Of the later changes those up to some point are done, in each folder by
               itself.
    the cut    falls into a call: a write that was going on may be there in part.

File systems with a journal promise more: one order of names for all folders, and the name of a new
file with its first sync. POSIX does not, and a store that stands this model stands them.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Final, Generic, NamedTuple, TypeVar

HEAD: Final = struct.Struct("<IIQQQQHHI")
SECTOR: Final = 512


class Kind(IntEnum):
    """Of a call, as `power.c` numbers them."""

    MADE = 1
    WRITE = 2
    TRUNCATE = 3
    RENAME = 4
    UNLINK = 5
    MKDIR = 6
    SYNC_BEGIN = 7
    SYNC_END = 8


class Call(NamedTuple):
    """One that succeeded."""

    kind: Kind
    thread: int
    time_ns: int  # of the monotonic clock
    inode: int
    offset: int
    size: int
    path: str
    target: str
    synced: bool
    data: bytes


def calls(log: Path) -> Iterator[Call]:
    """Yield the calls of a record, in their order."""
    recorded = log.read_bytes()
    at = 0
    while at < len(recorded):
        kind, thread, time_ns, inode, offset, size, path, target, synced = HEAD.unpack_from(
            recorded, at
        )
        at += HEAD.size
        texts = recorded[at : at + path + target].decode()
        at += path + target
        data = recorded[at : at + size] if kind == Kind.WRITE else b""
        at += len(data)
        yield Call(
            Kind(kind),
            thread,
            time_ns,
            inode,
            offset,
            size,
            texts[:path],
            texts[path:],
            bool(synced),
            data,
        )


Change = TypeVar("Change")


class _Later(Generic[Change]):
    """What was done since the last sync, and which of it a sync that is going on covers."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._settled = 0
        self._begun: dict[int, int] = {}  # thread → changes since the beginning of time

    def begin_sync(self, thread: int) -> None:
        self._begun[thread] = self._settled + len(self.changes)

    def end_sync(self, thread: int) -> list[Change]:
        """Return what is now on the disk for sure, and was not before."""
        covered = max(self._begun.pop(thread) - self._settled, 0)
        done, self.changes = self.changes[:covered], self.changes[covered:]
        self._settled += covered
        return done


class _Write(NamedTuple):
    """A write; or a truncation, which writes zeros over what it cuts off."""

    offset: int
    data: bytes
    size: int  # of the file, after it
    synced: bool


class _File:
    """Its content at the last sync, and what was written since."""

    def __init__(self, content: bytes = b"") -> None:
        self.kept = bytearray(content)
        self.later: _Later[_Write] = _Later()
        self.size = len(content)

    def write(self, offset: int, data: bytes, *, synced: bool) -> None:
        self.size = max(self.size, offset + len(data))
        self.later.changes.append(_Write(offset, data, self.size, synced))

    def truncate(self, size: int) -> None:
        lost = bytes(max(self.size - size, 0))
        self.size = size
        self.later.changes.append(_Write(size, lost, size, synced=False))

    def end_sync(self, thread: int) -> None:
        _write_to(self.kept, self.later.end_sync(thread))

    def now(self) -> bytes:
        """Return what a process reads."""
        content = bytearray(self.kept)
        _write_to(content, self.later.changes)
        return bytes(content)

    def may_be(self, chance: Random) -> bytes:
        """Return a content that the disk may hold."""
        later = self.later.changes
        sure = max((at + 1 for at, change in enumerate(later) if change.synced), default=0)
        until = chance.choice([sure, len(later), chance.randint(sure, len(later))])
        scattered = chance.random() < 0.5
        touched: dict[int, list[int]] = defaultdict(list)
        for at, change in enumerate(later):
            end = change.offset + len(change.data)
            for sector in range(change.offset // SECTOR, -(-end // SECTOR)):
                touched[sector].append(at)
        content = bytearray(self.kept)
        for sector, changes in touched.items():
            least = max(
                (place + 1 for place, at in enumerate(changes) if later[at].synced), default=0
            )
            most = sum(at < until for at in changes)
            version = chance.randint(least, len(changes)) if scattered else max(least, most)
            for at in changes[:version]:
                _apply(content, later[at], sector * SECTOR, (sector + 1) * SECTOR)
        size = later[until - 1].size if until else len(self.kept)
        return bytes(content[:size]).ljust(size, b"\0")


def _apply(content: bytearray, change: _Write, start: int, end: int) -> None:
    """Put the part of a change that lies between `start` and `end`."""
    start, end = max(start, change.offset), min(end, change.offset + len(change.data))
    content.extend(bytes(max(end - len(content), 0)))
    content[start:end] = change.data[start - change.offset : end - change.offset]


def _write_to(content: bytearray, changes: list[_Write]) -> None:
    for change in changes:
        _apply(content, change, change.offset, change.offset + len(change.data))
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))


class Disk:
    """What is below `root`, which is on the disk as it stands when this is made, and what comes
    upon it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[int, _File] = {}
        self._names: dict[str, _File | None] = {}  # None: a folder
        self._later: dict[str, _Later[Call]] = defaultdict(_Later)  # of the names in each folder
        self._made: dict[Call, _File] = {}
        for path in sorted(root.rglob("*")):
            file = None if path.is_dir() else _File(path.read_bytes())
            self._names[str(path)] = file
            if file is not None:
                self._files[path.stat().st_ino] = file

    def tell(self, call: Call) -> None:
        """Take note of the next call."""
        match call.kind:
            case Kind.MADE:
                self._made[call] = self._files[call.inode] = _File()
                self._later[_folder(call.path)].changes.append(call)
            case Kind.RENAME | Kind.UNLINK | Kind.MKDIR:
                self._later[_folder(call.path)].changes.append(call)
            case Kind.WRITE:
                self._files[call.inode].write(call.offset, call.data, synced=call.synced)
            case Kind.TRUNCATE:
                self._files[call.inode].truncate(call.size)
            case Kind.SYNC_BEGIN:
                file = self._files.get(call.inode)
                (self._later[call.path] if file is None else file.later).begin_sync(call.thread)
            case Kind.SYNC_END if call.inode in self._files:
                self._files[call.inode].end_sync(call.thread)
            case Kind.SYNC_END:
                self._rename(self._names, self._later[call.path].end_sync(call.thread))

    def cut(self, target: Path, chance: Random, during: Call | None = None) -> None:
        """Write to `target`, a new folder, what the disk may hold when the power is cut now, in a
        call.
        """
        torn = self._files.get(during.inode) if during and during.kind == Kind.WRITE else None
        if during and torn:
            before = torn.size
            torn.write(during.offset, during.data, synced=False)
        names = dict(self._names)
        for changes in [later.changes for later in self._later.values()]:
            self._rename(
                names, changes[: chance.choice([0, len(changes), chance.randint(0, len(changes))])]
            )
        self._write(
            target,
            names,
            {file: file.may_be(chance) for file in names.values() if file is not None},
        )
        if torn:
            torn.later.changes.pop()
            torn.size = before

    def whole(self, target: Path) -> None:
        """Write to `target`, a new folder, all that was done: what is there when nothing is cut."""
        names = dict(self._names)
        for later in self._later.values():
            self._rename(names, later.changes)
        self._write(
            target, names, {file: file.now() for file in names.values() if file is not None}
        )

    def _rename(self, names: dict[str, _File | None], changes: list[Call]) -> None:
        for call in changes:
            match call.kind:
                case Kind.MADE:
                    names[call.path] = self._made[call]
                case Kind.MKDIR:
                    names[call.path] = None
                case Kind.RENAME if call.path in names:
                    names[call.target] = names.pop(call.path)
                case Kind.UNLINK:
                    names.pop(call.path, None)

    def _write(
        self, target: Path, names: dict[str, _File | None], contents: dict[_File, bytes]
    ) -> None:
        target.mkdir()
        for name, file in sorted(names.items()):
            path = target / Path(name).relative_to(self._root)
            if not path.parent.is_dir():
                continue  # its folder did not come to the disk
            if file is None:
                path.mkdir()
            else:
                path.write_bytes(contents[file])


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
