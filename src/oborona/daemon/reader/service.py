"""The reader process: takes pictures from the workers at a socket in the state folder, and answers
each with what is in it.

The socket is opened by the parent, so that workers that ask while the reader restarts wait for it,
within their own deadlines.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.config import ReaderSettings
from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.daemon.reader.async_wire import BUFFER, receive
from oborona.daemon.reader.picture_queue import (
    PictureQueue,
    missing_requirement,
    pool_plans,
    wanted_tasks,
)
from oborona.daemon.reader.wire import (
    PictureAnswer,
    PictureOutcome,
    PictureQuestion,
    PictureResult,
    ReaderTask,
    frame_of,
)
from oborona.errors import PeerError
from oborona.heartbeat import beat_forever
from oborona.metrics import REGISTRY, Gauge
from oborona.telemetry import status
from oborona.telemetry.log import event
from oborona.telemetry.status_writer import write_periodically

IN_FLIGHT: Final = 1000  # questions of one connection that are not answered yet
UP: Final = Gauge("oborona_reader_up", "1 while the image reader runs.", ())
_DECODER: Final = msgspec.msgpack.Decoder(PictureQuestion)

log = logging.getLogger("oborona.reader")


def listen(state: Path) -> socket.socket:
    """Return the reader's listening socket.

    Raises:
        SocketError: it can't be opened.
    """
    return sockets.listen(
        UnixAddress(str((state / state_files.READER_SOCKET).absolute())), mode=0o600
    )


def serve(
    settings: ReaderSettings, state: Path, listener: socket.socket, ready: Callable[[], None]
) -> int:
    """Be the reader until SIGTERM; return the exit status."""

    async def main() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_signal_handler(signal.SIGINT, stop.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it reads no policy
        for task in wanted_tasks(settings):
            if lacks := missing_requirement(settings, task):
                if task is ReaderTask.LOOK:
                    event(log, logging.WARNING, "pictures are not looked at", missing=lacks)
                else:
                    event(
                        log,
                        logging.INFO,
                        "optional, not installed: all else works",
                        task=task,
                        missing=lacks,
                    )
        queue = PictureQueue(pool_plans(settings), cache_entries=settings.cache_entries)
        service = ReaderService(queue)
        UP.set(1)
        await service.start(listener)
        chores = [
            asyncio.create_task(beat_forever()),
            asyncio.create_task(queue.tend()),
            asyncio.create_task(write_periodically(state, _reader_status, log)),
        ]
        ready()
        await stop.wait()
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
        await service.close()
        status.remove_process(state, status.ReaderStatus)

    asyncio.run(main())
    return os.EX_OK


def _reader_status() -> status.ReaderStatus:
    """Return what the reader has to say of itself."""
    return status.ReaderStatus(
        pid=os.getpid(),
        time=time.time(),
        metrics=REGISTRY.snapshot(),
    )


class ReaderService:
    """A picture queue behind a socket.

    Args:
        queue: does the work; closed with the service.
    """

    def __init__(self, queue: PictureQueue) -> None:
        self._desk = queue
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket) -> None:
        """Serve on a listening socket."""
        self._server = await asyncio.start_unix_server(
            self._connection, sock=listener, limit=BUFFER
        )

    async def close(self) -> None:
        """Take no more, leave what is not finished, end all children."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._desk.close()

    async def _connection(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        answering: set[asyncio.Task[None]] = set()
        try:
            while True:
                question = _DECODER.decode(await receive(stream))
                if len(answering) >= IN_FLIGHT:
                    _send(
                        writer,
                        PictureAnswer(question.number, PictureResult(PictureOutcome.REFUSED)),
                    )
                    continue
                doing = self._desk.begin(
                    question.task, question.sha256, question.octets, urgent=question.urgent
                )
                answer = asyncio.create_task(_answer(question.number, doing, writer))
                del question  # while the next is awaited: its octets may be large
                answering.add(answer)
                answer.add_done_callback(answering.discard)
        except (EOFError, OSError):
            pass  # the worker has gone
        except (PeerError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            event(log, logging.ERROR, "a worker's connection is broken", error=error)
        except asyncio.CancelledError:
            pass  # the service stops, and asyncio would log a cancelled connection as a fault
        finally:
            self._connections.discard(task)
            for answer in answering:
                answer.cancel()
            writer.close()


async def _answer(
    number: int, doing: asyncio.Future[PictureResult], writer: asyncio.StreamWriter
) -> None:
    _send(writer, PictureAnswer(number, await asyncio.shield(doing)))


def _send(writer: asyncio.StreamWriter, answer: PictureAnswer) -> None:
    """Answers are small, and a worker reads all the time: what it does not take stays in memory
    until it goes.
    """
    if not writer.is_closing():
        writer.write(frame_of(msgspec.msgpack.encode(answer)))
