"""The desk's process: one event loop for its doors, a few threads for calls."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvloop

from oborona.config import Settings, UnixAddress
from oborona.daemon import sockets
from oborona.daemon.beside import BesideProcess
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.daemon.confinement.priority import step_back
from oborona.desk.call_runner import CallRunner
from oborona.desk.calls import CALLS
from oborona.desk.configured_site import SiteSource
from oborona.desk.digest.links import DigestLinks
from oborona.desk.digest.postman import DigestPostman
from oborona.desk.followed_site import FollowedSite
from oborona.desk.low_priority import NICENESS
from oborona.desk.openapi import describe_calls
from oborona.desk.senders.sender_desk import SenderDesk
from oborona.desk.server import DeskServer
from oborona.desk.sign_in import SignIn
from oborona.desk.site import Site
from oborona.doors.rest import REST_S, needed
from oborona.doors.web import WebServer
from oborona.errors import OboronaError
from oborona.heartbeat import beat_forever
from oborona.telemetry.log import event

if TYPE_CHECKING:
    from oborona.desk.peers.machines import MachineTrust

GRACE_S: Final = 5.0  # for calls that have begun when we are told to stop

log = logging.getLogger("oborona.desk")


def desk_process(source: SiteSource, settings: Settings, state: Path) -> BesideProcess:
    """Return the desk as a process among the daemon's.

    Raises:
        ConfigError: as of `ConsoleSettings.desk_path` and `far_address`.
    """
    path = settings.console.desk_path(state)
    far = settings.console.far_address

    def listen(listening: ExitStack) -> tuple[socket.socket, ...]:
        console = settings.console
        if far is not None or console.desks:  # what is wrong with either stops the start
            open_trust(Site(source, lambda _text: None)).check()
        opened = sockets.listen(
            UnixAddress(str(path)),
            owner=console.socket_owner,
            group=console.socket_group,
            mode=console.mode,
        )
        listening.callback(sockets.close_and_unlink, opened)
        if far is None:
            return (opened,)
        port = sockets.listen(far)
        listening.callback(sockets.close_and_unlink, port)
        return (opened, port)

    def run(opened: tuple[socket.socket, ...], ready: Callable[[], None]) -> int:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_desk(source, opened, ready))
        return os.EX_OK

    return BesideProcess("desk", ProcessKind.DESK, listen, run, gives_way=True)


async def serve_desk(
    source: SiteSource, opened: tuple[socket.socket, ...], ready: Callable[[], None]
) -> None:
    """Be the desk until SIGTERM, or until nobody has asked for long.

    Args:
        source: of the site's settings.
        opened: listen already: the socket file, and the port for other machines, if there is one.
        ready: called once it serves.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it sees of itself what changes
    site = FollowedSite(source, lambda text: event(log, logging.WARNING, text))
    doors = desk_doors(site)
    for door, sock in zip(doors, opened, strict=False):
        await door.start(sock)
    heart = asyncio.create_task(beat_forever())
    postman = begin_digests(site)
    ready()
    threading.Thread(target=read_early, args=(site,), name="early", daemon=True).start()
    # who sends digests has a clock to follow; what other machines ask must not wait for a start
    rests = postman is None and len(doors) == 1
    await needed(doors[0], stop, REST_S if rests else None)
    if postman is not None:
        postman.stop()
    await asyncio.gather(*(door.drain(GRACE_S) for door in doors))
    heart.cancel()
    await asyncio.gather(heart, return_exceptions=True)


def read_early(site: FollowedSite) -> None:
    """Read what the page of a message takes before somebody asks for one, who would wait for it."""
    step_back(NICENESS)
    with suppress(OboronaError, OSError):  # who asks is told
        site.policy()
        site.signatures()
        site.pins()
        site.final()


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
    return _desk_server(site, None)


def desk_doors(site: FollowedSite) -> list[WebServer]:
    """Return the doors of a site's desk, not started: the second one is for other machines, where
    the settings name a port for it.

    Raises:
        ConfigError: another machine can't be trusted as the settings say.
    """
    console = site.loaded.settings.console
    if not console.desks and not console.desk_listen:
        return [desk_server(site)]
    trust = open_trust(site)
    server = _desk_server(site, trust)
    door = trust.far_door(server.runner, server.threads)
    return [server] if door is None else [server, door]


def open_trust(site: Site) -> MachineTrust:
    """Return who trusts whom among several machines.

    Raises:
        ConfigError: what the settings name can't be used.
        StoreError: this desk's own key can't be read or made.
    """
    # one machine alone needs neither certificates nor what asks others
    from oborona.desk.peers.machines import MachineTrust  # noqa: PLC0415

    return MachineTrust(site)


def _desk_server(site: FollowedSite, trust: MachineTrust | None) -> DeskServer:
    sign_in, runner = SignIn(site), CallRunner(site)
    return DeskServer(
        runner,
        sign_in.caller_of,
        calls=CALLS,
        open_calls={
            **sign_in.open_calls,
            **DigestLinks(site, runner).open_calls,
            **SenderDesk(site, runner).open_calls,
        },
        description=describe_calls(CALLS),
        relay=None if trust is None else trust.relay(),
    )
