"""GET /metrics: what `oborona metrics` prints, over HTTP.

    200   Prometheus' text format, or OpenMetrics for who accepts it
    401   no token, or none of ours      404, 405   another path, another method
    503   what processes say can't be read now, or too many connections

Files are read alone, and at most once a second, whoever asks.  The rest is as of
`oborona.doors.web`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPEN_CONTENT_TYPE
from prometheus_client.openmetrics.exposition import generate_latest as generate_open

from oborona.daemon.metric_collection import collect_metrics
from oborona.doors.tokens import AccessTokens
from oborona.doors.web import (
    SERVER,
    HttpLimits,
    WebServer,
    bearer_token,
    busy_answer,
    error_answer,
)
from oborona.errors import StoreError

PATH: Final = "/metrics"
OPEN_METRICS: Final = "application/openmetrics-text"
MOST_CONNECTIONS: Final = 16  # a Prometheus has one, a pair of them two
FRESH_S: Final = 1.0  # what was gathered is told again so long: who asks oftener costs no more
READ_S: Final = 10.0  # as long as a Prometheus waits
IDLE_S: Final = 120.0  # twice the interval of scrapes that is usual

log = logging.getLogger("oborona.metrics")


class MetricsServer(WebServer):
    """Serves GET /metrics on one listening socket.

    Args:
        state: folder whose metrics are told.
        tokens: who may ask; None: whoever reaches the socket.
        allowed: networks whose clients may connect; empty: all.
        limits: of a connection.
        max_connections: at once; further ones are told to come again.
    """

    def __init__(
        self,
        state: Path,
        *,
        tokens: AccessTokens | None,
        allowed: str = "",
        limits: HttpLimits = HttpLimits(read_s=READ_S, idle_s=IDLE_S),  # noqa: B008 - frozen
        max_connections: int = MOST_CONNECTIONS,
    ) -> None:
        super().__init__(
            limits=limits,
            tokens=tokens,
            max_connections=max_connections,
            log=log,
            note=lambda _outcome: None,
            busy=lambda _peer: busy_answer(),
            allowed=allowed,
        )
        self._state = state
        self._gathering = asyncio.Lock()
        self._texts: dict[bool, bytes] = {}  # by whether it is OpenMetrics, of the last time
        self._registry: CollectorRegistry | None = None
        self._gathered_at = float("-inf")  # monotonic

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != PATH:
            return error_answer(404, "there is nothing here but /metrics")
        if request.method not in ("GET", "HEAD"):
            return error_answer(405, "GET only", Allow="GET, HEAD")
        if self._accepted_token(bearer_token(request)) is None:
            return error_answer(
                401, "no token, or none that is known here", **{"WWW-Authenticate": "Bearer"}
            )
        as_open = accepts_open_metrics(request.headers.getall("Accept", []))
        try:
            text = await self._text(as_open=as_open)
        except StoreError as error:
            log.warning("nothing can be told: %s", error)
            return error_answer(503, "what processes say can't be read: the log has it")
        kind = OPEN_CONTENT_TYPE if as_open else CONTENT_TYPE_LATEST
        return web.Response(body=text, headers={"Content-Type": kind, "Server": SERVER})

    async def _text(self, *, as_open: bool) -> bytes:
        """Return the metrics of now, or of less than a second ago.

        Raises:
            StoreError: they can't be read.
        """
        async with self._gathering:
            if time.monotonic() - self._gathered_at >= FRESH_S:
                self._texts.clear()
                self._registry = await asyncio.to_thread(collect_metrics, self._state, time.time())
                self._gathered_at = time.monotonic()
            registry = self._registry
            if as_open not in self._texts and registry is not None:
                write = generate_open if as_open else generate_latest
                self._texts[as_open] = await asyncio.to_thread(write, registry)
            return self._texts[as_open]


def accepts_open_metrics(accept: list[str]) -> bool:
    """Tell whether a client takes OpenMetrics; whatever else it sends, it gets text.

    Args:
        accept: its fields of that name.  Source: RFC 9110, section 12.5.1.
    """
    for one in ",".join(accept).split(","):
        kind, *parameters = (part.strip().lower() for part in one.split(";"))
        refused = any(part.replace(" ", "") in _REFUSED for part in parameters)
        if kind == OPEN_METRICS and not refused:
            return True
    return False


_REFUSED: Final = {"q=0", "q=0.0", "q=0.00", "q=0.000"}
