"""The journal as who asks it seldom reads it: opened by the first question, and anew after trouble.

It may be begun later than we are.
"""

from __future__ import annotations

from pathlib import Path

from oborona.errors import StoreError
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader


class LazyEntryFinder:
    """The journal, read-only; for one event loop.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: JournalReader | None = None

    async def get(self, number: int) -> JournalEntry | None:
        """Return one entry; None when there is none.

        Raises:
            StoreError: the file cannot be read.
        """
        reader = await self._open()
        try:
            return await reader.get(number)
        except StoreError:
            await self.close()
            raise

    async def find(self, *, queue_id: str = "", message_id: str = "") -> list[int]:
        """Return ids of entries, newest first, as of `JournalReader.find`."""
        reader = await self._open()
        try:
            return await reader.find(queue_id=queue_id, message_id=message_id)
        except StoreError:
            await self.close()
            raise

    async def close(self) -> None:
        """Let the file go."""
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader.close()

    async def _open(self) -> JournalReader:
        if self._reader is not None and not self._reader.in_place():
            await self.close()
        if self._reader is None:
            opened = await JournalReader.open(self._path)
            if self._reader is not None:  # by another question meanwhile
                await opened.close()
            else:
                self._reader = opened
        return self._reader
