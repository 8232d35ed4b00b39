"""POST /feedback and GET /health: HTTP for programs that know what people do with their mail.

    201 {"event": 7, "new": true}   written down                    200 the same, when its Idempotency-Key was known
    400 {"error": "..."}            not what we know                401 no token, or none of ours
    404, 405, 411, 413, 415         another path, method, length, size, type
    429, 503                        too much at once; nothing can be written down now: try again later

Bodies are read within a time, at most `AT_ONCE` at once, and never beyond the limit; one that is compressed is refused.
Without TLS: it is for this machine, or for a proxy on it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from oborona.errors import ConfigError, PeerError, StoreError
from oborona.feedback.events.model import Event
from oborona.milter.acceptor import Accepted, Acceptor
from oborona.milter.intake.desk import Desk
from oborona.milter.intake.http_body import event_of, from_json, from_message
from oborona.milter.intake.tokens import Tokens
from oborona.milter.log import event as say

READ_S: Final = 30.0  # for a body to come
IDLE_S: Final = 60.0  # a connection on which no request begins is closed; the library does it
AT_ONCE: Final = 16  # bodies in memory
JSON_SHARE: Final = 1.5  # a body of JSON may be so much larger than the message in it: base64 makes 4 of 3
MAX_KEY: Final = 200  # characters of an Idempotency-Key
MAX_HEADER: Final = 8190  # bytes
DOOR: Final = "http"  # its name in metrics
PATH: Final = "/feedback"
HEALTH: Final = "/health"

log = logging.getLogger("oborona.intake")


class HttpServer(Acceptor):
    """Serves HTTP on one listening socket.

    Args:
        desk: takes events.
        key: of the site, for signatures.
        tokens: who may speak; None: whoever reaches the socket.
        max_message_bytes: of a message that is handed in.
        max_connections: at once; further ones wait.
        read_s: seconds for a body to come.
        idle_s: seconds without a request after which a connection is closed.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        key: bytes,
        tokens: Tokens | None,
        max_message_bytes: int,
        max_connections: int,
        read_s: float = READ_S,
        idle_s: float = IDLE_S,
    ) -> None:
        super().__init__(idle_s=idle_s, max_sessions=max_connections, log=log)
        self._desk = desk
        self._key = key
        self._tokens = tokens
        self._limit = max_message_bytes
        self._reading = 0
        self._read_s = read_s
        self.idle_s = idle_s

    async def start(self, sock: socket.socket) -> None:
        """Accept on a listening socket, which stays the caller's."""
        self.web = web.Server(self._handle, access_log=None)
        await super().start(sock)

    async def drain(self, grace_s: float) -> None:
        """Accept no more, wait for requests that have begun, then cut what is left."""
        await super().drain(grace_s)
        await self.web.shutdown(grace_s)

    def _connection(self) -> Accepted:
        return _Connection(self)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == HEALTH:
            return await self._health(request)
        if request.path != PATH:
            return _no(404, "there is nothing here")
        if request.method != "POST":
            return _no(405, "POST only", Allow="POST")
        if not self._may(request):
            self._desk.refuse(DOOR, "unauthorized")
            return _no(401, "no token, or none that is known here", **{"WWW-Authenticate": "Bearer"})
        if self._reading >= AT_ONCE:
            self._desk.refuse(DOOR, "crowded")
            return _no(429, "too much at once", **{"Retry-After": "1"})
        self._reading += 1
        try:
            return await self._feedback(request)
        finally:
            self._reading -= 1

    async def _health(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in {"GET", "HEAD"}:
            return _no(405, "GET only", Allow="GET, HEAD")
        if self._desk.trouble:
            return _no(503, "nothing can be written down now")
        return _answer(200, {"state": "ready"})

    def _may(self, request: web.BaseRequest) -> bool:
        if self._tokens is None:
            return True
        try:
            self._tokens.refresh()
        except ConfigError as error:
            say(log, logging.ERROR, "the tokens stay as they were", error=error)
        scheme = request.headers.get("Authorization", "").partition(" ")[0]
        return self._tokens.knows(_token(request)) and scheme.lower() == "bearer"

    def _client(self, request: web.BaseRequest) -> str:
        """Return what tells a client's names for its requests from those of others."""
        return "" if self._tokens is None else _token(request)

    async def _feedback(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return self._wrong(415, "a compressed body is not taken")
        kind = request.content_type
        if kind not in {"application/json", "message/rfc822"}:
            return self._wrong(415, "application/json or message/rfc822")
        once = request.headers.get("Idempotency-Key", "")
        if len(once) > MAX_KEY:
            return self._wrong(400, f"an Idempotency-Key has at most {MAX_KEY} characters")
        limit = int(self._limit * JSON_SHARE) if kind == "application/json" else self._limit
        try:
            async with asyncio.timeout(self._read_s):
                body = await _body(request, limit)
        except TimeoutError:
            return self._wrong(400, "the body did not come")
        except (web.RequestPayloadError, OSError):
            return self._wrong(400, "the body is broken")
        if body is None:
            return self._wrong(413, f"a message of more than {self._limit} bytes")
        try:
            said = from_json(body) if kind == "application/json" else from_message(body, _words(request))
            event = event_of(
                said,
                key=self._key,
                once=f"{self._client(request)} {once}" if once else "",
                source=request.remote or "local",
                now=time.time(),
            )
        except PeerError as error:
            return self._wrong(400, str(error))
        return await self._taken(event)

    async def _taken(self, event: Event) -> web.StreamResponse:
        try:
            receipt = await self._desk.take(event)
        except StoreError:
            return _no(503, "nothing can be written down now", **{"Retry-After": "10"})
        return _answer(201 if receipt.new else 200, {"event": receipt.id, "new": receipt.new})

    def _wrong(self, status: int, words: str) -> web.StreamResponse:
        self._desk.refuse(DOOR, "broken")
        return _no(status, words)


class _Connection(RequestHandler):
    """One connection, as the library speaks HTTP on it.

    Args:
        server: counts it.
    """

    __slots__ = ("_server",)

    def __init__(self, server: HttpServer) -> None:
        super().__init__(
            server.web,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=server.idle_s,
            access_log=cast("logging.Logger", None),
            auto_decompress=False,
            lingering_time=0,
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
        )
        self._server = server

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it out."""
        super().connection_lost(exc)
        self._server.left(self)

    def close_if_between(self) -> None:
        """Close behind the request that has begun, at once where there is none."""
        self.close()

    def close_if_idle(self, due: float) -> None:
        """The library closes it."""

    def cut(self) -> None:
        """Close without ceremony."""
        self.force_close()


def _token(request: web.BaseRequest) -> str:
    return request.headers.get("Authorization", "").partition(" ")[2].strip()


async def _body(request: web.BaseRequest, limit: int) -> bytes | None:
    """Return the body, None if it is larger than the limit."""
    if (request.content_length or 0) > limit:
        return None
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)


def _words(request: web.BaseRequest) -> dict[str, str]:
    """Return what stands behind the question mark.

    Raises:
        PeerError: a word comes twice, or is the message.
    """
    words = dict(request.query)
    if len(words) != len(request.query) or "raw" in words:
        raise PeerError("each word once, and the message as the body")
    return words


def _answer(status: int, words: dict[str, Any], **headers: str) -> web.Response:
    return web.Response(
        status=status,
        body=json.dumps(words).encode() + b"\n",
        content_type="application/json",
        headers={"Server": "oborona", **headers},
    )


def _no(status: int, words: str, **headers: str) -> web.Response:
    return _answer(status, {"error": words}, **headers)
