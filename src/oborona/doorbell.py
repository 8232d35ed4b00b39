"""Files that several processes follow: who changes one rings, and who follows looks at once; who
hears nothing looks once a second.

    who changes       writes, then `ring(path)`: the file's times are set, two microseconds
    who follows       waits for the kernel's word (inotify), or the second
                      → have the file's stamps moved? → only then it is read

All that follows files in one event loop shares one clock and one descriptor (`Doorbell`), so that
an idle process is woken once a second, whatever it follows, and then asks for stamps alone.  A ring
is a hint: what was missed is seen by the second's look, for whatever writes a file moves its
stamps.  Stamps that are younger than the kernel's clock is coarse are not believed: the file is
read once more by the next look.

Source: inotify(7).  Python has no binding; glibc's three functions are called.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

LOOK_S: Final = 1.0  # between looks: what nobody rang for is seen within a second
# that a stamp must be old before what comes next is sure to have another: a tick of the kernel's
# clock is 10 ms at most
COARSE_NS: Final = 50_000_000
WRITTEN: Final = ("", "-wal")  # what a transaction of SQLite's writes: the log, in the end the file

# linux/inotify.h
_IN_MODIFY, _IN_ATTRIB, _IN_CLOSE_WRITE, _IN_MOVED_FROM, _IN_MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_IN_CREATE, _IN_DELETE, _IN_DELETE_SELF, _IN_MOVE_SELF = 0x100, 0x200, 0x400, 0x800
RUNG: Final = _IN_ATTRIB | _IN_DELETE_SELF | _IN_MOVE_SELF
"""What `ring` does to a file, and that another takes its name: not each write."""
CHANGED: Final = (
    RUNG | _IN_MODIFY | _IN_CLOSE_WRITE | _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE
)
"""Whatever changes in a folder, and in the files that are in it."""
NAMED: Final = _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE
"""A name in a folder comes, goes, or is another file's."""
_IN_MASK_ADD: Final = 0x20000000  # what was asked before stays asked
_READ_OCTETS: Final = 4096  # some events, names included; what is left is drained by the next turn

_libc: Final = ctypes.CDLL(None, use_errno=True)


_Stamp = tuple[int, int, int, int, int]


def ring(path: Path) -> None:
    """Wake who follows a file that was changed just now; never raises.

    A file that is not there, or is not ours to touch, is seen by the next look.
    """
    with suppress(OSError):
        os.utime(path)


class FileNotices:
    """The kernel's word that files or folders change, as a descriptor to wait for; closed with the
    last reference.

    Guaranteed: what changes after `add` makes the descriptor readable until `drain`.  It is a hint:
    where the kernel gives none (its limits are used up, a network file system) nothing is said, and
    who waits has a time-out.
    """

    def __init__(self) -> None:
        self._descriptor = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor >= 0:
            self._let_go = weakref.finalize(self, os.close, self._descriptor)

    def fileno(self) -> int:
        """Return the descriptor to wait for; -1 = the kernel gives none."""
        return int(self._descriptor)

    @property
    def given(self) -> bool:
        """Whether the kernel gives any, and they are not closed."""
        return self.fileno() >= 0

    def add(self, path: str | Path, what: int) -> bool:
        """Ask for notices of a path as it is now.

        Asked again it costs a system call, and another file that has the name is told of, too.

        Args:
            path: of a file or folder.
            what: `RUNG`, `CHANGED` or `NAMED`.

        Returns:
            Whether they will come: not of what is not there, nor beyond the kernel's limits.
        """
        return (
            self.given
            and _libc.inotify_add_watch(self.fileno(), os.fsencode(path), what | _IN_MASK_ADD) >= 0
        )

    def drain(self) -> bool:
        """Take what is there; return whether there was any."""
        any_there = False
        try:
            while self.given and os.read(self.fileno(), _READ_OCTETS):
                any_there = True
        except BlockingIOError:
            pass
        return any_there

    def close(self) -> None:
        """Ask for none any more."""
        if self.given:
            self._descriptor = -1
            self._let_go()


class Doorbell:
    """What one follower waits for, in an event loop; to be used as a context.

    Args:
        paths: of files or folders, which need not be there yet; of a folder only what comes, goes
            and is renamed in it is seen.
        sqlite: they are files of SQLite's.
        anyway: tells at each look whether the follower is to be woken though nothing has changed.
    """

    def __init__(
        self,
        *paths: Path,
        sqlite: bool = False,
        anyway: Callable[[], bool] = lambda: False,
    ) -> None:
        self._files = [
            f"{path}{suffix}" for path in paths for suffix in (WRITTEN if sqlite else ("",))
        ]
        self._nodes: list[tuple[int, int] | None] = []  # which files have the names
        self._seen: list[_Stamp | None] = []
        self._rung = asyncio.Event()
        self._anyway = anyway

    def __enter__(self) -> Self:
        self._round = _Round.of_loop()
        self._round.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._round.leave(self)

    async def rung(self) -> None:
        """Wait until the files may have changed since the last time, the first time not at all.

        Without files: until the next look that is wanted anyway.
        """
        await self._rung.wait()
        self._rung.clear()

    def begin(self, notices: FileNotices) -> None:
        """Look for the first time: whoever follows files has not read them since."""
        if self._files:
            self.look(notices)
            self._rung.set()

    def look(self, notices: FileNotices) -> None:
        """Ring where the files have moved, and ask for notices of those that are new."""
        stamps = list(map(_stamp, self._files))
        nodes = [None if stamp is None else stamp[:2] for stamp in stamps]
        if nodes != self._nodes:
            self._nodes = nodes
            for file in self._files:
                notices.add(file, RUNG)
        if stamps != self._seen or self._anyway():
            self._rung.set()
        now = time.time_ns()
        young = any(stamp is not None and abs(now - stamp[3]) < COARSE_NS for stamp in stamps)
        self._seen = [] if young else stamps


class _Round:
    """The looks of one event loop: a clock and a descriptor for all of its bells."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._bells: list[Doorbell] = []
        self._notices = FileNotices()
        if self._notices.given:
            self._loop.add_reader(self._notices.fileno(), self._heard)
        self._timer = self._loop.call_later(LOOK_S, self._tick)

    @staticmethod
    def of_loop() -> _Round:
        loop = asyncio.get_running_loop()
        found = _rounds.get(loop)
        if found is None:
            found = _rounds[loop] = _Round()
        return found

    def enter(self, bell: Doorbell) -> None:
        self._bells.append(bell)
        bell.begin(self._notices)

    def leave(self, bell: Doorbell) -> None:
        self._bells.remove(bell)
        if self._bells:
            return
        self._timer.cancel()
        if self._notices.given:
            self._loop.remove_reader(self._notices.fileno())
        self._notices.close()
        del _rounds[self._loop]

    def _heard(self) -> None:
        if self._notices.drain():
            self._look()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(LOOK_S, self._tick)
        self._look()

    def _look(self) -> None:
        for bell in self._bells:
            bell.look(self._notices)


_rounds: Final[dict[asyncio.AbstractEventLoop, _Round]] = {}  # of loops that have any bell


def _stamp(file: str) -> _Stamp | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - half the time, twenty times a second
    except OSError:
        return None
    return (
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
    )
