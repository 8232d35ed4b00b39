"""The keys of events by HTTP: whose each is, and which logs it writes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from oborona.config import Settings
from oborona.doors.http.right_keys import LONGEST_NAME, RightKeys
from oborona.errors import ConfigError


class EventKey(NamedTuple):
    """What a key may do."""

    name: str  # of who sends events
    logs: frozenset[str]  # that he writes


class EventKeys(RightKeys[EventKey]):
    """Who may send events.

    A line is `KEY NAME LOG[,LOG]`.
    """

    line = (
        f"a key, a name of who has it (at most {LONGEST_NAME} characters, no space), and the event"
        " logs that it writes, with commas between"
    )

    @staticmethod
    def _rights(rest: str) -> EventKey | None:
        name, logs, *more = (*rest.split(), "", "")
        named = logs.split(",")
        if any(more) or not (name.isprintable() and len(name) <= LONGEST_NAME and all(named)):
            return None
        return EventKey(name, frozenset(named))


def event_keys(settings: Settings) -> EventKeys | None:
    """Return the keys of events, None where they are not taken.

    Raises:
        ConfigError: the file can't be used, or nobody would make tables of events.
    """
    file = settings.doors.http.events_keys_file
    if not file:
        return None
    if not settings.eventlog.enabled:
        raise ConfigError(
            "doors.http.events_keys_file is set, and eventlog.enabled is false: nobody would make"
            " tables of what comes"
        )
    return EventKeys(Path(file))
