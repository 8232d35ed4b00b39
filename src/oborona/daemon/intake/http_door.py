"""POST /feedback and GET /health: HTTP for programs that know what people do with their mail.

    201 {"event": 7, "new": true}   written down                    200 the same, when its
                                    Idempotency-Key was known
    400 {"error": "..."}            not what we know                401 no token, or none of ours
    404, 405, 413, 415              another path, method, size, type
    429, 503                        too much at once; nothing can be written down now: try again
                                    later

Bodies are at most `AT_ONCE` at once, and never beyond the limit; the rest is as of
`oborona.doors.web`.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from aiohttp import web

from oborona.daemon.intake.event_sink import EventSink
from oborona.doors.tokens import AccessTokens
from oborona.doors.web import (
    IDLE_S,
    JSON,
    READ_S,
    HttpLimits,
    WebServer,
    bearer_token,
    error_answer,
    json_answer,
    read_body,
)
from oborona.errors import PeerError, StoreError
from oborona.feedback.events.http_body import event_of, from_json, from_message
from oborona.feedback.events.model import FeedbackEvent

AT_ONCE: Final = 16  # bodies in memory
# a body of JSON may be so much larger than the message in it: base64 makes 4 of 3
JSON_SHARE: Final = 1.5
MAX_KEY: Final = 200  # characters of an Idempotency-Key
DOOR: Final = "http"  # its name in metrics
PATH: Final = "/feedback"
HEALTH: Final = "/health"

log = logging.getLogger("oborona.intake")


class FeedbackHttpServer(WebServer):
    """Serves HTTP on one listening socket.

    Args:
        sink: takes events.
        key: of the site, for signatures.
        tokens: who may speak; None: whoever reaches the socket.
        max_message_bytes: of a message that is handed in.
        max_connections: at once; further ones wait.
        allowed: networks whose clients may connect; empty: all.
        read_s: seconds for a body to come.
        idle_s: seconds without a request after which a connection is closed.
    """

    def __init__(
        self,
        sink: EventSink,
        *,
        key: bytes,
        tokens: AccessTokens | None,
        max_message_bytes: int,
        max_connections: int,
        allowed: str = "",
        read_s: float = READ_S,
        idle_s: float = IDLE_S,
    ) -> None:
        super().__init__(
            limits=HttpLimits(read_s=read_s, idle_s=idle_s),
            tokens=tokens,
            max_connections=max_connections,
            log=log,
            note=lambda why: sink.refuse(DOOR, why),
            allowed=allowed,
        )
        self._sink = sink
        self._key = key
        self._limit = max_message_bytes
        self._reading = 0

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == HEALTH:
            return self._health(request)
        if request.path != PATH:
            return error_answer(404, "there is nothing here")
        if request.method != "POST":
            return error_answer(405, "POST only", Allow="POST")
        token = self._accepted_token(bearer_token(request))
        if token is None:
            self._note("unauthorized")
            return error_answer(
                401, "no token, or none that is known here", **{"WWW-Authenticate": "Bearer"}
            )
        if self._reading >= AT_ONCE:
            self._note("crowded")
            return error_answer(429, "too much at once", **{"Retry-After": "1"})
        self._reading += 1
        try:
            return await self._feedback(request, token)
        finally:
            self._reading -= 1

    def _health(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in {"GET", "HEAD"}:
            return error_answer(405, "GET only", Allow="GET, HEAD")
        if self._sink.trouble:
            return error_answer(503, "nothing can be written down now")
        return json_answer(200, {"state": "ready"})

    async def _feedback(self, request: web.BaseRequest, token: str) -> web.StreamResponse:
        """Take what is said.

        Args:
            request: whose body is yet to come.
            token: that the client showed; a client's names for its requests are not those of
                others.
        """
        kind = request.content_type
        if kind not in {JSON, "message/rfc822"}:
            return self._wrong(error_answer(415, f"{JSON} or message/rfc822"))
        once = request.headers.get("Idempotency-Key", "")
        if len(once) > MAX_KEY:
            return self._wrong(
                error_answer(400, f"an Idempotency-Key has at most {MAX_KEY} characters")
            )
        limit = int(self._limit * JSON_SHARE) if kind == JSON else self._limit
        body = await read_body(request, limit, self.limits.read_s)
        if isinstance(body, web.Response):
            return self._wrong(body)
        try:
            feedback = from_json(body) if kind == JSON else from_message(body, _words(request))
            event = event_of(
                feedback,
                key=self._key,
                once=f"{token} {once}" if once else "",
                source=request.remote or "local",
                now=time.time(),
            )
        except PeerError as error:
            return self._wrong(error_answer(400, str(error)))
        return await self._take(event)

    async def _take(self, event: FeedbackEvent) -> web.StreamResponse:
        try:
            receipt = await self._sink.take(event)
        except StoreError:
            return error_answer(503, "nothing can be written down now", **{"Retry-After": "10"})
        return json_answer(201 if receipt.new else 200, {"event": receipt.id, "new": receipt.new})

    def _wrong(self, answer: web.StreamResponse) -> web.StreamResponse:
        self._note("broken")
        return answer


def _words(request: web.BaseRequest) -> dict[str, str]:
    """Return what stands behind the question mark.

    Raises:
        PeerError: a word comes twice, or is the message.
    """
    words = dict(request.query)
    if len(words) != len(request.query) or "raw" in words:
        raise PeerError("each word once, and the message as the body")
    return words
