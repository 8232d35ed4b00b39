"""A worker's connection to the reader: any number of questions at a time, each with a deadline; a
question without an answer is no error.

The connection is made with the first question, and again after it broke; a reader that is not there
costs one attempt a second.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

import msgspec

from oborona.daemon.reader.async_wire import BUFFER, receive
from oborona.daemon.reader.wire import (
    PictureAnswer,
    PictureOutcome,
    PictureQuestion,
    PictureResult,
    ReaderTask,
    frame_of,
)
from oborona.errors import PeerError
from oborona.message.model import Picture
from oborona.metrics import Counter
from oborona.telemetry.log import event

RETRY_S: Final = 1.0  # after an attempt that failed
UNSENT_BYTES: Final = 64 << 20  # in memory for a reader that does not take them
_DECODER: Final = msgspec.msgpack.Decoder(PictureAnswer)
PICTURES: Final = Counter(
    "oborona_pictures",
    "Pictures that scans handed to the image reader, by task (look, read) and outcome.",
    ("task", "outcome"),
)

log = logging.getLogger("oborona.reader")


class ReaderConnection:
    """The connection of one worker; satisfies `oborona.daemon.reader.picture_client.PictureReader`.

    Args:
        path: of the reader's socket.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._asked: dict[int, asyncio.Future[PictureResult]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._retry_at = 0.0
        self._away = False  # it was said

    async def ask(
        self, task: ReaderTask, picture: Picture, *, urgent: bool, within_s: float
    ) -> PictureResult:
        """Return what is in a picture, or why that is not known; raises nothing."""
        return await self.send(
            task, picture.sha256, picture.octets, urgent=urgent, within_s=within_s
        )

    async def send(
        self, task: ReaderTask, checksum: bytes, octets: bytes, *, urgent: bool, within_s: float
    ) -> PictureResult:
        """Return the result of a task, or why there is none; raises nothing.

        Args:
            task: what to do.
            checksum: SHA-256 of the octets.
            octets: of a picture, or of a text in UTF-8.
            urgent: a mail server waits.
            within_s: seconds.
        """
        try:
            async with asyncio.timeout(within_s):
                result = await self._send(task, checksum, octets, urgent=urgent)
        except TimeoutError:
            result = PictureResult(PictureOutcome.LATE)
        PICTURES.inc(task, result.outcome)
        return result

    async def _send(
        self, task: ReaderTask, checksum: bytes, octets: bytes, *, urgent: bool
    ) -> PictureResult:
        writer = await self._connected()
        if writer is None:
            return PictureResult(PictureOutcome.AWAY)
        if writer.transport.get_write_buffer_size() > UNSENT_BYTES:
            return PictureResult(PictureOutcome.REFUSED)
        self._number += 1
        number, answered = self._number, asyncio.get_running_loop().create_future()
        self._asked[number] = answered
        question = PictureQuestion(
            number=number, task=task, urgent=urgent, sha256=checksum, octets=octets
        )
        writer.write(frame_of(msgspec.msgpack.encode(question)))
        try:
            result: PictureResult = await answered
        finally:
            self._asked.pop(number, None)
        return result

    async def _connected(self) -> asyncio.StreamWriter | None:
        """Return the connection; None while there is none to be had."""
        async with self._connecting:
            if self._writer is not None:
                return self._writer
            clock = asyncio.get_running_loop().time
            if clock() < self._retry_at:
                return None
            self._retry_at = clock() + RETRY_S
            try:
                stream, writer = await asyncio.open_unix_connection(str(self._path), limit=BUFFER)
            except OSError as error:
                if not self._away:
                    event(
                        log,
                        logging.WARNING,
                        "no image reader: pictures are not looked at",
                        error=error.strerror,
                    )
                self._away = True
                return None
            if self._away:
                event(log, logging.INFO, "the image reader is back")
            self._away, self._retry_at = False, 0.0
            self._writer = writer
            self._listening = asyncio.create_task(self._listen(stream, writer))
            return writer

    async def _listen(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                answer = _DECODER.decode(await receive(stream))
                answered = self._asked.get(answer.number)
                if answered is not None and not answered.done():
                    answered.set_result(answer.result)
        except (EOFError, OSError):
            pass  # it ended, or was ended: the next question finds out whether there is another
        except (PeerError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            event(log, logging.ERROR, "the image reader's answers are broken", error=error)
        finally:
            self._writer = None
            writer.close()
            for answered in self._asked.values():
                if not answered.done():
                    answered.set_result(PictureResult(PictureOutcome.AWAY))

    async def close(self) -> None:
        """End the connection."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
