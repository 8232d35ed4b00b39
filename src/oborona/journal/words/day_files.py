"""Search files that searches share: to open one takes a while, and there is one a day."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from oborona.atomic_file import OpenFileCheck
from oborona.journal.words.day_file import SearchDay


class _KeptDay(NamedTuple):
    file: SearchDay
    check: OpenFileCheck
    birth: str


class DayFiles:
    """Opens search files, and keeps those of days that are over open; for any number of threads.

    Args:
        kept: how many files stay open that nobody reads; 0 = none.
    """

    def __init__(self, kept: int = 0) -> None:
        self._most = kept
        self._lock = threading.Lock()
        self._idle = list[_KeptDay]()  # the one that was read last at the end

    @contextmanager
    def day(self, path: Path, birth: str) -> Iterator[SearchDay]:
        """Have a day's file to oneself.

        Args:
            path: of the file.
            birth: of the journal.

        Raises:
            StoreError: `SearchDay` can't be opened.
        """
        kept = self._taken(path, birth)
        try:
            kept.file.look()
            yield kept.file
        except Exception:
            kept.file.close()
            raise
        except BaseException:  # who reads has enough
            self._put_back(kept)
            raise
        self._put_back(kept)

    def close(self) -> None:
        """Let all files go that nobody reads."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.file.close()

    def _taken(self, path: Path, birth: str) -> _KeptDay:
        with self._lock:
            mine = [one for one in self._idle if one.file.path == path]
            for one in mine[-1:]:
                self._idle.remove(one)
        for one in mine[-1:]:
            if one.birth == birth and one.check.in_place():
                return one
            one.file.close()
        check = OpenFileCheck(path)
        return _KeptDay(SearchDay(path, birth), check, birth)

    def _put_back(self, kept: _KeptDay) -> None:
        if not kept.file.over:  # more of it comes, and then it is made small
            kept.file.close()
            return
        with self._lock:
            self._idle.append(kept)
            number = max(0, len(self._idle) - self._most)
            # nobody asks for a day again that is gone: its octets go with the last who has it open
            if not number and not self._idle[0].check.in_place():
                number = 1
            gone, self._idle = self._idle[:number], self._idle[number:]
        for one in gone:
            one.file.close()
