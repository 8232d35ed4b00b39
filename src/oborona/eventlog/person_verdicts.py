"""What event logs say of the persons who report mail: on how many days they were caught.

It reads the file of event logs alone, and needs none of their packages. Where that can't be read,
nobody was caught: what people say of mail does not wait for a log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.config import Settings
from oborona.errors import StoreError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.keys import EventHasher
from oborona.feedback.processing.ports import NoVerdicts, PersonVerdicts
from oborona.telemetry.log import event

HEEDED_DAYS: Final = 30  # that it is held against a person that an event log caught them
DAY_S: Final = 86_400

_log = logging.getLogger("oborona.eventlog")


class LogVerdicts:
    """The verdicts of all event logs; for one thread at a time, and to be closed.

    Args:
        path: of the file of event logs; it may not be there yet.
        hasher: of persons.
    """

    def __init__(self, path: Path, hasher: EventHasher) -> None:
        self._path = path
        self._hasher = hasher
        self._store: LogStore | None = None
        self._trouble = ""

    def close(self) -> None:
        """Let the file go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def caught_days(self, person: str, now: float) -> int:
        """Return on how many days of the last month any log caught a person; today is not over."""
        hashed = self._hasher.person(person)
        if hashed is None:
            return 0
        try:
            return self._days(hashed, _day(now - HEEDED_DAYS * DAY_S), _day(now))
        except StoreError as error:
            self.close()
            if str(error) != self._trouble:
                self._trouble = str(error)
                event(_log, logging.ERROR, "nobody is believed less for event logs", error=error)
            return 0

    def _days(self, person: int, first: str, today: str) -> int:
        if self._store is None:
            if not self._path.exists():
                return 0
            self._store = LogStore(self._path, make=False)
        ((days,),) = self._store.rows(
            "SELECT count(DISTINCT date) FROM fraud_person"
            " WHERE person = ? AND date >= ? AND date < ?",
            (person, first, today),
        )
        self._trouble = ""
        return int(days)


def _day(at: float) -> str:
    """Return the day of a time, UTC, as tables name it."""
    return time.strftime("%Y-%m-%d", time.gmtime(at))


@contextmanager
def opened_verdicts(settings: Settings, state: Path) -> Iterator[PersonVerdicts]:
    """Give what event logs say of persons, where a site has them and heeds them.

    Args:
        settings: of the site.
        state: state folder.
    """
    if not (settings.eventlog.enabled and settings.learning.heed_event_logs):
        yield NoVerdicts()
        return
    hasher = EventHasher(secret.load(state).eventlog)
    with closing(LogVerdicts(state / state_files.EVENT_LOG_STORE, hasher)) as verdicts:
        yield verdicts
