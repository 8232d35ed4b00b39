"""The libmilter transport: Sendmail's library through pymilter, its threads as thin gatherers under
the event loop.

libmilter's threads call back for each step; headers and body are gathered there.  A step whose
answer the mail server waits for is put to the door in the loop, together with those before it that
nobody waits for, and the thread waits for the reply. A door is touched in the loop only.

libmilter opens its listening socket itself.  It is made to open a placeholder, over which the
workers' shared socket is laid with dup2(2): so both transports take the same socket, and three
faults of the library are gone with its own.  Run by an ordinary user it unlinks the shared file
when one worker stops; it blocks in accept() when another worker was faster; and smfi_stop cuts
sessions in flight.  To stop accepting, the placeholder is laid back; when the server drains, a
signal to libmilter's thread ends its poll(2), in which the kernel would keep the shared socket
open, and so let new connections wait, for up to 5 s.

Known limits: one server a process.  It counts no client's connections, so `max_per_client` is the
native transport's alone.  A HELO or header name that is not UTF-8 is lost in pymilter, which prints
why.  Idle connections are looked for every 10 minutes, and after a pause for too many sessions
accepting begins again within 5 s.  A body is never cut short; one whose last piece comes with the
end of the message (Postfix before 2.4) gets no answer.  After SMFIC_QUIT_NC libmilter forgets what
was agreed: the door is asked at each stage, and libmilter drops answers that nobody waits for.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final

import milter

from oborona.doors.guard import GUARD_S, HandlerGuard
from oborona.doors.handler import ConnectionHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.reply import ReplyAction
from oborona.milter.codec import MAX_PACKET
from oborona.milter.libmilter_connection import LibmilterConnection
from oborona.milter.protocol import (
    ADD_HEADERS,
    CHANGE_HEADERS,
    QUARANTINE,
    REMOVE_RECIPIENTS,
    SET_MACROS,
    MilterTerms,
)

DRAIN_LOOK_S: Final = 0.02  # between looks at whether sessions are over
NAME: Final = "oborona"  # libmilter keeps a pointer to it, so it must live as long as the process
_WAKE: Final = signal.SIGURG  # nobody else sends it: its default is to be ignored

log = logging.getLogger("oborona.milter")


class LibmilterServer:
    """Serves milter connections of one listening socket; one a process.

    Args:
        handler_factory: makes the door of each connection.
        limit_bytes: what is kept of one message.
        room: for all messages that come in or are judged.
        idle_s: seconds without a byte after which a connection is closed.
        max_sessions: connections at once; further ones wait.
        on_failure: the answer when a door raises or hangs, CONTINUE or TEMPFAIL.
        guard_s: seconds that a door has for one answer.
        note: counts messages that nobody judged, for want of room; in the threads of the library.
    """

    _registered: ClassVar[bool] = False

    def __init__(
        self,
        handler_factory: ConnectionHandlerFactory,
        *,
        limit_bytes: int,
        room: MemoryBudget,
        idle_s: float,
        max_sessions: int,
        on_failure: ReplyAction,
        guard_s: float = GUARD_S,
        note: Callable[[str], None] = lambda _outcome: None,
    ) -> None:
        self.handler_factory = handler_factory
        self.limit_bytes = limit_bytes
        self.room = room
        self.note = note
        self.guard = HandlerGuard(on_failure, guard_s)
        self._last_terms: MilterTerms | None = None  # what to assume after SMFIC_QUIT_NC
        self._idle_s = idle_s
        self._max_sessions = max_sessions
        self._connections: set[LibmilterConnection] = set()
        self._lock = threading.Lock()
        self._draining = False

    @property
    def sessions(self) -> int:
        """Connections open now."""
        return len(self._connections)

    async def start(self, sock: socket.socket) -> None:
        """Accept on a listening socket, which stays the caller's: it is neither closed nor unlinked
        here.

        Raises:
            RuntimeError: libmilter can't be set up, or serves in this process already.
        """
        self.loop = asyncio.get_running_loop()
        # libmilter's accept() must not wait: another worker may have been faster
        sock.setblocking(False)
        self._socket = sock
        self._register()
        milter.settimeout(max(1, int(self._idle_s)))
        _take_large_packets()
        self._listening = _placeholder(sock.family)
        self._quiet = os.dup(self._listening)
        self._hear(True)
        # one that is ignored would not end a poll
        self.loop.add_signal_handler(_WAKE, lambda: None)
        self._thread = threading.Thread(target=self._main, name="libmilter", daemon=True)
        self._thread.start()

    async def drain(self, grace_s: float) -> None:
        """Accept no more and wait for sessions; what is left is cut when the process ends.

        A connection that has had its message and waits for another is not waited for.

        Args:
            grace_s: seconds to wait at most.
        """
        with self._lock:
            self._draining = True
            self._hear(False)
        if self._thread.ident is not None and self._thread.is_alive():
            signal.pthread_kill(self._thread.ident, _WAKE)
        until = self.loop.time() + grace_s
        while True:
            await asyncio.sleep(DRAIN_LOOK_S)
            with self._lock:
                busy = sum(not connection.between_messages for connection in self._connections)
            if not busy:
                return
            if self.loop.time() > until:
                log.warning("%d sessions cut after a grace of %g s", busy, grace_s)
                return

    def _hear(self, on: bool) -> None:
        """Lay the shared socket, or the placeholder, under libmilter's descriptor."""
        os.dup2(self._socket.fileno() if on else self._quiet, self._listening, inheritable=False)

    def _main(self) -> None:
        try:
            milter.main()
        except milter.error:
            log.exception("libmilter failed")
        if not self._draining:
            log.error("libmilter stopped by itself; the worker ends")
            os.kill(os.getpid(), signal.SIGTERM)

    # --- libmilter's callbacks, in its threads ---

    def _register(self) -> None:
        """Set the callbacks, which are the process's.

        Raises:
            RuntimeError: they are another server's.
        """
        if LibmilterServer._registered:
            raise RuntimeError("libmilter serves in this process already")
        LibmilterServer._registered = True
        step = self._step
        silent = step(lambda connection, *_: connection.silent())
        milter.set_flags(ADD_HEADERS | REMOVE_RECIPIENTS | CHANGE_HEADERS | QUARANTINE | SET_MACROS)
        milter.set_connect_callback(self._connect)
        milter.set_helo_callback(step(LibmilterConnection.helo))
        milter.set_envfrom_callback(step(LibmilterConnection.mail))
        milter.set_envrcpt_callback(step(LibmilterConnection.rcpt))
        milter.set_header_callback(step(LibmilterConnection.header))
        milter.set_eoh_callback(silent)
        milter.set_body_callback(step(LibmilterConnection.body))
        milter.set_eom_callback(self._step(LibmilterConnection.end, milter.TEMPFAIL))
        milter.set_abort_callback(step(LibmilterConnection.abort))
        milter.set_close_callback(self._close)
        # ours never raise: what is left are names that pymilter can't decode, and losing one must
        # not decide a message
        milter.set_exception_policy(milter.CONTINUE)
        milter.register(NAME, unknown=silent, data=silent, negotiate=self._negotiate)

    def _negotiate(self, ctx: milter.Context, options: list[int]) -> int:
        connection = LibmilterConnection(self, ctx)
        try:
            self._last_terms = connection.negotiate(options)
        except Exception:
            log.exception("a connection could not begin")
            return milter.REJECT  # libmilter closes it; the mail server's default action decides
        self._join(connection, ctx)
        return milter.CONTINUE

    def _connect(self, ctx: milter.Context, host: str, _: int, address: object) -> int:
        if ctx.getpriv() is None and self._last_terms is not None:  # after SMFIC_QUIT_NC
            connection = LibmilterConnection(self, ctx)
            try:
                connection.assume(self._last_terms)
            except Exception:
                log.exception("a connection could not begin")
                return milter.TEMPFAIL
            self._join(connection, ctx)
        return self._step(LibmilterConnection.connect)(ctx, host, address)

    def _step(self, call: Callable[..., int], failure: int | None = None) -> Callable[..., int]:
        """Return the callback that makes `call` on its connection.

        It never raises, and returns `failure` for that, or what is configured.
        """
        if failure is None:
            failure = (
                milter.TEMPFAIL
                if self.guard.failure.answer is ReplyAction.TEMPFAIL
                else milter.CONTINUE
            )

        def callback(ctx: milter.Context, *arguments: object) -> int:
            try:
                return call(ctx.getpriv(), *arguments)
            except Exception:
                log.exception("a connection failed")
                return failure

        return callback

    def _close(self, ctx: milter.Context) -> int:
        connection = ctx.getpriv()
        if isinstance(connection, LibmilterConnection):
            self._left(connection)
            connection.close()
        return milter.CONTINUE

    def _join(self, connection: LibmilterConnection, ctx: milter.Context) -> None:
        ctx.setpriv(connection)
        with self._lock:
            self._connections.add(connection)
            if len(self._connections) >= self._max_sessions:
                self._hear(False)

    def _left(self, connection: LibmilterConnection) -> None:
        with self._lock:
            self._connections.discard(connection)
            if not self._draining and len(self._connections) < self._max_sessions:
                self._hear(True)


