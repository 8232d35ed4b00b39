"""One act with its two rows: begun before it, ended after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from oborona.audit.declarations import ActDeclaration, RowNeed
from oborona.audit.row import ActOutcome, AuditRow, RowKind
from oborona.audit.store import AuditStore, ChainEnd
from oborona.audit.texts import MESSAGE, cut_text
from oborona.errors import StoreError, StoreForbidden

OpenAudit = Callable[[bool], AuditStore]
"""Opens the site's log; whether one is begun where there is none is its argument."""
AsOwner = Callable[[], AbstractContextManager[None]]
"""Within what it gives, files are those of the daemon's user."""


class ActRecord:
    """The rows of an act.

    Args:
        open_audit: opens the log.
        as_owner: for all that is done with it.
        declaration: of the act.
        row: who, which act, about what, by which arguments, why.
        keep_days: how long rows are kept.
    """

    def __init__(
        self,
        open_audit: OpenAudit,
        as_owner: AsOwner,
        declaration: ActDeclaration,
        row: AuditRow,
        keep_days: float,
    ) -> None:
        self._open = open_audit
        self._as_owner = as_owner
        # open from begin to end: to open and close it twice costs twice the waits for the disk
        self._store: AuditStore | None = None
        self._need = declaration.need
        self._row = row
        self._keep_us = int(keep_days * 86_400_000_000)
        self._begun: ChainEnd | None = None
        self._off = False
        self._since = time.monotonic()

    def begin(self) -> str:
        """Write that it begins; return why that could not be, of an act that goes on without.

        Raises:
            StoreError: it can't be written, and the act must not be done.
        """
        try:
            with self._as_owner():
                self._store = self._open(self._need is not RowNeed.STATE)
                self._begun = self._store.begin(self._row, self._keep_us)
        except (StoreError, OSError) as error:
            self._close()
            self._off = bool(self._row.dry) or (self._need is RowNeed.ROOT and _forbidden(error))
            if self._off:  # nothing will be done
                return ""
            if self._need in {RowNeed.FIRST, RowNeed.ROOT}:
                raise
            # what puts the state back may find no log, and nothing is wrong
            return "" if self._need is RowNeed.STATE else str(error)
        return ""

    def end(
        self, outcome: ActOutcome, status: int, message: str, undo: str = ""
    ) -> ChainEnd | None:
        """Write how it ended; return the end of the chain.

        None where nothing was done, and its beginning could not be written.

        Args:
            outcome: what came of it.
            status: of the command, or of HTTP where it was refused.
            message: of an error.
            undo: the call that takes it back, a JSON object; empty = none, or it is not known.

        Raises:
            StoreError: it can't be written; that it began is there.
        """
        if self._off:
            return None
        if self._begun is None and self._need is RowNeed.STATE and outcome is not ActOutcome.DONE:
            self._close()
            return None
        ended = AuditRow(
            number=0,
            kind=RowKind.ENDED,
            at=time.time_ns() // 1000,
            act=self._row.act,
            outcome=outcome,
            status=status,
            message=cut_text(message, MESSAGE),
            took=round((time.monotonic() - self._since) * 1e6),
            undo=undo,
        )
        try:
            with self._as_owner():
                if self._store is None:
                    self._store = self._open(True)
                return self._store.end(self._row, self._begun, ended)
        finally:
            self._close()

    def _close(self) -> None:
        if self._store is not None:
            with self._as_owner():
                self._store.close()
            self._store = None


def _forbidden(error: Exception) -> bool:
    return isinstance(error, StoreForbidden | PermissionError) or isinstance(
        error.__cause__, PermissionError
    )
