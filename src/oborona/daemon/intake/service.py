"""The intake process: all doors for feedback in one event loop, and one sink to the log of events.

The sockets are opened by the parent, so that clients that connect while the process restarts wait
for it, within their own deadlines.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import uvloop

from oborona import secret, state_files
from oborona.config import Address, Settings, UnixAddress
from oborona.config import IntakeSettings as Asked
from oborona.daemon import sockets
from oborona.daemon.intake.event_sink import EventSink
from oborona.daemon.intake.mail_door import start_mail
from oborona.daemon.intake.sieve_door import SieveServer
from oborona.daemon.intake.sieve_spool import SieveSpool
from oborona.doors.tokens import AccessTokens
from oborona.errors import ConfigError
from oborona.feedback.events.event_writer import EventWriter
from oborona.heartbeat import beat_forever
from oborona.metrics import REGISTRY, Gauge
from oborona.telemetry import status
from oborona.telemetry.status_writer import write_periodically

GRACE_S: Final = 5.0  # for requests that have begun when we are told to stop
UP: Final = Gauge("oborona_intake_up", "1 while the intake runs.", ())

log = logging.getLogger("oborona.intake")


def listen(settings: Asked, listening: ExitStack) -> dict[str, socket.socket]:
    """Return the listening sockets of the doors that are open, by the setting that opens them.

    Args:
        settings: [intake].
        listening: closes them, and takes their files away.

    Raises:
        ConfigError: a port that anyone on the network may speak on, or tokens that can't be used.
        SocketError: one can't be opened.
    """
    _tokens(settings)
    addresses: dict[str, Address] = {}
    if settings.listen:
        addresses["listen"] = settings.address
    if settings.http_listen:
        addresses["http_listen"] = settings.http_address
    if settings.mail_listen:
        addresses["mail_listen"] = settings.mail_address
    opened = {}
    for name, address in addresses.items():
        opened[name] = sockets.listen(
            address, owner=settings.socket_owner, group=settings.socket_group, mode=settings.mode
        )
        listening.callback(sockets.close_and_unlink, opened[name])
    return opened


def serve(
    settings: Settings,
    state: Path,
    listeners: Mapping[str, socket.socket],
    ready: Callable[[], None],
) -> int:
    """Be the intake until SIGTERM; return the exit status."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, state, listeners, ready))
    return os.EX_OK


async def _serve(
    settings: Settings,
    state: Path,
    listeners: Mapping[str, socket.socket],
    ready: Callable[[], None],
) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it reads no policy
    UP.set(1)
    async with EventWriter(state / state_files.EVENTS) as taking, AsyncExitStack() as doors:
        sink = EventSink(taking, settings.intake.deadline_s)
        doors.push_async_callback(sink.close)
        await _open(settings, state, secret.load(state), sink, listeners, doors)
        chores = [
            asyncio.create_task(beat_forever()),
            asyncio.create_task(write_periodically(state, partial(_intake_status, sink), log)),
        ]
        ready()
        await stop.wait()
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
    status.remove_process(state, status.IntakeStatus)


async def _open(
    settings: Settings,
    state: Path,
    keys: secret.SiteKeys,
    sink: EventSink,
    listeners: Mapping[str, socket.socket],
    doors: AsyncExitStack,
) -> None:
    """Open each door; `doors` closes them."""
    intake = settings.intake
    if "listen" in listeners:
        sieve = SieveServer(
            sink,
            key=keys.signature,
            template=intake.person,
            max_connections=intake.max_connections,
            allowed=intake.allowed,
        )
        await sieve.start(listeners["listen"])
        doors.push_async_callback(sieve.drain, GRACE_S)
    if "http_listen" in listeners:
        from oborona.daemon.intake.http_door import FeedbackHttpServer  # noqa: PLC0415 - 10 MB, in this process alone

        http = FeedbackHttpServer(
            sink,
            key=keys.signature,
            tokens=_tokens(intake),
            max_message_bytes=intake.max_message_bytes,
            max_connections=intake.max_connections,
            allowed=intake.allowed,
        )
        await http.start(listeners["http_listen"])
        doors.push_async_callback(http.drain, GRACE_S)
    if "mail_listen" in listeners:
        mail = await start_mail(settings, state, keys, sink, listeners["mail_listen"])
        doors.push_async_callback(mail.drain, GRACE_S)
    if intake.spool:
        spool = SieveSpool(Path(intake.spool), sink, key=keys.signature, template=intake.person)
        doors.push_async_callback(_end, asyncio.create_task(spool.follow()))


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _tokens(settings: Asked) -> AccessTokens | None:
    """Return who may use POST /feedback, None where reaching the socket is enough.

    Raises:
        ConfigError: it can't be told.
    """
    if not settings.http_listen:
        return None
    if settings.http_token_file:
        return AccessTokens(Path(settings.http_token_file))
    if isinstance(settings.http_address, UnixAddress):
        return None
    # every user of this machine reaches its ports, and none of them speaks for the others
    raise ConfigError("intake.http_listen is a port, and has no tokens; set intake.http_token_file")


def _intake_status(sink: EventSink) -> status.IntakeStatus:
    """Return what the intake has to say of itself."""
    return status.IntakeStatus(
        pid=os.getpid(),
        time=time.time(),
        metrics=REGISTRY.snapshot(),
        trouble=sink.trouble,
    )
