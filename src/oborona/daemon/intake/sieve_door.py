"""The socket on which Dovecot's Sieve says what a person did with a message: one request a
connection, answered once it is written down.

A complaint or pardon is answered when it is on the disk; reads and deletions at once.  Whatever is
wrong with a request is answered `-`: the script tries once more, leaves it in the spool if there is
one, and the person's move stays what it is.  Dovecot waits with the move for the answer, 10 seconds
by its own setting (sieve_execute_exec_timeout), so that ours has a shorter deadline.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from oborona.daemon.intake.event_sink import EventSink
from oborona.daemon.intake.sieve_codec import REFUSED, TAKEN, SieveCodec, SieveRequest
from oborona.doors.acceptor import Acceptor
from oborona.doors.stream import StreamConnection
from oborona.errors import PeerError, StoreError
from oborona.feedback.events.message_reference import WEAK, event_of
from oborona.feedback.events.model import MOST_RAW

IDLE_S: Final = 10.0  # Dovecot writes in one go; who stops in the middle is not it
WHOLE_S: Final = 60.0  # for a request: a large message on a busy disk
DOOR: Final = "sieve"  # its name in metrics

log = logging.getLogger("oborona.intake")


class SieveServer(Acceptor):
    """Serves connections of one listening socket.

    Args:
        sink: takes events.
        key: of the site, for signatures.
        template: of persons' addresses.
        max_connections: at once; further ones wait.
        allowed: networks whose clients may connect; empty: all.
        idle_s: seconds without a byte after which a connection is closed.
        whole_s: seconds that a request may take to come.
    """

    def __init__(
        self,
        sink: EventSink,
        *,
        key: bytes,
        template: str,
        max_connections: int,
        allowed: str = "",
        idle_s: float = IDLE_S,
        whole_s: float = WHOLE_S,
    ) -> None:
        super().__init__(idle_s=idle_s, max_sessions=max_connections, log=log, allowed=allowed)
        self._sink = sink
        self._key = key
        self._template = template
        self.whole_s = whole_s
        self._told = ""  # the last thing wrong that the log was told

    def _connection(self) -> StreamConnection:
        return _SieveConnection(self)

    @property
    def there(self) -> bytes:
        """The answer to who asks whether we are there: what is said now would be taken."""
        return REFUSED if self._sink.trouble else TAKEN

    async def answer(self, request: SieveRequest) -> bytes:
        """Return the answer to a request; never raises."""
        try:
            event = event_of(
                request.arguments,
                request.raw,
                key=self._key,
                template=self._template,
                now=time.time(),
            )
        except PeerError as error:
            self.wrong(error)
            return REFUSED
        if event.what in WEAK:
            self._sink.pass_on(event)
            return TAKEN
        try:
            await self._sink.take(event)
        except StoreError:
            return REFUSED  # the sink has counted and logged it
        return TAKEN

    def wrong(self, error: PeerError) -> None:
        """Count a request that cannot be used; the log is told of each kind once."""
        self._sink.refuse(DOOR, "broken")
        if str(error) != self._told:
            self._told = str(error)
            log.warning("a request of Dovecot is of no use: %s", error)


class _SieveConnection(StreamConnection):
    """One request.

    Args:
        server: counts it, and answers.
    """

    def __init__(self, server: SieveServer) -> None:
        super().__init__(server, log)
        self._server = server
        self._codec = SieveCodec(MOST_RAW)
        self._ended = False
        self._late = self._loop.call_later(server.whole_s, self._too_late)

    def eof_received(self) -> bool:
        """The client has said all; our side stays open for the answer."""
        self._ended = True
        self.data_received(b"")
        return True

    @property
    def _between(self) -> bool:
        return not self._codec.begun

    async def _take(self, data: bytes) -> None:
        try:
            self._codec.feed(data)
            if self._codec.is_probe:
                self._say(self._server.there)
                return
            if not self._ended or self._inbox:
                return
            if not self._codec.begun:  # it came and went
                self._close()
                return
            request = self._codec.end()
        except PeerError as error:
            self._server.wrong(error)
            self._say(REFUSED)
            return
        answer = await self._server.answer(request)
        if request.wants_answer:
            self._say(answer)
        else:
            self._close()

    def _say(self, answer: bytes) -> None:
        self._transport.write(answer)
        self._close()

    def _too_late(self) -> None:
        if self._worker is None:
            log.warning(
                "connection closed: a request was not whole within %g s", self._server.whole_s
            )
            self.cut()

    def _farewell(self) -> None:
        self._late.cancel()
