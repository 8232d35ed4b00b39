"""The process of GET /metrics.

A process of its own: who scrapes, slowly or in a thousand connections, costs no mail any time.  It
connects nowhere.  The socket is opened by the parent, so that who comes while the process restarts
waits for it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import uvloop

from oborona.config.metrics import MetricsSettings
from oborona.daemon import sockets
from oborona.doors.tokens import AccessTokens
from oborona.heartbeat import beat_forever

GRACE_S: Final = 2.0  # for answers that are under way when we are told to stop


def listen(settings: MetricsSettings, listening: ExitStack) -> socket.socket:
    """Return the listening socket.

    Args:
        settings: [metrics]; `listen` is set.
        listening: closes it, and takes its file away.

    Raises:
        ConfigError: tokens that can't be used.
        SocketError: it can't be opened.
    """
    _tokens(settings)
    opened = sockets.listen(
        settings.address,
        owner=settings.socket_owner,
        group=settings.socket_group,
        mode=settings.mode,
    )
    listening.callback(sockets.close_and_unlink, opened)
    return opened


def serve(
    settings: MetricsSettings, state: Path, listener: socket.socket, ready: Callable[[], None]
) -> int:
    """Serve until SIGTERM; return the exit status."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, state, listener, ready))
    return os.EX_OK


async def _serve(
    settings: MetricsSettings, state: Path, listener: socket.socket, ready: Callable[[], None]
) -> None:
    from oborona.daemon.metrics_server import MetricsServer  # noqa: PLC0415 - 10 MB, in this process alone

    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it reads no policy
    alive = asyncio.create_task(beat_forever())
    server = MetricsServer(state, tokens=_tokens(settings), allowed=settings.allowed)
    await server.start(listener)
    ready()
    await stop.wait()
    await server.drain(GRACE_S)
    alive.cancel()


def _tokens(settings: MetricsSettings) -> AccessTokens | None:
    return AccessTokens(Path(settings.token_file)) if settings.token_file else None
