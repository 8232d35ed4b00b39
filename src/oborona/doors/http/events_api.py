"""POST /v1/events/LOG: events of other services, into a log that is declared.

    200 what is right of it is on the disk     400 it is no JSON, or nothing of it can be used
    401 no key, or none that is known          404 a log that is not declared, or not the key's
    413 too many                               503 it can't be written now

A batch is a file of a spool, of which the process of event logs makes tables
(eventlog/event_spool.py). Who sends one again under the same Idempotency-Key, or events with the
same ids, is answered in the same way, and no row is in the log twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from oborona import state_files
from oborona.config import Settings
from oborona.config.worker import MIB
from oborona.doors.context import DoorContext
from oborona.doors.http.event_keys import EventKey
from oborona.doors.http.json_rows import JSON_LINES, RefusedRow, json_rows
from oborona.doors.http.keyed_request import (
    BodyRefused,
    ReadBody,
    body_of,
    path_pieces,
    repeat_key_of,
)
from oborona.doors.http.query import query_of
from oborona.doors.http.store_queue import StoreQueue
from oborona.doors.web import JSON, error_answer, json_answer
from oborona.errors import ConfigError, PeerError, StoreError
from oborona.eventlog.declared_log import DeclaredLog, read_logs
from oborona.eventlog.event_batch import EventBatch, check_batch
from oborona.eventlog.event_spool import EventSpool
from oborona.eventlog.schema import OWN_NAMES
from oborona.telemetry.log import event

EVENTS: Final = "events"
MAX_EVENTS: Final = MIB  # octets of a body: of "[1,1,…" comes 30 times as much
MOST_EVENTS: Final = 10_000  # of a body: 0.1 s of a thread

log = logging.getLogger("oborona.http")


class EventsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of events: how many are taken, and what was left out."""

    taken: int
    refused: tuple[RefusedRow, ...]


class EventsApi:
    """What a door takes of events.

    Args:
        at: what the worker has for the door.
        queue: that work on files waits in.
    """

    def __init__(self, at: DoorContext, queue: StoreQueue) -> None:
        self._queue = queue
        self._logs = _declared(at.settings) if at.settings.doors.http.events_keys_file else {}
        self._spool = EventSpool(
            at.state / state_files.EVENT_LOG_RECEIVED, at.settings.doors.http.events_spool_bytes
        )

    @staticmethod
    def serves(request: web.BaseRequest) -> bool:
        """Tell whether a path is served here."""
        return path_pieces(request)[0] == EVENTS

    async def answer(self, request: web.BaseRequest, key: EventKey, read: ReadBody) -> web.Response:
        """Answer a request.

        Args:
            request: whose path is served here.
            key: that it shows.
            read: returns its body.

        Raises:
            BodyRefused: its body is not taken.
        """
        _, *names = path_pieces(request)
        if len(names) != 1:
            return error_answer(404, "there is nothing here")
        declared = self._logs.get(names[0]) if names[0] in key.logs else None
        if declared is None:
            return error_answer(404, "there is no such event log")
        if request.method != "POST":
            return error_answer(405, "POST only", Allow="POST")
        try:
            query_of(request)
            repeat = repeat_key_of(request)
            body = await body_of(request, read, MAX_EVENTS, JSON, *JSON_LINES)
            lines = request.content_type != JSON
            batch = await self._queue.work(partial(self._take, declared, body, lines, key, repeat))
        except PeerError as error:
            return error_answer(400, str(error))
        except StoreError as error:
            event(log, logging.ERROR, "events can't be taken", log=names[0], error=error)
            return error_answer(503, "events can't be taken now", **{"Retry-After": "10"})
        if batch.refused:
            _tell(names[0], key, batch)
        refused = tuple(RefusedRow(line=line, reason=reason) for line, reason in batch.refused)
        return json_answer(200, EventsAnswer(taken=batch.rows, refused=refused))

    def _take(
        self, declared: DeclaredLog, body: bytes, lines: bool, key: EventKey, repeat: str | None
    ) -> EventBatch:
        """Write a batch down, in a thread: all that is right of it, or nothing.

        Raises:
            PeerError: nothing of it is right.
            BodyRefused: it has too many rows.
            StoreError: it can't be written.
        """
        rows = json_rows(body, lines=lines, most=MOST_EVENTS)
        if len(rows) > MOST_EVENTS:
            raise BodyRefused(error_answer(413, f"more than {MOST_EVENTS} events"))
        batch, name = check_batch(declared, rows), declared.schema.name
        if batch.refused and not batch.rows:
            line, reason = batch.refused[0]
            raise PeerError(f"none of {len(rows)} events can be used; line {line}: {reason}")
        if batch.rows:
            ident = "" if repeat is None else batch.ident(name, key.name, repeat)
            self._spool.put(name, ident, batch.octets, batch.rows, time.time())
        return batch


def _declared(settings: Settings) -> Mapping[str, DeclaredLog]:
    """Return the logs that are declared, by name; none where a declaration is wrong: mail comes by
    this process, too.
    """
    try:
        logs = read_logs(Path(settings.paths.event_logs), OWN_NAMES)
    except ConfigError as error:
        event(log, logging.ERROR, "no events are taken: a log is declared wrong", error=error)
        return {}
    return {one.schema.name: one for one in logs}


def _tell(name: str, key: EventKey, batch: EventBatch) -> None:
    line, reason = batch.refused[0]
    event(
        log,
        logging.WARNING,
        "events were refused",
        log=name,
        by=key.name,
        rows=len(batch.refused),
        line=line,
        why=reason,
    )
