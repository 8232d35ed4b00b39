"""Signs of life: each process counts up a number in memory that it shares with its supervisor,
again and again.

A number in memory costs nobody anything: a beat is no system call and wakes nobody, it can neither
block nor fail, and the supervisor looks when it likes.  What beats is what does the work: the event
loop (`beat_forever`), or the loop that asks a `StopSignal` whether to go on.  A process that works
through something long beats on its way (`beat`).  There is one heart in a process, so it stands
here and is handed to nobody; a process that nobody supervises (a test, a command) beats in vain.

What a process takes of the machine lies beside its beats, for the supervisor can't look: of a
process whose memory is private /proc tells its own alone (proc(5), hidepid).
"""

from __future__ import annotations

import asyncio
import math
import mmap
import os
import select
import signal
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

LEAST_S: Final = 1.0  # between two beats of an idle process: it is woken no oftener
MOST_S: Final = 3.0
BEATS: Final = 5  # within the time after which a process is held to hang
USAGE_S: Final = 5.0  # between two looks of a process at what it takes: some 50 µs each
_TICKS: Final = 1_000_000  # of a second, in shared memory


class ProcessUsage(NamedTuple):
    """What a process takes of the machine."""

    memory_bytes: int  # resident, what it shares with others included
    open_files: int
    cpu_s: float  # of all its threads, since it began


def own_usage() -> ProcessUsage:
    """Return what this process takes; 0 where /proc does not tell."""
    memory = files = 0
    with suppress(OSError, ValueError, IndexError):
        memory = int(Path("/proc/self/statm").read_bytes().split()[1]) * mmap.PAGESIZE
    with suppress(OSError):
        files = len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208 - names alone; one is its own
    return ProcessUsage(memory, files, time.process_time())


class Heartbeat:
    """Memory that a process and its supervisor share: how often the process has beaten, and what it
    takes.
    """

    __slots__ = ("_count", "_memory")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)  # anonymous and shared
        self._count = memoryview(self._memory).cast("Q")

    @property
    def beats(self) -> int:
        """How often it has beaten since it was started."""
        return self._count[0]

    def beat(self) -> None:
        """Beat once."""
        self._count[0] += 1

    @property
    def usage(self) -> ProcessUsage:
        """What it took when it looked last; nothing where it has not yet."""
        return ProcessUsage(self._count[1], self._count[2], self._count[3] / _TICKS)

    def tell_usage(self, usage: ProcessUsage) -> None:
        """Tell what it takes now."""
        self._count[1], self._count[2] = usage.memory_bytes, usage.open_files
        self._count[3] = int(usage.cpu_s * _TICKS)

    def reset(self) -> None:
        """Begin at none: another process gets it."""
        self._count[0] = 0
        self.tell_usage(ProcessUsage(0, 0, 0.0))

    def close(self) -> None:
        """Let go of it in this process."""
        self._count.release()
        self._memory.close()


class _OwnHeartbeat:
    def __init__(self) -> None:
        self.heartbeat = Heartbeat()
        self.every_s = MOST_S
        self.look_at = -math.inf  # when to look next at what this process takes


_heart: Final = _OwnHeartbeat()


def beat_interval_s(hung_s: float) -> float:
    """Return how often a process beats, in seconds, that is held to hang after so many."""
    return min(MOST_S, max(LEAST_S, hung_s / BEATS))


def begin(heartbeat: Heartbeat, interval_s: float) -> None:
    """Let this process beat there from now on, that often when it is idle."""
    _heart.heartbeat.close()
    _heart.heartbeat, _heart.every_s = heartbeat, interval_s
    _heart.look_at = -math.inf


def beat() -> None:
    """Show that this process goes on."""
    _heart.heartbeat.beat()


def beat_and_tell() -> None:
    """Show that this process goes on, and now and then what it takes."""
    beat()
    now = time.monotonic()
    if now >= _heart.look_at:
        _heart.look_at = now + USAGE_S
        _heart.heartbeat.tell_usage(own_usage())


async def beat_forever() -> None:
    """Beat as long as the event loop turns, until cancelled."""
    while True:
        beat_and_tell()
        await asyncio.sleep(_heart.every_s)


class StopSignal(threading.Event):
    """Set by SIGTERM and SIGINT, and by whoever else.

    Each look at it is a beat, and so is each part of a wait.

    Made in the main thread of a process.
    """

    def __init__(self) -> None:
        super().__init__()
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.set())

    def set(self) -> None:
        """Ask to stop."""
        super().set()
        os.eventfd_write(self._descriptor, 1)  # never read: a wait from now on is over at once

    def is_set(self) -> bool:
        """Whether to stop."""
        beat_and_tell()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until set, or until so many seconds are over; return whether it is set."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            beat_and_tell()
            left_s = _heart.every_s if until is None else until - time.monotonic()
            if super().wait(max(0.0, min(left_s, _heart.every_s))):
                return True
            if left_s <= 0 or (until is not None and left_s <= _heart.every_s):
                return super().is_set()

    def wait_for(self, descriptor: int, timeout: float) -> None:
        """Wait until set, until a descriptor is readable, or until so many seconds are over.

        Args:
            descriptor: beside the signals; -1 = none.
            timeout: seconds, no more than an idle process may go without a beat.
        """
        beat_and_tell()
        heard = [self._descriptor, *([descriptor] if descriptor >= 0 else [])]
        select.select(heard, [], [], min(timeout, _heart.every_s))
