"""The audit log as a process keeps it open that notes looks: one each page, and to open and leave
the file costs as much as all else of such a page.
"""

from __future__ import annotations

import threading
from pathlib import Path

from oborona import state_files
from oborona.audit.row import AuditRow
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore
from oborona.errors import StoreError


class LookLog:
    """Notes looks, from any number of threads.

    Args:
        state: the state folder.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._store: AuditStore | None = None

    def note(self, row: AuditRow) -> None:
        """Write that somebody looked; a power failure may take that.

        Args:
            row: as of `AuditStore.look`.

        Raises:
            StoreError: it can't be written.
        """
        with self._lock:
            key = audit_key(self._state)
            if self._store is None:
                self._store = AuditStore(self._state / state_files.AUDIT, key)
            self._store.key = key  # a site may get one meanwhile
            try:
                self._store.look(row)
            except StoreError:  # it is opened anew, as whoever mends it expects
                self._store.close()
                self._store = None
                raise
