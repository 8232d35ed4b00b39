"""The console's process: one event loop, one server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvloop

from oborona.config import Settings
from oborona.console.desk_client import DeskClient
from oborona.console.lasting_parts import LastingParts
from oborona.console.server import ConsoleServer
from oborona.doors.rest import REST_S, needed
from oborona.heartbeat import beat_forever

GRACE_S: Final = 5.0  # for requests that have begun when we are told to stop


def serve_console(
    settings: Settings,
    parts: LastingParts,
    sock: socket.socket,
    desk_path: Path,
    ready: Callable[[], None],
) -> int:
    """Serve pages until SIGTERM, or until nobody has looked for long; return the exit status.

    Args:
        settings: of the site.
        parts: the same in every life of the process.
        sock: it listens, and stays the caller's.
        desk_path: the desk's socket file.
        ready: called once pages are served.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, parts, sock, desk_path, ready))
    return os.EX_OK


async def _serve(
    settings: Settings,
    parts: LastingParts,
    sock: socket.socket,
    desk_path: Path,
    ready: Callable[[], None],
) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it reads no policy
    desk = DeskClient(desk_path)
    console = settings.console
    server = ConsoleServer(
        desk,
        parts=parts,
        proxies=console.trusted_proxies,
        allowed=console.allowed,
        remote_user=bool(console.proxy_secret_file),
        node=settings.site.name,
        others=tuple(console.other_desks),
    )
    await server.start(sock)
    beating = asyncio.create_task(beat_forever())
    try:
        ready()
        await needed(server, stop, REST_S)
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await server.drain(GRACE_S)
        await desk.close()
