"""The HTTP door on the event loop: each request put to a session of its own.

    POST /checkv2, /check, /symbols     as rspamd's clients ask; /learnspam, /learnham as they
                                        teach; GET /ping
    POST /v1/scan, /v1/glance           our own; GET /v1/health, /v1/openapi.json
    POST /v1/logins                     as Dovecot asks of an authentication policy server
    /v1/accounts, incidents, addresses  for panels, by keys of their own (accounts_api.py)
    POST /v1/events/LOG                 events of other services, the same (events_api.py)

    401 no key, or none that is known    429 too often    503 too busy, or no verdict now: come
                                         again

A message that is being judged is judged to the end, also where its client is gone: what was begun
is counted and journaled as by any door.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import time
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import Final, NamedTuple

import msgspec
from aiohttp import web

from oborona.config import UnixAddress
from oborona.doors.context import DoorContext, failure_reply, guard_s, several_stages_guard_s
from oborona.doors.guard import HandlerGuard
from oborona.doors.http.access_keys import access_keys
from oborona.doors.http.account_keys import account_keys
from oborona.doors.http.accounts_api import AccountsApi
from oborona.doors.http.envelopes import EnvelopeHeaders, envelope_of_json
from oborona.doors.http.event_keys import event_keys
from oborona.doors.http.events_api import EventsApi
from oborona.doors.http.keyed_request import BodyRefused, KeyedService
from oborona.doors.http.learn_request import ReporterUnproved, learn_event
from oborona.doors.http.logins import LOGINS, MAX_BODY, answer_login
from oborona.doors.http.model import GlanceRequest, HealthAnswer, ScanRequest, decode_body
from oborona.doors.http.openapi import document
from oborona.doors.http.rate_limit import RateLimiter
from oborona.doors.http.reply import verdict_answer
from oborona.doors.http.right_keys import RightKeys, Rights
from oborona.doors.http.rspamd import check_answer, legacy_check_answer
from oborona.doors.http.store_queue import StoreQueue
from oborona.doors.memory_budget import MemoryReservation
from oborona.doors.reply import SessionReply, is_busy
from oborona.doors.rfc5322 import raw_message_of, without_mailbox_line
from oborona.doors.tokens import AccessTokens
from oborona.doors.turned_away import busy_words
from oborona.doors.web import (
    JSON,
    SERVER,
    HttpLimits,
    WebServer,
    bearer_token,
    busy_answer,
    client_of,
    error_answer,
    json_answer,
    read_body,
    refresh_tokens,
)
from oborona.errors import PeerError
from oborona.feedback.events.model import EventKind
from oborona.types import Envelope, Stage

MAX_HEADERS: Final = 1_200  # each recipient is one; Postfix takes 1,000
MAX_HEAD: Final = 256 * 1024  # bytes of them all
MESSAGE: Final = "message/rfc822"
# a body of JSON may be so much larger than the message in it: base64 makes 4 of 3
JSON_SHARE: Final = 1.4
CHECKS: Final = frozenset({"/checkv2", "/check", "/symbols"})  # rspamd's proxy asks with GET
RETRY_S: Final = 1  # that who is put off should wait at least

log = logging.getLogger("oborona.http")

_SCAN: Final = msgspec.json.Decoder(ScanRequest)
_GLANCE: Final = msgspec.json.Decoder(GlanceRequest)


class _ScanJob(NamedTuple):
    """A message put to a session."""

    envelope: Envelope
    raw: bytes
    port: str


async def start(at: DoorContext, listener: socket.socket) -> ScanHttpServer:
    """Serve the door as the settings want it."""
    server = ScanHttpServer(at, access_keys(at.settings.doors.http))
    await server.start(listener)
    return server


class ScanHttpServer(WebServer):
    """Serves HTTP on one listening socket.

    Args:
        at: what the worker has for it.
        tokens: keys of those who may ask; None: whoever reaches the socket.
    """

    def __init__(self, at: DoorContext, tokens: AccessTokens | None) -> None:
        door, work = at.settings.doors.http, at.settings.worker
        super().__init__(
            limits=HttpLimits(
                read_s=door.read_s, idle_s=door.idle_s, max_headers=MAX_HEADERS, max_head=MAX_HEAD
            ),
            tokens=tokens,
            max_connections=door.max_connections,
            log=log,
            note=at.note,
            max_per_client=door.max_per_client,
            allowed=door.allowed,
            busy=busy_words(at.turned_away, lambda reply: busy_answer(reply.text)),
        )
        self._at = at
        self._guard = HandlerGuard(
            failure_reply(work), max(guard_s(work), several_stages_guard_s(work))
        )
        self._limit_bytes = work.max_message_bytes
        self._max_body = min(door.max_body_bytes, at.room.most)
        # as at the intake's door: who may open a socket file is the admin's choice, who may reach a
        # port is nobody's
        self._teaches = tokens is not None or isinstance(door.address, UnixAddress)
        self._max_json = min(int(door.max_body_bytes * JSON_SHARE), at.room.most)
        self._rates = RateLimiter(door.rate, door.burst)
        self._account_keys = account_keys(door)
        queue = StoreQueue()
        self._accounts_api = AccountsApi(at, queue)
        self._event_keys = event_keys(at.settings)
        self._events_api = EventsApi(at, queue)
        self._room = at.room
        self._open: Final[dict[str, Callable[[], web.Response]]] = {
            "/ping": _pong,
            "/v1/health": lambda: json_answer(200, HealthAnswer(state="ready")),
            "/v1/openapi.json": self._described,
        }
        self._closed: Final[
            dict[str, Callable[[web.BaseRequest, MemoryReservation], Awaitable[web.Response]]]
        ] = {
            "/checkv2": self._check,
            "/check": self._check_of_old,
            "/symbols": self._check_of_old,
            "/learnspam": self._learn_spam,
            "/learnham": self._learn_ham,
            "/v1/scan": self._scan,
            "/v1/glance": self._glance,
            LOGINS: self._login,
        }

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        page = self._open.get(path)
        if page is not None:
            return (
                page()
                if request.method in {"GET", "HEAD"}
                else error_answer(405, "GET only", Allow="GET, HEAD")
            )
        if self._account_keys is not None and self._accounts_api.serves(request):
            return await self._by_key(request, self._account_keys, self._accounts_api)
        if self._event_keys is not None and self._events_api.serves(request):
            return await self._by_key(request, self._event_keys, self._events_api)
        handler = self._closed.get(path)
        if handler is None:
            return error_answer(404, "there is nothing here")
        if request.method != "POST" and not (
            path in CHECKS and request.method == "GET" and request.body_exists
        ):
            return error_answer(405, "POST only", Allow="POST")
        key = self._accepted_token(bearer_token(request), request.headers.get("Password", ""))
        if key is None:
            return self._unauthorized()
        too_often = self._too_often(key or client_of(request))
        if too_often is not None:
            return too_often
        with self._room.hold() as reservation:
            try:
                return await handler(request, reservation)
            except ReporterUnproved as error:
                return self._not_taken(error_answer(403, str(error)))
            except PeerError as error:
                return self._not_taken(error_answer(400, str(error)))

    async def _by_key(
        self, request: web.BaseRequest, keys: RightKeys[Rights], served: KeyedService[Rights]
    ) -> web.Response:
        """Answer a request that needs a key of a file of its own."""
        refresh_tokens(keys, self._log)
        shown = bearer_token(request)
        key = keys.key(shown)
        if key is None:
            return self._unauthorized()
        too_often = self._too_often(shown)
        if too_often is not None:
            return too_often
        with self._room.hold() as reservation:
            try:
                answer = await served.answer(
                    request, key, partial(self._keyed_body, request, reservation)
                )
            except BodyRefused as refused:
                return self._not_taken(refused.answer)
        self._note(
            {400: "broken", 403: "unauthorized", 503: "failed"}.get(answer.status, "answered")
        )
        return answer

    async def _keyed_body(
        self, request: web.BaseRequest, reservation: MemoryReservation, most: int
    ) -> bytes:
        body = await read_body(request, most, self.limits.read_s, reservation)
        if isinstance(body, web.Response):
            raise BodyRefused(body)
        return body

    def _unauthorized(self) -> web.Response:
        self._note("unauthorized")
        return error_answer(
            401, "no key, or none that is known here", **{"WWW-Authenticate": "Bearer"}
        )

    def _too_often(self, client: str) -> web.Response | None:
        wait_s = self._rates.wait_s(client, asyncio.get_running_loop().time())
        if not wait_s:
            return None
        self._note("too-often")
        return error_answer(429, "too often", **{"Retry-After": str(math.ceil(wait_s))})

    # --- rspamd's ---

    async def _check(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        return await self._checked(request, reservation, of_old=False)

    async def _check_of_old(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        return await self._checked(request, reservation, of_old=True)

    async def _checked(
        self, request: web.BaseRequest, reservation: MemoryReservation, *, of_old: bool
    ) -> web.Response:
        headers = EnvelopeHeaders(request.raw_headers)
        envelope = headers.envelope()
        body = await self._message(request, reservation)
        if isinstance(body, web.Response):
            return body
        began = asyncio.get_running_loop().time()
        envelope = msgspec.structs.replace(envelope, holds=False)  # rspamd has no word for it
        reply = await self._judge(_ScanJob(envelope, without_mailbox_line(body), ""))
        if reply.judged is None:
            return self._nobody(reply)
        self._note("answered")
        answer = check_answer(reply, reply.judged, asyncio.get_running_loop().time() - began)
        return json_answer(200, legacy_check_answer(answer) if of_old else answer)

    async def _learn_spam(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        return await self._learned(EventKind.COMPLAINT, request, reservation)

    async def _learn_ham(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        return await self._learned(EventKind.PARDON, request, reservation)

    async def _learned(
        self, kind: EventKind, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        if not self._teaches:
            raise ReporterUnproved("on a port everybody needs a key: set doors.http.keys_file")
        body = await self._message(request, reservation)
        if isinstance(body, web.Response):
            return body
        event = learn_event(
            kind,
            EnvelopeHeaders(request.raw_headers),
            without_mailbox_line(body),
            key=self._at.signing_key,
            template=self._at.settings.intake.person,
            source=request.remote or "local",
            now=time.time(),
        )
        if not await self._at.keep(event):
            self._note("failed")
            return error_answer(503, "nothing can be written down now", **{"Retry-After": "10"})
        self._note("answered")
        return json_answer(200, {"success": True})

    # --- our own ---

    async def _scan(self, request: web.BaseRequest, reservation: MemoryReservation) -> web.Response:
        job = await (self._told_in_json if request.content_type == JSON else self._told_in_headers)(
            request, reservation
        )
        if isinstance(job, web.Response):
            return job
        reply = await self._judge(job)
        if reply.judged is None:
            return self._nobody(reply)
        self._note("answered")
        return json_answer(200, verdict_answer(reply))

    async def _glance(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        body = await self._body(request, reservation, MAX_HEAD)
        if isinstance(body, web.Response):
            return body
        glance = decode_body(_GLANCE, body)
        session = self._at.sessions()
        try:
            reply = await self._guard.ask(
                session.glance(
                    Stage(glance.stage),
                    envelope_of_json(glance),
                    glance.port,
                    after=Stage(glance.after) if glance.after is not None else None,
                )
            )
        finally:
            HandlerGuard.tell(session.close)
        if reply is self._guard.failure:
            return self._nobody(reply)
        self._note("answered")
        return json_answer(200, verdict_answer(reply))

    async def _login(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> web.Response:
        if not self._teaches:
            raise ReporterUnproved("on a port everybody needs a key: set doors.http.keys_file")
        body = await self._body(request, reservation, MAX_BODY)
        if isinstance(body, web.Response):
            return body
        answer = await answer_login(
            request.query.get("command", ""),
            body,
            self._at.logins,
            self._at.record_login,
            refuse=self._at.settings.doors.http.refuse_banned_logins,
        )
        self._note("answered")
        return json_answer(200, answer)

    async def _told_in_json(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> _ScanJob | web.Response:
        body = await self._body(request, reservation, self._max_json)
        if isinstance(body, web.Response):
            return body
        scan = decode_body(_SCAN, body)
        return _ScanJob(envelope_of_json(scan), scan.raw, scan.port)

    async def _told_in_headers(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> _ScanJob | web.Response:
        if request.content_type != MESSAGE:
            return self._not_taken(error_answer(415, f"{JSON} or {MESSAGE}"))
        envelope = EnvelopeHeaders(request.raw_headers).envelope()
        body = await self._message(request, reservation)
        return body if isinstance(body, web.Response) else _ScanJob(envelope, body, "")

    def _described(self) -> web.Response:
        return web.Response(
            body=self._description, headers={"Content-Type": JSON, "Server": SERVER}
        )

    @cached_property
    def _description(self) -> bytes:
        return document().encode()

    # --- what both are made of ---

    async def _message(
        self, request: web.BaseRequest, reservation: MemoryReservation
    ) -> bytes | web.Response:
        """Return a body that is a message as it stands."""
        if request.headers.get("Compression", ""):
            return self._not_taken(
                error_answer(415, "a compressed body is not taken; send it as it is")
            )
        return await self._body(request, reservation, self._max_body)

    async def _body(
        self, request: web.BaseRequest, reservation: MemoryReservation, limit: int
    ) -> bytes | web.Response:
        body = await read_body(request, limit, self.limits.read_s, reservation)
        if isinstance(body, web.Response):
            return self._not_taken(body)
        return body

    async def _judge(self, job: _ScanJob) -> SessionReply:
        """Put a message to a session of its own."""
        session, message = self._at.sessions(), raw_message_of(job.raw, self._limit_bytes)
        try:
            return await self._guard.judged(
                session.whole(job.envelope, message, job.port), session, message
            )
        finally:
            HandlerGuard.tell(session.close)

    def _nobody(self, reply: SessionReply) -> web.Response:
        """Answer where nobody was judged."""
        self._note("busy" if is_busy(reply) else "failed")
        words = "too busy, try again later" if is_busy(reply) else "no verdict now, try again later"
        return error_answer(503, words, **{"Retry-After": str(RETRY_S)})

    def _not_taken(self, answer: web.Response) -> web.Response:
        """Count a request that comes to nothing by the fault of its client, or for want of room."""
        self._note({413: "too-large", 503: "busy"}.get(answer.status, "broken"))
        return answer


def _pong() -> web.Response:
    return web.Response(body=b"pong\r\n", headers={"Content-Type": "text/plain", "Server": SERVER})
