"""The desk's process: one event loop for its door, a few threads for calls."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import uvloop

from oborona.config import Settings, UnixAddress
from oborona.daemon import sockets
from oborona.daemon.beside import BesideProcess
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.desk.call_runner import CallRunner
from oborona.desk.calls import CALLS
from oborona.desk.configured_site import SiteSource
from oborona.desk.digest.links import DigestLinks
from oborona.desk.digest.postman import DigestPostman
from oborona.desk.followed_site import FollowedSite
from oborona.desk.openapi import describe_calls
from oborona.desk.server import DeskServer
from oborona.desk.sign_in import SignIn
from oborona.doors.rest import REST_S, needed
from oborona.heartbeat import beat_forever
from oborona.telemetry.log import event

GRACE_S: Final = 5.0  # for calls that have begun when we are told to stop

log = logging.getLogger("oborona.desk")


def desk_process(source: SiteSource, settings: Settings, state: Path) -> BesideProcess:
    """Return the desk as a process among the daemon's.

    Raises:
        ConfigError: as of `ConsoleSettings.desk_path`.
    """
    path = settings.console.desk_path(state)

    def listen(listening: ExitStack) -> tuple[socket.socket, ...]:
        console = settings.console
        opened = sockets.listen(
            UnixAddress(str(path)),
            owner=console.socket_owner,
            group=console.socket_group,
            mode=console.mode,
        )
        listening.callback(sockets.close_and_unlink, opened)
        return (opened,)

    def run(opened: tuple[socket.socket, ...], ready: Callable[[], None]) -> int:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_desk(source, opened[0], ready))
        return os.EX_OK

    return BesideProcess("desk", ProcessKind.DESK, listen, run)


async def serve_desk(source: SiteSource, sock: socket.socket, ready: Callable[[], None]) -> None:
    """Be the desk until SIGTERM, or until nobody has asked for long.

    Args:
        source: of the site's settings.
        sock: listens already.
        ready: called once it serves.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it sees of itself what changes
    site = FollowedSite(source, lambda text: event(log, logging.WARNING, text))
    server = desk_server(site)
    await server.start(sock)
    heart = asyncio.create_task(beat_forever())
    postman = begin_digests(site)
    ready()
    # who sends digests has a clock to follow
    await needed(server, stop, REST_S if postman is None else None)
    if postman is not None:
        postman.stop()
    await server.drain(GRACE_S)
    heart.cancel()
    await asyncio.gather(heart, return_exceptions=True)


def begin_digests(site: FollowedSite) -> DigestPostman | None:
    """Send the digests of a site from now on, on a thread; None = it sends none."""
    console = site.loaded.settings.console
    if console.digest == "off":
        return None
    if not console.url:
        site.notice("console.url is not set, so that links lead nowhere: no digest is sent")
        return None
    postman = DigestPostman(site)
    # one that is on its way when the desk ends is in its book as begun
    threading.Thread(target=postman.run, name="digests", daemon=True).start()
    return postman


def desk_server(site: FollowedSite) -> DeskServer:
    """Return the door of a site's desk, not started."""
    sign_in, runner = SignIn(site), CallRunner(site)
    return DeskServer(
        runner,
        sign_in.caller_of,
        calls=CALLS,
        open_calls={**sign_in.open_calls, **DigestLinks(site, runner).open_calls},
        description=describe_calls(CALLS),
    )
