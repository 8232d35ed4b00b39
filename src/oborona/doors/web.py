"""HTTP on a listening socket: what every door that speaks it does in the same way.  The protocol
itself is aiohttp's.

Heads have limits in bytes and fields, and must be whole within the idle time, however slowly they
drip; bodies are read within a time and to a limit, compressed ones are refused; an answer that
nobody reads ends its connection.  A handler goes on when its client is gone: what it has begun is
done to the end. Answers are JSON, errors {"error": "..."}; a fault of ours is a 500 without any
detail, which the log has.  Without TLS, but for desks of other machines: for this machine, or a
proxy on it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from abc import abstractmethod
from collections.abc import Callable
from typing import Final, cast

import msgspec
from aiohttp import HttpVersion11, web
from aiohttp.web_protocol import RequestHandler

from oborona.doors.acceptor import AcceptedConnection, Acceptor
from oborona.doors.client_key import client_key
from oborona.doors.memory_budget import MemoryReservation
from oborona.doors.overload import BusyWords
from oborona.doors.tokens import AccessTokens
from oborona.errors import ConfigError
from oborona.telemetry.log import event

READ_S: Final = 30.0  # for a body to come, and for an answer to be taken
# a connection on which no request becomes whole is closed; the library does it
IDLE_S: Final = 60.0
LINGER_S: Final = 2.0  # that the rest of a refused body is read, so that its sender hears why
MAX_HEADER: Final = 8190  # bytes of a line or a field
MAX_HEADERS: Final = 128
MAX_HEAD: Final = 64 * 1024  # bytes of a request before its body
JSON: Final = "application/json"
SERVER: Final = "oborona"
_BUSY_HEAD: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nServer: oborona\r\nContent-Type: "
    b"application/json\r\nRetry-After: 1\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
)


def busy_answer(words: str = "Too busy, try again later") -> bytes:
    """Return the whole answer to who comes when the door is full."""
    body = msgspec.json.encode({"error": words})
    return _BUSY_HEAD % len(body) + body


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one client may take of us."""

    read_s: float = READ_S
    idle_s: float = IDLE_S
    max_headers: int = MAX_HEADERS
    max_head: int = MAX_HEAD


