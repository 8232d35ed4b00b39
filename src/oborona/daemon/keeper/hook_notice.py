"""Whoever may run the hook's command is asked to, when an account was banned, limited or opened.

The keeper starts no programs.  A mark in the state folder starts the unit that does
(`oborona-hook.path`); what it is to tell the command stands in the file of accounts, and so does
what came of it.

    wanted → mark
           → nobody takes the mark, or it failed: again, when it is due
           → nobody has taken it for long, or the third attempt failed: people are told, once
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.incidents.incident import TOLD_AFTER, IncidentAction
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.telemetry.alert import Alert, AlertKind

AGAIN_S: Final = 30.0  # between looks at what is asked for: whoever runs it may have been killed
UNTAKEN_S: Final = 300.0  # the unit takes a mark at once, unless a run of it is going on


class HookNotice:
    """Marks of one keeper.

    Args:
        state: state folder.
        alarm: tells people.
        clock: Unix seconds.
    """

    def __init__(self, state: Path, alarm: AlertDispatcher, clock: Callable[[], float]) -> None:
        self._mark = state / state_files.HOOK_DUE
        self._alarm = alarm
        self._clock = clock
        self._told: set[int] = set()  # actions of whose failing people have heard
        self._asked = math.inf  # Unix seconds, of the mark that nobody has taken

    async def ask(self, action: IncidentAction) -> float:
        """Have a command run that was not, or that failed, where its time has come.

        Returns:
            When to look at it again, Unix seconds.

        Raises:
            OSError: a mark can't be left.
        """
        now = self._clock()
        if action.attempts >= TOLD_AFTER and action.id not in self._told:
            self._told.add(action.id)
            await self._alarm.raise_(failing_hook_alert(action, action.answer, now))
        if action.retry_at > now:
            return action.retry_at
        if not self._mark.exists():
            self._mark.touch(0o600)
            self._asked = now
        elif self._asked == -math.inf:
            pass  # people were told of this mark
        elif self._asked == math.inf:
            self._asked = now  # a process before this one has left it
        elif now - self._asked > UNTAKEN_S:
            self._asked = -math.inf
            await self._alarm.raise_(_untaken_alert(action, now))
        return now + AGAIN_S


def failing_hook_alert(action: IncidentAction, error: str, now: float) -> Alert:
    """Return what people are told of another system that does not take what it is told."""
    return Alert(
        kind=AlertKind.HOOK,
        title=f"the hook fails: {action.target}",
        text=(
            f"What {action.target} may do could not be told to the other system in {TOLD_AFTER}"
            f" attempts: {error}.\nMail servers that ask Oborona do it all the same; it is tried"
            f" again.\n"
        ),
        time=now,
        evidence={"account": action.target, "action": action.id},
    )


def _untaken_alert(action: IncidentAction, now: float) -> Alert:
    return Alert(
        kind=AlertKind.HOOK,
        title="nobody runs the hook's command",
        text=(
            f"What {action.target} may do is to be told to inspector.hook_command, and nothing on"
            f" this machine runs it. As root:\n\n"
            f"systemctl enable --now oborona-hook.path; systemctl status oborona-hook\n"
            f"oborona incident run-hooks    (runs it now)\n"
        ),
        time=now,
        evidence={"account": action.target, "action": action.id},
    )
