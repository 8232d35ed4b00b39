"""A child as its supervisor sees it: whether it runs, serves and beats, and when it is to be
restarted.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Final

from oborona.daemon.child import READY, STACKS, ProcessJob
from oborona.daemon.hang_detector import HangDetector
from oborona.daemon.restart import PACE_BESIDE_S, PACE_S, fruitless_in_row, restart_delay_s
from oborona.heartbeat import Heartbeat
from oborona.metrics import Counter, Gauge

SERVES: Final = Gauge(
    "oborona_process_serves",
    (
        "1 while a process serves, or rests until somebody connects; 0 while it starts, hangs, "
        "or waits to be started again."
    ),
    ("process",),
)
STARTS: Final = Counter(
    "oborona_process_starts", "Starts of a process since the service began.", ("process",)
)
DEATHS: Final = Counter(
    "oborona_process_deaths",
    "Ends of a process that nobody asked for, since the service began.",
    ("process",),
)
HUNG: Final = Counter(
    "oborona_process_hung",
    (
        "Times that a process was killed for showing no sign of life for worker.hung_s; the "
        "log has the stacks of its threads."
    ),
    ("process",),
)
MEMORY: Final = Gauge(
    "oborona_process_memory_bytes",
    "Resident memory of a process, what it shares with others included.",
    ("process",),
)
FILES: Final = Gauge(
    "oborona_process_open_files", "Files and connections that a process has open.", ("process",)
)
CPU: Final = Counter(
    "oborona_process_cpu_seconds", "Time of a processor that a process took.", ("process",)
)
# kept of what a child says over its life: the stacks of its threads are the most
HEARD_BYTES = 65_536


@dataclass(slots=True, kw_only=True)
class SupervisedProcess:
    """One job's process, and those before it."""

    job: ProcessJob
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    pid: int = 0  # 0 = does not run
    channel: int = -1  # from it; -1 = closed
    started: float = 0.0
    ended: float = -math.inf  # while it does not run; monotonic, as all times here
    lived_s: float = math.inf
    fruitless: int = 0  # deaths in a row without having served
    heard: bytes = b""
    reload: bool = False  # owed to it when it serves
    told: bool = False  # to stop
    rests: bool = False  # it ended for want of anything to do, and starts when somebody connects
    silence: HangDetector = field(default_factory=lambda: HangDetector(0.0, 0.0))
    kill_at: float = math.inf  # it hangs, and was told to say where

    def __post_init__(self) -> None:
        for metric in (STARTS, DEATHS, HUNG):
            metric.inc(self.job.name, by=0)

    @property
    def serves(self) -> bool:
        """Whether it runs, has said that it serves, and is not held to hang."""
        return self.pid > 0 and self.heard.startswith(READY) and not self.hangs

    @property
    def answers(self) -> bool:
        """Whether who connects is served, if need be by a process that is started for it."""
        return self.serves or self.rests

    @property
    def served(self) -> bool:
        """Whether it ever said so in this life, or the last."""
        return self.heard.startswith(READY)

    @property
    def hangs(self) -> bool:
        """Whether it is held to hang, and not gone yet."""
        return self.pid > 0 and self.kill_at < math.inf

    @property
    def reason(self) -> str:
        """What it said of its end; empty = nothing."""
        return self._words.partition(STACKS)[0].decode("utf-8", "replace")

    @property
    def stacks(self) -> str:
        """Where its threads were when it died of a fault, or was held to hang.

        Empty = it did not say.
        """
        _, marker, stacks = self._words.partition(STACKS)
        return (marker + stacks).decode("utf-8", "replace")

    @property
    def _words(self) -> bytes:
        return self.heard.removeprefix(READY)

    def begins(self, look_s: float, now: float) -> None:
        """Start another life."""
        self.heard, self.started, self.kill_at = b"", now, math.inf
        self.silence = HangDetector(look_s, now)
        self.heartbeat.reset()
        STARTS.inc(self.job.name)

    def ends(self, now: float) -> None:
        """Note a death that nobody asked for."""
        self.pid = 0
        self.ended, self.lived_s = now, now - self.started
        self.fruitless = fruitless_in_row(self.fruitless, served=self.served)
        DEATHS.inc(self.job.name)

    def due(self, *, alone: bool) -> float:
        """Return when it is to be started, while it does not run.

        `alone`: it is vital, and no other that is serves.
        """
        pace_s = PACE_S if self.job.vital else PACE_BESIDE_S
        return self.ended + restart_delay_s(
            self.fruitless, self.lived_s, alone=alone, pace_s=pace_s
        )

    def close(self) -> None:
        """Close our end of its channel."""
        if self.channel >= 0:
            os.close(self.channel)
            self.channel = -1