class WebServer(Acceptor):
    """Serves HTTP on one listening socket.

    Args:
        limits: of a connection.
        tokens: who may speak; None: whoever reaches the socket.
        max_connections: at once.
        log: of the door.
        max_per_client: connections of one client at once; 0: any number.
        busy: returns what those beyond are told; None: they wait.
        note: counts requests that came to nothing, under a word.
        allowed: networks whose clients may connect; empty: all.
        tls: speaks it from the start; None: nobody does.
    """

    def __init__(
        self,
        *,
        limits: HttpLimits,
        tokens: AccessTokens | None,
        max_connections: int,
        log: logging.Logger,
        note: Callable[[str], None],
        max_per_client: int = 0,
        busy: BusyWords | None = None,
        allowed: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(
            idle_s=limits.idle_s,
            max_sessions=max_connections,
            log=log,
            max_per_client=max_per_client,
            busy=busy,
            note=note,
            allowed=allowed,
            tls=tls,
        )
        self.limits = limits
        self._tokens = tokens

    async def start(self, sock: socket.socket) -> None:
        """Accept on a listening socket, which stays the caller's."""
        self.web = web.Server(self._guarded, access_log=None)
        await super().start(sock)

    async def drain(self, grace_s: float) -> None:
        """Accept no more, wait for requests that have begun, then cut what is left."""
        await super().drain(grace_s)
        await self.web.shutdown(grace_s)

    @abstractmethod
    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request whose head has come."""

    def _connection(self) -> AcceptedConnection:
        return _WebConnection(self, self._broken)

    def _broken(self, status: int) -> None:
        """Count a request that is no HTTP."""
        if status < 500:  # the others are ours, and counted where they arise
            self._note("broken")

    async def _guarded(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; the crash barrier."""
        try:
            return await self._handle(request)
        except Exception:  # noqa: BLE001 - the log has the traceback
            self._log.exception("a request failed")
            self._note("failed")
            return error_answer(500, "a fault of ours: the log has it")

    def _accepted_token(self, *candidates: str) -> str | None:
        """Return the first token among these that is known, empty where none is needed.

        None: there is none.

        Args:
            candidates: what the client shows.
        """
        if self._tokens is None:
            return ""
        refresh_tokens(self._tokens, self._log)
        return next((token for token in candidates if self._tokens.knows(token)), None)


def refresh_tokens(tokens: AccessTokens, log: logging.Logger) -> None:
    """Read the file of tokens again if it changed; the log has why it can't be used."""
    try:
        tokens.refresh()
    except ConfigError as error:
        event(log, logging.ERROR, "the tokens stay as they were", error=error)


class _WebConnection(RequestHandler):
    """One connection, as the library speaks HTTP on it.

    Args:
        server: counts it.
        broken: is told the status of what the library itself refuses.
    """

    __slots__ = ("_broken", "_half", "_server", "client")

    def __init__(self, server: WebServer, broken: Callable[[int], None]) -> None:
        limits = server.limits
        super().__init__(
            server.web,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.idle_s,
            access_log=cast("logging.Logger", None),
            auto_decompress=False,
            lingering_time=LINGER_S,
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            max_headers=limits.max_headers,
        )
        self._server = server
        self._broken = broken
        self._half = 0  # bytes of a head that is not whole
        self.client = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See whose it is."""
        super().connection_made(transport)
        self.client = client_key(transport.get_extra_info("socket"))

    @property
    def _waits(self) -> bool:
        """Whether no head is whole: nothing is asked, or half."""
        return self._waiter is not None and not self._waiter.done() and not self._messages

    def data_received(self, data: bytes) -> None:
        """Take bytes, of a head only so many."""
        super().data_received(data)
        if not self._waits:
            self._half = 0
            return
        self._half += len(data)
        if self._half > self._server.limits.max_head:
            self._broken(431)
            self.force_close()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Write an answer, as long as the client goes on reading."""
        try:
            async with asyncio.timeout(self._server.limits.read_s):
                return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            self.cut()
            return resp, True

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the library refuses, in our words and without its traceback in the log."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._broken(status)
        answered = error_answer(status, "this is no HTTP request that is served here")
        answered.force_close()
        return answered

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it out."""
        super().connection_lost(exc)
        self._server.left(self)

    def close_if_between(self) -> None:
        """Close behind the request that has begun, at once where there is none: of itself the
        library would wait for one.
        """
        if self._waits:
            self.force_close()
        else:
            self.close()

    def close_if_idle(self, due: float) -> None:
        """The library closes it."""

    def cut(self) -> None:
        """Close without ceremony, whatever the client has not read yet."""
        if self.transport is not None:
            self.transport.abort()
        self.force_close()


def client_of(request: web.BaseRequest) -> str:
    """Return whose connection a request came on."""
    return cast("_WebConnection", request.protocol).client


def bearer_token(request: web.BaseRequest) -> str:
    """Return the token that a request shows in its Authorization."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def read_body(
    request: web.BaseRequest,
    limit: int,
    within_s: float,
    reservation: MemoryReservation | None = None,
) -> bytes | web.Response:
    """Return the body of a request, or the answer to whoever sends none that can be used.

    Args:
        request: whose head has come.
        limit: in bytes.
        within_s: seconds that it may take.
        reservation: of memory, grown by the octets as they arrive: a length that is announced and
            never sent takes no room from other mail; None = there is enough.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        return error_answer(415, "a compressed body is not taken")
    announced = request.content_length or 0
    if announced > limit:
        return error_answer(413, f"more than {limit} bytes")
    if reservation is not None and not reservation.fits(announced):
        return error_answer(503, "too much at once, try again later", **{"Retry-After": "1"})
    body: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(within_s):
            await _go_on(request)
            async for piece in request.content.iter_any():
                size += len(piece)
                if size > limit:
                    return error_answer(413, f"more than {limit} bytes")
                if reservation is not None and not reservation.more(len(piece)):
                    return error_answer(
                        503, "too much at once, try again later", **{"Retry-After": "1"}
                    )
                body.append(piece)
    except TimeoutError:
        return error_answer(400, "the body did not come")
    except (web.RequestPayloadError, OSError):
        return error_answer(400, "the body is broken")
    return b"".join(body)


async def _go_on(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body."""
    if (
        request.version >= HttpVersion11
        and request.headers.get("Expect", "").lower() == "100-continue"
    ):
        writer = request.writer
        await writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        writer.output_size = 0  # the answer is yet to come


def json_answer(status: int, words: object, **headers: str) -> web.Response:
    """Return an answer in JSON."""
    return web.Response(
        status=status,
        body=msgspec.json.encode(words) + b"\n",
        headers={"Content-Type": JSON, "Server": SERVER, **headers},
    )


def error_answer(status: int, words: str, **headers: str) -> web.Response:
    """Return an answer that says why not, in the first line too: rspamc shows no more."""
    refused = json_answer(status, {"error": words}, **headers)
    if words.isascii() and words.isprintable():
        refused.set_status(status, words)
    return refused
