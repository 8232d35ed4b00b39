"""People are told of event logs that need a look: tables that nobody checks, a source that gives
none any more or far from as many rows as usual, thresholds that leapt, what was set aside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.config.eventlog import EventLogSettings
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.lateness import LogLateness, late_logs
from oborona.telemetry.alert import Alert, AlertKind
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 60.0
AGAIN_S: Final = 6 * 3600.0  # while the same is late
MINUTE_S: Final = 60.0
SHOWN: Final = 20  # of each sort


class EventLogWatch:
    """The watch of one keeper.

    Args:
        state: state folder.
        settings: of event logs.
        alarm: tells people.
        clock: Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        settings: EventLogSettings,
        alarm: AlertDispatcher,
        clock: Callable[[], float],
    ) -> None:
        self._path = state / state_files.EVENT_LOG_STORE
        self._settings = settings
        self._alarm = alarm
        self._clock = clock
        self._told: frozenset[tuple[str, str]] = frozenset()
        self._told_at = 0.0
        self._trouble = TroubleNotice(
            "nobody is told of late event logs", "people are told of late event logs again"
        )

    async def run(self) -> None:
        """Look and tell, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Tell what is late now, once while it is the same; trouble is said once."""
        with self._trouble.noted():
            now = self._clock()
            late = await asyncio.to_thread(self._look, now)
            what = frozenset(_sorts(late))
            is_new = bool(what - self._told)
            if what and (is_new or now - self._told_at >= AGAIN_S):
                await self._alarm.raise_(alert_of(late, now))
                self._told_at = now
            self._told = what

    def _look(self, now: float) -> tuple[LogLateness, ...]:
        if not self._path.exists():
            return ()
        with LogStore(self._path, make=False) as store:
            return late_logs(
                store,
                now,
                late_s=self._settings.late_minutes * MINUTE_S,
                silent_s=self._settings.silent_minutes * MINUTE_S,
            )


def _sorts(late: Sequence[LogLateness]) -> list[tuple[str, str]]:
    """Return what is told when it is new: that a log is late, or silent; each thing set aside."""
    found = []
    for one in late:
        found += [(one.log, "late")] * bool(one.waiting)
        found += [(one.log, "silent")] * (one.silent_since is not None)
        found += [(one.log, "volume")] * (one.volume is not None)
        found += [(one.log, f"leap {leap.event} {leap.date}") for leap in one.leaps]
        found += [(one.log, f"aside {name}") for name, _ in one.aside]
    return found


def alert_of(late: Sequence[LogLateness], now: float) -> Alert:
    """Return what people are told.

    Args:
        late: the logs.
        now: Unix seconds.
    """
    names = ", ".join(one.log for one in late)
    lines = [line for one in late for line in _lines(one, now)]
    return Alert(
        kind=AlertKind.EVENT_LOG,
        title=f"event logs need a look: {names}",
        text="\n".join([*lines, "", "oborona eventlog status", ""]),
        time=now,
        evidence={
            one.log: {
                "waiting": [table.name for table in one.waiting],
                "silent_since": one.silent_since,
                "volume": one.volume and one.volume._asdict(),
                "leaps": [leap._asdict() for leap in one.leaps],
                "aside": [name for name, _ in one.aside],
            }
            for one in late
        },
    )


def _lines(late: LogLateness, now: float) -> list[str]:
    lines = [
        f"{late.log}: {table.name} was delivered at {_time(table.delivered)} and is not checked"
        f" {(now - table.delivered) / MINUTE_S:.0f} minutes later"
        for table in late.waiting[:SHOWN]
    ]
    if len(late.waiting) > SHOWN:
        lines.append(f"{late.log}: and {len(late.waiting) - SHOWN} tables more")
    if late.silent_since is not None:
        lines.append(f"{late.log}: its source has given no table since {_time(late.silent_since)}")
    if late.volume is not None:
        lines.append(
            f"{late.log}: {late.volume.rows} rows came in the last hour, where"
            f" {late.volume.usual:.0f} are usual"
        )
    lines += [
        f"{late.log}: the threshold of {leap.event or 'other events'} made of {leap.date} is"
        f" {leap.threshold:.0f}, and was {leap.before:.0f} in the days before"
        for leap in late.leaps[:SHOWN]
    ]
    lines += [f"{late.log}: set aside {name}: {why}" for name, why in late.aside[:SHOWN]]
    if len(late.aside) > SHOWN:
        lines.append(f"{late.log}: and {len(late.aside) - SHOWN} set aside more")
    return lines


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
