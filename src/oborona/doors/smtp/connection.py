"""One connection of a client, served by aiosmtpd on the event loop: what all doors that take mail
by it do in the same way.

The library keeps the commands, their order and their errors.  Ours is the content of a message,
which goes to a `SpooledMessage` piece by piece instead of into memory; and how a connection ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, Protocol, cast

from aiosmtpd.smtp import SMTP

from oborona.doors.acceptor import AcceptedConnection
from oborona.doors.memory_budget import MemoryReservation
from oborona.doors.smtp.dot_stuffing import DotUnstuffer
from oborona.doors.smtp.replies import SmtpReply, own_reply
from oborona.doors.smtp.spooled_message import SpooledMessage

MAX_COMMAND: Final = 4096  # bytes; Postfix cuts at 2048
AHEAD_BYTES: Final = 128 * 1024  # of a message, read while the last piece is written
CROWDED: Final = own_reply(451, "4.3.2", "Too busy, try again later")
NO_ROOM: Final = own_reply(452, "4.3.1", "No room for a message now")
TOO_LARGE: Final = own_reply(552, "5.3.4", "Message is too large")
SLOW_AFTER_S: Final = 60.0  # of a message's content, before a least rate holds
STRAY: Final = own_reply(554, "5.6.0", "Message has a bare CR or a NUL")

logging.getLogger("mail.log").setLevel(logging.ERROR)  # the library's: a line for each command


class SmtpHooks:
    """What the library asks of its user.

    Args:
        log: of the door.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log

    def __dir__(self) -> Iterable[str]:
        """Return the names of hooks: the library looks for them with each connection, and at
        whatever else it finds.
        """
        return _method_names(type(self), "handle_")

    async def handle_exception(self, error: Exception) -> str:
        """Put off what a fault of ours was in the way of."""
        self._log.error("a command failed", exc_info=error)
        return "451 4.3.0 Try again later"


class SmtpConnectionServer(Protocol):
    """What a connection needs of its server."""

    @property
    def draining(self) -> bool:
        """Whether connections end with their message."""
        ...

    def left(self, stream: AcceptedConnection) -> None:
        """Count a connection out."""
        ...


class _CommandTable(dict[str, Any]):
    """The commands of one connection, as the library looks them up.

    Behind a goodbye none is heard any more.

    The library reads on after its own goodbye (too many unknown commands), and a task that is
    cancelled goes on until it has to wait: what stands in the same packet would still be done.

    Args:
        known: by name.
        serving: the connection.
    """

    def __init__(self, methods: dict[str, Any], serving: SmtpConnection) -> None:
        super().__init__(methods)
        self._serving = serving

    def get(self, name: str, default: Any = None) -> Any:
        """Return what does a command."""
        return (
            super().get(name, default) if self._serving.is_open else self._serving.discard_command
        )


