"""Connections beyond the limit of a door: answered in its protocol that it is busy, and closed.

A word that is written and followed by a close at once is often not heard: what the peer has sent by
then makes the kernel reset the connection, and the word is lost with it.  So the peer is listened
to for a moment, and what it says goes nowhere.  There is room for few of them at a time; further
ones are closed without a word, as they are where the protocol has none.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, cast

BusyWords = Callable[[socket.socket], bytes]
"""Who was just accepted → a whole answer of the protocol that says "come again later"."""

AT_ONCE: Final = 64  # who is being told, at a time
HEAR_OUT_S: Final = 2.0  # a client on the same machine has read its answer by then
HEAR_OUT_BYTES: Final = 4 * 1024 * 1024  # of a message that is written before the answer is read
SAY_EVERY_S: Final = 60.0  # a line in the log, whoever knocks


class ThrottledLog:
    """Logs a repeated event now and then, with the number of times since the last line.

    Args:
        log: of the protocol.
        every_s: seconds between two lines.
    """

    def __init__(self, log: logging.Logger, every_s: float = SAY_EVERY_S) -> None:
        self._log = log
        self._every_s = every_s
        self._times: dict[str, int] = {}
        self._next: dict[str, float] = {}

    def say(self, kind: str, words: str, now: float, *, level: int = logging.WARNING) -> None:
        """Log it, unless an event of the same kind was logged a moment ago.

        Args:
            kind: of event, one of few; each kind is throttled by itself.
            words: for the log.
            now: the loop's time.
            level: in the log.
        """
        times = self._times.get(kind, 0) + 1
        if now < self._next.get(kind, now):
            self._times[kind] = times
            return
        self._times[kind] = 0
        self._next[kind] = now + self._every_s
        more = f" ({times} times since it was last said)" if times > 1 else ""
        self._log.log(level, "%s%s", words, more)


class OverloadReplies:
    """The connections that one door turns away.

    Args:
        busy: what they are told; None: nothing.
    """

    def __init__(self, busy: BusyWords | None) -> None:
        self._busy = busy
        self._leaving: set[_TurnedAwayConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, peer: socket.socket) -> None:
        """Tell somebody who was just accepted, and close; never raises, never waits."""
        if self._busy is None or len(self._leaving) >= AT_ONCE:
            peer.close()
            return
        leaving = _TurnedAwayConnection(self._busy(peer), self._leaving.discard)
        self._leaving.add(leaving)
        task = asyncio.get_running_loop().create_task(self._tell(leaving, peer))
        self._tasks.add(task)
        task.add_done_callback(partial(self._farewell_sent, leaving, peer))

    def cut(self) -> None:
        """Close without ceremony."""
        for task in self._tasks:
            task.cancel()
        for leaving in list(self._leaving):
            leaving.cut()

    async def _tell(self, leaving: _TurnedAwayConnection, peer: socket.socket) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: leaving, peer)

    def _farewell_sent(
        self, leaving: _TurnedAwayConnection, peer: socket.socket, task: asyncio.Task[None]
    ) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is not None:  # it was gone, or we are going
            self._leaving.discard(leaving)
            peer.close()


class _TurnedAwayConnection(asyncio.Protocol):
    """One of them."""

    _transport: asyncio.Transport

    def __init__(self, busy: bytes, on_gone: Callable[[_TurnedAwayConnection], None]) -> None:
        self._busy = busy
        self._gone = on_gone
        self._heard = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say it, and that there is no more to say."""
        self._transport = cast("asyncio.Transport", transport)
        self._timer = asyncio.get_running_loop().call_later(HEAR_OUT_S, self._transport.abort)
        self._transport.write(self._busy)
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def data_received(self, data: bytes) -> None:
        """Hear the peer out, within bounds."""
        self._heard += len(data)
        if self._heard > HEAR_OUT_BYTES:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._gone(self)

    def cut(self) -> None:
        """Close without ceremony."""
        if self._timer is not None:  # else it is not even here yet
            self._transport.abort()
