"""Messages of the journal whose text somebody handed in with a report, while it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from oborona import state_files
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog


class KeptMessages:
    """The texts; to be used by one thread, and closed.

    Args:
        site: whose.

    Raises:
        StoreError: the log of events can't be read; methods raise it too.
    """

    def __init__(self, site: Site) -> None:
        path = site.state / state_files.EVENTS
        self._log = None
        if path.exists():
            with site.as_owner():
                self._log = EventLog(path, make=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._log is not None:
            self._log.close()

    def of(self, number: int) -> bytes:
        """Return a message as it was handed in; empty where none is kept.

        Args:
            number: of the message in the journal.
        """
        if self._log is None:
            return b""
        reports = self._log.about(ident=number)
        return next((raw for report in reports if (raw := self._log.raw(report.id))), b"")

    def good(self, most: int) -> Iterator[bytes]:
        """Yield the newest messages that somebody who is believed said to be no spam.

        Args:
            most: so many.
        """
        if self._log is None:
            return
        rows = self._log.rows(
            "SELECT r.id FROM raw r JOIN event e ON e.id = r.id WHERE e.what = 'pardon'"
            " AND e.counts ORDER BY r.id DESC LIMIT ?",
            (most,),
        )
        yield from filter(None, (self._log.raw(ident) for (ident,) in rows))