class SmtpConnection(SMTP):
    """One connection.

    Args:
        server: counts it.
        hooks: one for all connections.
        name: ours.
        ident: what greets behind it.
        idle_s: seconds of silence after which it is closed.
        max_message_bytes: offered as SIZE.
        log: of the door.
        strict: a message with a carriage return alone, or a NUL, is refused.
        min_data_rate: octets a second of a message's content, on average, once it has come for
            `SLOW_AFTER_S`.
    """

    line_length_limit = AHEAD_BYTES
    command_size_limit = MAX_COMMAND

    def __init__(
        self,
        server: SmtpConnectionServer,
        hooks: SmtpHooks,
        *,
        name: str,
        ident: str,
        idle_s: float,
        max_message_bytes: int,
        log: logging.Logger,
        strict: bool = False,
        min_data_rate: int = 0,
    ) -> None:
        # the library's own is one for all connections, and grows with each
        self.command_size_limits = defaultdict(lambda: MAX_COMMAND)
        self._busy = False  # a message is being taken or judged
        self._server = server
        self._log = log
        self._strict = strict
        self._min_data_rate = min_data_rate
        super().__init__(
            hooks,
            data_size_limit=max_message_bytes,
            enable_SMTPUTF8=True,
            hostname=name,
            ident=ident,
            timeout=idle_s,
            loop=asyncio.get_running_loop(),
        )
        self._smtp_methods = _CommandTable(self._smtp_methods, self)

    def __dir__(self) -> Iterable[str]:
        """Return the names of commands, as `SmtpHooks` does."""
        return _method_names(type(self), "smtp_")

    @property
    def is_open(self) -> bool:
        """Whether the last word is not said yet."""
        return self.transport is not None and not self._wire.is_closing()

    async def discard_command(self, _arg: str | None) -> None:
        """Do nothing of what is said behind it, and read no more."""
        assert self._handler_coroutine is not None
        self._handler_coroutine.cancel()
        await asyncio.sleep(0)

    # --- the server's side ---

    @property
    def _between(self) -> bool:
        """Whether no message is at hand."""
        return not self._busy

    def close_if_between(self) -> None:
        """Close if no message is at hand."""
        if self._between and self.transport is not None:
            self.transport.close()

    def close_if_idle(self, due: float) -> None:
        """Leave it to the library, which has a clock for that."""

    def cut(self) -> None:
        """Close without ceremony."""
        if self.transport is not None:
            self._wire.abort()

    @property
    def _wire(self) -> asyncio.WriteTransport:
        """The transport; those of uvloop are no instances of asyncio's."""
        return cast("asyncio.WriteTransport", self.transport)

    # --- the library's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve; when all is over the server hears of it."""
        super().connection_made(transport)
        assert self._handler_coroutine is not None
        self._handler_coroutine.add_done_callback(self._over)

    def eof_received(self) -> bool:
        """Close: the library has given up whatever was asked, and nothing would ever tell that the
        client is gone.
        """
        super().eof_received()
        return False

    def _timeout_cb(self) -> None:
        """Close where nothing came for too long.

        Cut where nothing is read either, or what was written would be kept for ever.
        """
        if self.transport is None:
            return
        if self._wire.get_write_buffer_size():
            self._wire.abort()
        else:
            self._wire.close()

    def _over(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, ConnectionError):
                self._log.error("connection closed by a fault of ours", exc_info=error)
            self.cut()
        self._server.left(self)

    # --- a message ---

    def _break_off(self) -> None:
        """Hear no more of a client in the middle of his message: what is not read of it would be
        taken for commands.
        """
        self.cut()
        assert self._handler_coroutine is not None
        self._handler_coroutine.cancel()

    async def _take(
        self, message: SpooledMessage, reservation: MemoryReservation
    ) -> SmtpReply | None:
        """Read a message to its end; return why it can't be handed on, None where it can.

        Args:
            message: takes it.
            reservation: the room that it takes in memory.

        Raises:
            ConnectionResetError: there is no end.
            TimeoutError: it drips.
        """
        undotted = DotUnstuffer()
        loop = asyncio.get_running_loop()
        full_rate = loop.time() + SLOW_AFTER_S
        came = 0  # octets of content, kept or not
        fault: OSError | None = None
        crowded = False
        while not undotted.over:
            # all that is there: what is too much is put back
            data = await self._reader.read(1 << 30)
            if not data:
                raise ConnectionResetError("half a message")
            self._reset_timeout()
            content = undotted.feed(data)
            came += len(content)
            if came < (loop.time() - full_rate) * self._min_data_rate:
                raise TimeoutError
            if fault is None and not crowded:
                try:
                    message.write(content)
                except OSError as error:  # the rest is read all the same
                    fault = error
                crowded = not reservation.grow(message.in_memory)
        if undotted.rest:
            self._reader.feed_data(undotted.rest)
        if fault is None and not crowded and not message.too_large:
            try:
                message.finish()
            except OSError as error:
                fault = error
        if fault is not None:
            self._log.error("a message can't be kept: %s", fault)
            return NO_ROOM
        if crowded:
            return CROWDED
        if message.too_large:
            return TOO_LARGE
        return STRAY if self._strict and undotted.stray else None


def octets(argument: str | None) -> bytes:
    """Return an argument as it came; the library reads it as UTF-8."""
    return (argument or "").encode("utf-8", "surrogateescape")


_NAMED: Final[dict[tuple[type[Any], str], list[str]]] = {}


def _method_names(kind: type[Any], prefix: str) -> list[str]:
    """Return the names in a class, and in those that it is made of, that begin so."""
    if (kind, prefix) not in _NAMED:
        names = {name for base in kind.__mro__ for name in vars(base)}
        _NAMED[kind, prefix] = sorted(name for name in names if name.startswith(prefix))
    return _NAMED[kind, prefix]
