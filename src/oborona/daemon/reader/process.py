"""A child of the reader as its parent sees it: started, asked, killed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from oborona.daemon.reader.async_wire import BUFFER, receive
from oborona.daemon.reader.child import ChildOrders
from oborona.daemon.reader.wire import ChildResult, frame_of
from oborona.errors import OboronaError, PeerError

# loading libraries and Tesseract's data: below a second; more on a busy machine
START_S: Final = 20.0
PROGRAM: Final = (sys.executable, "-I", "-m", "oborona.daemon.reader.child")
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    # one process, one core; and no thread may be started once it is confined
    "OMP_THREAD_LIMIT": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}
_DECODER: Final = msgspec.msgpack.Decoder(ChildResult)


class ChildStartFailed(OboronaError):  # noqa: N818 - reads as what happened
    """A child did not come up; the text says why."""


class ChildStopped(OboronaError):  # noqa: N818 - reads as what happened
    """A child was killed at its time limit, or died over a picture."""


class ReaderChild:
    """One running child.

    Use `await ReaderChild.start(orders)`, and `kill` it in the end.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stream: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._handle = -1  # a number may be somebody else's by the time it is killed
        with suppress(ProcessLookupError):  # it has ended already
            self._handle = os.pidfd_open(process.pid)
        self._stream = stream
        self._writer = writer
        self.jobs = 0  # done so far
        self.idle_since = 0.0  # for who keeps it
        self.remark = ""  # of its start

    @classmethod
    async def start(cls, orders: ChildOrders, program: Sequence[str] = PROGRAM) -> ReaderChild:
        """Start one and wait until it is ready.

        Raises:
            Unstartable: it is not.
        """
        ours, its = socket.socketpair()
        try:
            with its:
                process = await asyncio.create_subprocess_exec(
                    *program,
                    msgspec.json.encode(orders).decode(),
                    stdin=its.fileno(),
                    stdout=subprocess.DEVNULL,
                    # Tesseract's remarks on pictures; faults come by the channel
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=_ENVIRONMENT,
                )
        except OSError as error:
            ours.close()
            raise ChildStartFailed(f"no process to be had: {error.strerror}") from error
        except BaseException:
            ours.close()
            raise
        try:
            stream, writer = await asyncio.open_connection(sock=ours, limit=BUFFER)
        except BaseException:  # nobody waits for it any more
            ours.close()
            process.kill()
            await process.wait()
            raise
        child = cls(process, stream, writer)
        try:
            async with asyncio.timeout(START_S):
                result = await child._hear()
        except TimeoutError:
            await child.kill()
            raise ChildStartFailed(f"not ready within {START_S:g} s") from None
        except ChildStopped:
            await child.kill()
            raise ChildStartFailed(f"died as it started, {child.end}") from None
        except BaseException:
            await child.kill()
            raise
        if result.fault.startswith("Traceback"):
            await child.kill()
            raise ChildStartFailed(result.fault)
        child.remark = result.fault
        return child

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def lives(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self._process.returncode is None and not self._stream.at_eof()

    @property
    def end(self) -> str:
        """How it ended, in words."""
        code = self._process.returncode
        return (
            "still there" if code is None else f"status {code}" if code >= 0 else f"signal {-code}"
        )

    async def ask(self, octets: bytes, limit_s: float) -> ChildResult:
        """Return what it says of a picture.

        Raises:
            Stopped: it took longer than `limit_s` seconds, or died; it is gone.
        """
        self.jobs += 1
        try:
            async with asyncio.timeout(limit_s):
                self._writer.write(frame_of(octets))
                await self._writer.drain()
                return await self._hear()
        except TimeoutError:
            await self.kill()
            raise ChildStopped(f"longer than {limit_s:g} s") from None
        except OSError as error:
            await self.kill()
            raise ChildStopped(f"died, {self.end}") from error
        except ChildStopped:
            await self.kill()
            raise ChildStopped(f"died, {self.end}") from None
        except BaseException:
            await self.kill()
            raise

    async def _hear(self) -> ChildResult:
        try:
            return _DECODER.decode(await receive(self._stream))
        except (EOFError, OSError, PeerError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ChildStopped(str(error)) from error

    async def kill(self) -> None:
        """Kill it, and wait until it has gone."""
        self._writer.close()
        if self._handle >= 0:
            with suppress(ProcessLookupError):  # it has ended
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.close(self._handle)
            self._handle = -1
        await self._process.wait()
