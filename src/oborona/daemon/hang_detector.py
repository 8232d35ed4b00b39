"""Detection of hung processes: when one that sends no heartbeat is taken to hang.

    silent for = the time that the supervisor watched and saw no beat, less the time that the
    process waited for a processor, of which a third counts

Watched time, not time: of a pause in which the supervisor did not run either (a machine that was
suspended, a container that was frozen, a debugger), no more than one look is counted, and by the
next one a process that lives has beaten.  Time for which the kernel kept a process waiting for a
processor is the machine's, not its own: killing what is starved makes the machine no faster.  A
third of it counts, so that whatever the load, what hangs is gone after three times as long.

What a worker may do between two beats is one step of one message, for each message that begins and
ends is a beat beside those of the clock: so the time that many heavy messages take together does
not count.  A step is bounded by the limits of the parser and of a scan, seconds at the worst;
`worker.hung_s` is to be above it, and below what a mail server waits.

Source: Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat).
Limits: a kernel without schedstat, or a unit with ProtectProc=invisible, which hides it, is taken
to keep nobody waiting.  There who ran for a sixth of the time is held to compute: that is more than
a step of a scan took before it was stopped, and what a busy machine leaves to a loop without end.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, NamedTuple

ABORT_S: Final = 2.0  # from SIGABRT, which writes a traceback of all threads, to SIGKILL
# until the first beat: a store may be made anew, or brought to a new version
STARTING_S: Final = 600.0
LEAST_SHARE: Final = 1 / 3  # of watched time, that counts whatever the load
SPINS: Final = 1 / 2  # of the time that it is silent, it ran or would have
SPINS_UNTOLD: Final = 1 / 6  # it ran, where nobody tells what it waited
# which clock of a process. Source: clock_getcpuclockid(3), CPUCLOCK_SCHED of the kernel
_SCHEDULED: Final = 2
# times as long for processes that nobody waits for: they work through much at a time
PATIENT: Final = 10


class CpuUsage(NamedTuple):
    """The processor time that a process had, and waited for."""

    ran_s: float
    waited_s: float | None  # it was ready to run, and had none; None: nobody tells


class HangDetector:
    """How long a process has been silent, in time during which its supervisor watched it.

    Args:
        look_s: seconds between looks, where nothing holds them up.
    """

    __slots__ = ("_beats", "_look_s", "_looked", "_then", "_used", "_was", "seconds")

    def __init__(self, look_s: float, now: float) -> None:
        self._look_s = look_s
        self._looked = now
        self._beats = 0
        self._used = CpuUsage(0.0, 0.0)
        self._then, self._was = now, self._used  # when a beat was seen last
        self.seconds = 0.0

    @property
    def began(self) -> bool:
        """Whether it has ever beaten."""
        return self._beats > 0

    @property
    def ran_s(self) -> float:
        """Processor time since the last beat that was seen."""
        return self._used.ran_s - self._was.ran_s

    @property
    def spins(self) -> bool:
        """Whether it computes, or would if the machine let it, rather than standing still: stopped,
        or waiting for a disk or a lock.
        """
        waited_s = _waited_s(self._was, self._used)
        share = SPINS if waited_s is not None else SPINS_UNTOLD
        return self.ran_s + (waited_s or 0.0) >= (self._looked - self._then) * share

    def look(self, beats: int, used: CpuUsage, now: float) -> None:
        """Take note of a look.

        Args:
            beats: of the process since it was started.
            used: by it since it was started.
            now: monotonic seconds, no earlier than at the look before.
        """
        passed_s = now - self._looked
        starved_s = max(0.0, _waited_s(self._used, used) or 0.0)
        self._looked, self._used = now, used
        if beats != self._beats:
            self._beats, self._then, self._was, self.seconds = beats, now, used, 0.0
        else:
            own = 1.0 - starved_s / passed_s if passed_s > 0 else 0.0
            self.seconds += min(passed_s, self._look_s) * max(own, LEAST_SHARE)

    def hangs(self, hung_s: float) -> bool:
        """Whether it is held to hang; one that has never beaten is given at least `STARTING_S`."""
        return self.seconds >= (hung_s if self.began else max(hung_s, STARTING_S))


def cpu_usage(pid: int) -> CpuUsage:
    """Return what the main thread of a process has had since it began.

    Nothing where that can't be told.
    """
    try:
        ran, waited = Path(f"/proc/{pid}/schedstat").read_text().split()[:2]
        return CpuUsage(int(ran) / 1e9, int(waited) / 1e9)
    except (OSError, ValueError):
        return CpuUsage(_ran_s(pid), None)


def _waited_s(was: CpuUsage, used: CpuUsage) -> float | None:
    """Return what a process waited for a processor between two looks; None = nobody tells."""
    if was.waited_s is None or used.waited_s is None:
        return None
    return used.waited_s - was.waited_s


def _ran_s(pid: int) -> float:
    """Return what all threads of a process have had, by its own clock: that is told where /proc
    hides a process whose memory is private.
    """
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError:
        return 0.0
