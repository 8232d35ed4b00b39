"""Keeps files up with their journal, in one event loop; file work runs on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from oborona.doorbell import Doorbell
from oborona.errors import StoreError


class JournalFollower(ABC):
    """Follows a journal; close it when `run` has ended.

    Args:
        clock: Unix seconds.
        retry_s: between attempts while there is trouble.
        pause_s: before the journal is looked at once more, when little is to be done.
    """

    name: ClassVar[str]  # of what is kept up, as the log has it
    meanwhile: ClassVar[str]  # what holds while it can't be
    again: ClassVar[str]  # what is said when it can be once more
    log: ClassVar[logging.Logger]

    def __init__(self, *, clock: Callable[[], float], retry_s: float, pause_s: float = 0.0) -> None:
        self._clock = clock
        self._retry_s = retry_s
        self._pause_s = pause_s
        self._idle_at = 0.0  # when nothing was left to do
        self._behind_since: float | None = None  # what is being followed came then; None: all is
        self._thread = ThreadPoolExecutor(1, self.name)
        self._trouble = False  # said once

    @property
    def behind_s(self) -> float:
        """For how long it has not been up with the journal, in seconds; 0 while it is."""
        since = self._behind_since
        return 0.0 if since is None else max(0.0, self._clock() - since)

    async def run(self, stop: asyncio.Event) -> None:
        """Follow until told to stop."""
        following = asyncio.create_task(self._follow())
        await stop.wait()
        following.cancel()
        await asyncio.wait({following})

    def close(self) -> None:
        """Let the files go; waits for the step that is being made."""
        self._thread.shutdown()
        self._close()

    async def _follow(self) -> None:
        """Follow for ever; at once where more is there, else when the journal has moved."""
        with self._bell() as bell:
            while True:
                await bell.rung()
                rung_at = self._behind_since = self._clock()
                while (more := await self._step()) is not False:
                    if more is None:
                        await asyncio.sleep(self._retry_s)
                self._idle_at, self._behind_since = rung_at, None
                await asyncio.sleep(self._pause_s)

    async def _step(self) -> bool | None:
        """Take a step; return whether more is to be done at once, None: there is trouble."""
        loop = asyncio.get_running_loop()
        try:
            busy = await loop.run_in_executor(self._thread, self._take, self._clock())
        except StoreError as error:
            if not self._trouble:
                self._trouble = True
                self.log.log(logging.ERROR, "%s: %s; %s", self.name, error, self.meanwhile)
            return None
        except Exception:
            self.log.exception("%s: a fault of ours", self.name)
            return None
        if self._trouble:
            self._trouble = False
            self.log.warning("%s: %s", self.name, self.again)
        return busy

    @abstractmethod
    def _bell(self) -> Doorbell:
        """Return what rings when the journal has moved."""

    @abstractmethod
    def _take(self, now: float) -> bool:
        """Take a step, on the thread; return whether more is to be done at once."""

    @abstractmethod
    def _close(self) -> None:
        """Close what is kept up."""
