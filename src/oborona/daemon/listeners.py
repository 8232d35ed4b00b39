"""The doors of a worker as the settings open them: where each listens, and what serves it.

Each door is one line in `OPEN`: its name in the settings, what starts it in a worker's loop, and
whether messages come by it.  The delivery door, which judges nothing, is not among them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from oborona.config import DoorSettings, Settings
from oborona.doors.context import (
    DoorContext,
    DoorServer,
    StartDoor,
    failure_reply,
    guard_s,
    several_stages_guard_s,
)
from oborona.doors.exim.server import start as exim
from oborona.doors.http.access_keys import access_keys as http_keys
from oborona.doors.http.account_keys import account_keys
from oborona.doors.http.event_keys import event_keys
from oborona.doors.policy_service.server import PolicyServiceServer
from oborona.doors.proxy.server import check_openable as check_proxy
from oborona.doors.proxy.server import start as proxy
from oborona.doors.spamd.server import start as spamd
from oborona.metrics import Counter
from oborona.milter.libmilter import LibmilterServer
from oborona.milter.native import NativeServer

DOOR: Final = Counter(
    "oborona_door",
    "Requests and connections of a listener by outcome: answered; busy: temporary failure; "
    "crowded: too many connections of one client; foreign: of no network that is allowed;"
    " broken, timeout, unauthorized, too-large, failed: no answer of a scan. Of the policy "
    "service, crowded and foreign alone; of the milter, busy besides.",
    ("door", "outcome"),
)
NONE_OPEN: Final = (
    "no listener is set, so that no mail can come: set `listen` of [doors.milter] or of "
    "another listener"
)


class DoorListener(NamedTuple):
    """A listening socket and what serves it."""

    listener: socket.socket  # this process's copy; closed when draining has begun
    name: str  # of the door, in settings and metrics
    start: StartDoor  # in the loop
    content: bool = True  # messages come by it, not their envelopes alone


async def _milter(at: DoorContext, listener: socket.socket) -> DoorServer:
    door, work = at.settings.doors.milter, at.settings.worker
    native = partial(NativeServer, max_per_client=door.max_per_client, allowed=door.allowed)
    transport: Callable[..., LibmilterServer | NativeServer]
    transport = LibmilterServer if door.transport == "libmilter" else native
    server = transport(
        at.sessions,
        limit_bytes=work.max_message_bytes,
        idle_s=door.idle_s,
        max_sessions=door.max_connections,
        on_failure=failure_reply(work),
        guard_s=guard_s(work),
        room=at.room,
        note=at.note,
    )
    await server.start(listener)
    return server


async def _policy_service(at: DoorContext, listener: socket.socket) -> DoorServer:
    door = at.settings.doors.policy_service
    server = PolicyServiceServer(
        at.sessions,
        idle_s=door.idle_s,
        max_connections=door.max_connections,
        guard_s=several_stages_guard_s(at.settings.worker),
        max_per_client=door.max_per_client,
        note=at.note,
        allowed=door.allowed,
        ends=door.limits,
    )
    await server.start(listener)
    return server


async def _http(at: DoorContext, listener: socket.socket) -> DoorServer:
    from oborona.doors.http.server import start  # noqa: PLC0415 - 6 MB, where the door is open

    return await start(at, listener)


OPEN: Final[tuple[tuple[str, StartDoor, bool], ...]] = (
    ("milter", _milter, True),
    ("policy_service", _policy_service, False),
    # of a session that is asked once, nothing may be asked ahead: it is over with its answer
    ("exim", exim, False),
    ("http", _http, False),
    ("proxy", proxy, True),
    ("spamd", spamd, True),
)


def open_doors(settings: Settings) -> Iterator[tuple[str, DoorSettings]]:
    """Yield the doors that are open, with their names."""
    for name, _, _ in OPEN:
        door: DoorSettings = getattr(settings.doors, name)
        if door.listen:
            yield name, door


def takes_mail(settings: Settings) -> bool:
    """Tell whether mail can come by any door, be it the delivery door."""
    return bool(settings.doors.delivery.listen) or any(True for _ in open_doors(settings))


def listen_doors(
    settings: Settings, listen: Callable[[DoorSettings], socket.socket]
) -> list[DoorListener]:
    """Open the sockets of the doors, in the order of their names above.

    Args:
        settings: all of them.
        listen: opens one.

    Raises:
        ConfigError: the keys of the HTTP door can't be read, or the proxy leads nowhere.
        SocketError: one can't be opened.
    """
    if settings.doors.http.listen:
        http_keys(settings.doors.http)
        account_keys(settings.doors.http)
        event_keys(settings)
    if settings.doors.proxy.listen:
        check_proxy(settings.doors.proxy)
    return [
        DoorListener(listen(getattr(settings.doors, name)), name, start, content)
        for name, start, content in OPEN
        if getattr(settings.doors, name).listen
    ]
