"""A connection of a mail server as asyncio sees it, whatever it speaks: bytes in, one worker task
over them.

There is one worker task at a time, and only while there are bytes to work on; while it waits for an
answer further bytes wait too, and past BACKLOG_BYTES the socket is not read.  A peer that breaks
its protocol loses its connection; a fault of ours ends the connection at once, with its traceback
in the log.  A slow one loses it too, where the protocol has a limit for it: a request that has
begun must be whole, and an answer must be read, within a time that no single byte prolongs.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import Final, Protocol, cast

from oborona.errors import PeerError

BACKLOG_BYTES: Final = 256 * 1024  # read ahead while an answer is sought; 4 body chunks of a milter
CLOSING_S: Final = 30.0  # for the peer to read the last answer


class StreamServer(Protocol):
    """What a stream needs of its server."""

    @property
    def draining(self) -> bool:
        """Whether connections end as soon as they are between two pieces of work."""
        ...

    def left(self, stream: StreamConnection) -> None:
        """Count a connection out."""
        ...


class StreamConnection(asyncio.Protocol, ABC):
    """One connection.

    Args:
        server: counts it.
        log: of the protocol.
        half_s: seconds for the rest of a request that has begun, and for the peer to take its
            answers; 0: as long as it likes.
    """

    _transport: asyncio.Transport

    def __init__(self, server: StreamServer, log: logging.Logger, *, half_s: float = 0.0) -> None:
        self._counting = server
        self._log = log
        self._half_s = half_s
        self._half: asyncio.TimerHandle | None = None  # runs while a request has begun
        # there while the peer reads no answers; set once it does
        self._unread: asyncio.Event | None = None
        self._loop = asyncio.get_running_loop()
        self._inbox: list[bytes] = []
        self._inbox_bytes = 0
        self._paused = False
        self._closing = False
        self._lost = False
        self._worker: asyncio.Task[None] | None = None
        self._last_heard = self._loop.time()

    # --- what a protocol is made of ---

    @abstractmethod
    async def _take(self, data: bytes) -> None:
        """Work on the next bytes; return early once `_closing`.

        Raises:
            PeerError: they break the protocol.
        """

    @abstractmethod
    def _farewell(self) -> None:
        """The connection is over, nothing runs any more; must not raise."""

    @property
    @abstractmethod
    def _between(self) -> bool:
        """Whether the peer waits for nothing and has nothing half said."""

    @property
    def _partial(self) -> bool:
        """Whether a request has begun and is not whole.

        Asked after each `_take`, where there is a limit for it.
        """
        return False

    # --- what a protocol with such a limit calls ---

    def _whole(self) -> None:
        """A request is whole: to be told before its answer is sought."""
        if self._half is not None:
            self._half.cancel()
            self._half = None

    async def _wait_until_read(self) -> None:
        """Wait for a peer that leaves too many answers unread; cut it off if it takes none."""
        if self._unread is None:
            return
        try:
            async with asyncio.timeout(self._half_s or CLOSING_S):
                await self._unread.wait()
        except TimeoutError:
            self._cut_unread()

    def _too_late(self) -> None:
        """A request is not whole in time."""
        self._half = None
        self._log.warning("connection closed: half a request, and no more for %g s", self._half_s)
        self._close()

    # --- asyncio's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; nothing is said before the peer speaks."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Put bytes before the worker, which is woken if it sleeps."""
        self._last_heard = self._loop.time()
        self._inbox.append(data)
        self._inbox_bytes += len(data)
        if self._worker is None:
            self._worker = self._loop.create_task(self._work())
        elif self._inbox_bytes > BACKLOG_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """The peer does not read."""
        self._unread = asyncio.Event()

    def resume_writing(self) -> None:
        """It reads again."""
        if self._unread is not None:
            self._unread.set()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the worker; the protocol hears of it after that."""
        self._lost = True
        self._whole()
        self._inbox.clear()
        if self._worker is None:
            self._leave()
        else:
            self._worker.cancel()

    # --- the server's side ---

    def close_if_between(self) -> None:
        """Close if the peer waits for nothing."""
        if self._worker is None and self._between:
            self._close()

    def close_if_idle(self, due: float) -> None:
        """Close if nothing came since `due` (loop time) and no answer is sought."""
        if self._last_heard < due and self._worker is None:
            self._log.info(
                "connection closed: nothing came for %.0f s", self._loop.time() - self._last_heard
            )
            self._close()

    def cut(self) -> None:
        """Close without ceremony."""
        self._closing = True
        self._transport.abort()

    def _close(self) -> None:
        """Close once what was written is out, which the peer has not forever to read."""
        self._closing = True
        self._whole()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._loop.call_later(CLOSING_S, self._cut_unread)

    def _cut_unread(self) -> None:
        if not self._lost:
            self._log.warning("connection cut: answers are not read")
            self.cut()

    # --- the work ---

    async def _work(self) -> None:
        try:
            while self._inbox:
                data = self._inbox[0] if len(self._inbox) == 1 else b"".join(self._inbox)
                self._inbox.clear()
                self._inbox_bytes = 0
                if self._paused:
                    self._paused = False
                    self._transport.resume_reading()
                await self._take(data)
                if self._closing:
                    return
                if self._half_s and self._half is None and self._partial:
                    self._half = self._loop.call_later(self._half_s, self._too_late)
        except PeerError as error:
            self._log.warning("connection closed: %s", error)
            self._close()
        except asyncio.CancelledError:
            if not self._lost:
                raise
        except Exception:  # noqa: BLE001 - the crash barrier; the log has the traceback
            self._log.exception("connection closed by a fault of ours")
            self.cut()
        finally:
            self._worker = None
            if self._lost:
                self._leave()
            elif self._counting.draining:
                self.close_if_between()

    def _leave(self) -> None:
        self._farewell()
        self._counting.left(self)
