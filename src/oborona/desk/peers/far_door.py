"""The desk's door for home desks of other machines: TLS on a port, off unless the settings name it.

    POST /v1/NAME     a voucher, a line feed, and what the call is told

Who shows no certificate that the settings know gets no further than the handshake.  Only calls
about what this machine alone has are answered (`oborona.call_places`); of people, policy and lists
each machine's own console is asked.  A call that is not known is 501, with the version here.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from oborona import __version__
from oborona.call_places import is_for_others
from oborona.desk.call import Call
from oborona.desk.call_runner import CallRunner
from oborona.desk.call_threads import ACT_S, ASK_S, CallThreads
from oborona.desk.peers.identity import certificate_mark
from oborona.desk.peers.relay import SEPARATOR
from oborona.desk.peers.voucher import LONGEST, VoucherBook
from oborona.desk.server import MAX_BODY, PREFIX
from oborona.doors.web import HttpLimits, WebServer, error_answer, read_body

CONNECTIONS: Final = 64
UNKNOWN: Final = 501

log = logging.getLogger("oborona.desk")


class FarDoor(WebServer):
    """Serves calls of other machines' people on one listening socket.

    Args:
        runner: runs them.
        vouchers: say whose they are.
        calls: by name.
        threads: that calls run on, those of the other door.
        tls: takes the certificates of home desks alone.
        allowed: networks that may connect; empty: all.
        limits: of a connection.
    """

    def __init__(
        self,
        runner: CallRunner,
        vouchers: VoucherBook,
        *,
        calls: Mapping[str, Call],
        threads: CallThreads,
        tls: ssl.SSLContext,
        allowed: str = "",
        limits: HttpLimits = HttpLimits(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(
            limits=limits,
            tokens=None,
            max_connections=CONNECTIONS,
            log=log,
            note=lambda word: threads.counted.update((word,)),
            allowed=allowed,
            tls=tls,
        )
        self._runner = runner
        self._vouchers = vouchers
        self._calls = calls
        self._threads = threads

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        name = path.removeprefix(PREFIX)
        call = self._calls.get(name) if path.startswith(PREFIX) and is_for_others(name) else None
        if call is None:
            return error_answer(
                UNKNOWN, f"version {__version__} answers no {name[:80]!a} to others"
            )
        if request.method != "POST":
            return error_answer(405, "POST", Allow="POST")
        shown = _mark(request)
        came = await read_body(request, MAX_BODY + LONGEST, self.limits.read_s)
        if isinstance(came, web.Response):
            return came
        voucher, _, body = came.partition(SEPARATOR)
        known = call

        def run() -> bytes:
            caller = self._vouchers.caller_of(voucher[:LONGEST], shown, name, body, time.time())
            return self._runner.run(known, caller, body)

        return await self._threads.run(name, ACT_S if call.acts else ASK_S, run)


def _mark(request: web.BaseRequest) -> str:
    """Return the mark of the certificate that the other side has shown."""
    transport = request.transport
    tls = None if transport is None else transport.get_extra_info("ssl_object")
    shown = None if tls is None else tls.getpeercert(binary_form=True)
    return certificate_mark(shown) if shown else ""