def _placeholder(family: int) -> int:
    """Have libmilter open a socket of the family where nobody connects.

    Return its descriptor in libmilter.
    """
    before = _sockets()
    with tempfile.TemporaryDirectory(prefix="oborona-") as folder:
        match family:
            case socket.AF_UNIX:
                milter.setconn(f"unix:{folder}/placeholder")
            case socket.AF_INET6:
                milter.setconn("inet6:0@[::1]")
            case _:
                milter.setconn("inet:0@127.0.0.1")
        milter.opensocket(False)
    for name, descriptor in _sockets().items():
        if name not in before and _listens(descriptor, family):
            os.set_blocking(descriptor, False)
            return descriptor
    raise RuntimeError("libmilter's listening socket can't be found")


def _sockets() -> dict[str, int]:
    """Return the process's open sockets, by the name that the kernel gives each."""
    descriptors = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed meanwhile, such as the one that lists the folder
            name = str(entry.readlink())
            if name.startswith("socket:"):
                descriptors[name] = int(entry.name)
    return descriptors


def _listens(descriptor: int, family: int) -> bool:
    with socket.socket(fileno=os.dup(descriptor)) as sock:
        return sock.family == family and bool(
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        )


def _take_large_packets() -> None:
    """Let headers over 64 KiB in, at which libmilter would close the connection: a way past the
    filter.

    The function is libmilter's own, though in no header file; builds without it keep the limit.
    """
    with suppress(AttributeError, OSError):
        set_size = ctypes.CDLL(milter.__file__).smfi_setmaxdatasize
        set_size.argtypes, set_size.restype = [ctypes.c_size_t], ctypes.c_size_t
        set_size(MAX_PACKET)
