"""The traps of the policy folders, as the door for reports knows them: `[traps]` alone, read again
when a file changed.

Files that can't be used leave the traps as they were; who publishes the policy says what is wrong
with them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.errors import PolicyError
from oborona.policy.folders import PolicyFolders
from oborona.policy.load_cache import DocumentCache
from oborona.policy.trap_table import TrapFiles, TrapsTable, traps_table
from oborona.policy.traps import NO_TRAPS, Traps
from oborona.policy.watch import FolderState, folder_state
from oborona.telemetry.log import event
from oborona.toml import GivenValue, table

LOOK_S: Final = 2.0  # between looks at the folders

log = logging.getLogger("oborona.intake")


class FollowedTraps:
    """Traps that follow their files.

    Args:
        where: the policy folders; a path stands for that folder alone.
    """

    def __init__(self, where: Path | PolicyFolders) -> None:
        self._folders = PolicyFolders.of(where)
        self._documents = DocumentCache()
        self._files = TrapFiles()
        self._state: FolderState | None = None
        self._looked = float("-inf")
        self._traps = NO_TRAPS

    def now(self, clock: Callable[[], float]) -> Traps:
        """Return the traps; never raises.

        Args:
            clock: seconds that only grow.
        """
        if clock() - self._looked < LOOK_S:
            return self._traps
        self._looked = clock()
        state = folder_state(self._folders)
        if state != self._state:
            self._state = state
            try:
                self._traps = self._read()
            except PolicyError as error:
                event(log, logging.ERROR, "the traps stay as they were", error=error)
        return self._traps

    def _read(self) -> Traps:
        tables: dict[str, GivenValue] = {}
        paths = self._folders.files(".toml")
        for path in paths:
            document = self._documents.read(path, path)
            if isinstance(document.data.get("traps"), dict):
                tables |= table(document, ("traps",), TrapsTable, name="[traps]", error=PolicyError)
        self._documents.keep(frozenset(path.name for path in paths))
        traps, _ = self._files.read(self._folders, traps_table(tables), tables)
        return traps
