"""Requests to one mail server: a limited number at once, one at a time for each mailbox owner, and
none is cancelled.

A server that is slow, or waits for a lock, carries a request out after its client has gone.  If the
request were repeated, both would run, and Dovecot's `move` would leave the letter in the target
twice.  So a caller that stops waiting leaves its request running, and the mailbox owners stay busy
until it has ended.

Limits: requests of a killed process go on unnoticed; those of healthy mailboxes end within
milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final, TypeVar

from oborona.errors import PeerError

# a request ends within this, one way or another: Dovecot waits for a lock for 180 s
LINGER_S: Final = 300.0
CLOSE_S: Final = 5.0  # requests that are under way have so long to end by themselves
# requests in a row without an answer: each wait has a deadline, and hundreds in a row have none
GIVE_UP: Final = 12

_T = TypeVar("_T")


class MailServerRequests:
    """The requests to one server, in one event loop.

    Args:
        most: at once.
        deadline_s: who asks has an answer within this, from when his request is given.
    """

    def __init__(self, most: int, *, deadline_s: float) -> None:
        self._most = most
        self._deadline_s = deadline_s
        self._owners: set[str] = set()  # whose mailboxes are being looked into
        self._running: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()  # replaced when it is set: who waits has his own
        self._vain = 0  # requests, since one was answered
        self._closed = False

    def anew(self) -> None:
        """Take note of a new call: it asks once more, however often was asked in vain."""
        self._vain = min(self._vain, GIVE_UP - 1)

    async def run(
        self, owners: Collection[str], request: Callable[[], Coroutine[Any, Any, _T]]
    ) -> _T:
        """Make a request, and return its answer.

        Args:
            owners: whose mailboxes it looks into.
            request: raises PeerError where there is no answer; ends within LINGER_S.

        Raises:
            PeerError: there is none, or none in time; the request goes on then.
        """
        await self._turn(set(owners))
        task = asyncio.create_task(request())
        self._running.add(task)
        self._owners.update(owners)
        task.add_done_callback(lambda done: self._ended(done, owners))
        done, _ = await asyncio.wait([task], timeout=self._deadline_s)
        if not done:
            self._vain += 1
            raise PeerError(f"no answer within {self._deadline_s:g} s")
        return task.result()

    async def _turn(self, owners: set[str]) -> None:
        """Wait until a request may be made."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._deadline_s
        while not self._closed and self._vain < GIVE_UP:
            busy = not owners.isdisjoint(self._owners)
            if not busy and len(self._running) < self._most:
                return
            why = f"{'the last request for this mailbox is' if busy else 'earlier requests are'} still on the way"
            if busy and loop.time() > until:
                raise PeerError(why)
            changed = self._changed
            try:
                async with asyncio.timeout(self._deadline_s):
                    await changed.wait()
            except TimeoutError:
                raise PeerError(why) from None
        raise PeerError(
            "mailboxes are closed" if self._closed else "not asked: the mail server does not answer"
        )

    def _ended(self, task: asyncio.Task[Any], owners: Collection[str]) -> None:
        self._running.discard(task)
        self._owners.difference_update(owners)
        failed = task.cancelled() or task.exception() is not None
        self._vain = self._vain + 1 if failed else 0
        self._changed.set()
        self._changed = asyncio.Event()

    async def close(self) -> None:
        """Let what is under way end, for a while; nothing new begins."""
        self._closed = True
        self._changed.set()
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_S)
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
