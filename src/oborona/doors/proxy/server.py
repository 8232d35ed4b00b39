"""The proxy on the event loop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from oborona.authentication.iprev import check_iprev
from oborona.config import Proxy
from oborona.dns import Asker
from oborona.doors.acceptor import Acceptor
from oborona.doors.client_key import whose, within
from oborona.doors.context import Premises, failure, guard_s
from oborona.doors.guard import Guard
from oborona.doors.handler import DoorFactory
from oborona.doors.proxy import words
from oborona.doors.proxy.certificate import Certificate
from oborona.doors.proxy.passing import Passing
from oborona.doors.room import Room
from oborona.doors.smtp.serving import Hooks
from oborona.errors import ConfigError
from oborona.reputation.networks import networks
from oborona.types import Client

log = logging.getLogger("oborona.proxy")


class ProxyServer(Acceptor):
    """Serves SMTP or LMTP connections of one listening socket.

    Args:
        settings: of the door.
        sessions: makes the session of each connection.
        guard: asks it.
        asker: of the DNS, for the name of a client.
        name: ours.
        spool: folder for messages that do not stay in memory.
        limit_bytes: what is scanned of a message.
        room: for all messages that come in or are judged.
        note: counts what became of a message or a connection.

    Raises:
        OSError: the certificate can't be read.
    """

    def __init__(
        self,
        settings: Proxy,
        sessions: DoorFactory,
        guard: Guard,
        asker: Callable[[], Asker],
        *,
        name: str,
        spool: Path,
        limit_bytes: int,
        room: Room,
        note: Callable[[str], None],
    ) -> None:
        super().__init__(
            idle_s=settings.idle_s,
            max_sessions=settings.max_connections,
            log=log,
            max_per_client=settings.max_per_client,
            busy=words.BUSY.wire,
            note=note,
            allowed=settings.allowed,
        )
        self.settings = settings
        self.session = sessions
        self.guard = guard
        self._asker = asker
        self.name = name
        self.spool = spool
        self.limit_bytes = limit_bytes
        self.room = room
        self.note = note
        self.log = log
        self.hooks = Hooks(log)
        self.trusted = networks(settings.trusted)
        self.certificate = (
            Certificate(settings.certificate, settings.key) if settings.certificate else None
        )

    async def named(self, client: Client) -> Client:
        """Return a client with the name that his address leads to, and that leads back, if there is
        one.
        """
        try:
            found = await check_iprev(client.ip, self._asker())
        except Exception:  # the crash barrier: a client without a name is a client
            log.exception("fault in looking up the name of a client")
            return client
        return msgspec.structs.replace(client, name=found.name)

    def _limited(self, peer: socket.socket) -> str:
        """Return whose connections are counted: not those of mail servers that speak for others."""
        return "" if within(peer, self.trusted) else whose(peer)

    def _connection(self) -> Passing:
        return Passing(self)


def check(settings: Proxy) -> None:
    """Find out whether the door can be opened.

    Raises:
        ConfigError: it leads to itself, or the certificate can't be read.
    """
    if settings.hop == settings.address:
        raise ConfigError(f"doors.proxy.next_hop = {settings.next_hop} is the proxy itself")
    try:
        if settings.certificate:
            Certificate(settings.certificate, settings.key)
    except OSError as error:
        raise ConfigError(f"doors.proxy.certificate = {settings.certificate}: {error}") from error


async def start(at: Premises, listener: socket.socket) -> ProxyServer:
    """Open the door; drain it in the end.

    Args:
        at: what the worker has for it.
        listener: the socket; it stays the caller's.
    """
    work = at.settings.worker
    server = ProxyServer(
        at.settings.doors.proxy,
        at.sessions,
        Guard(failure(work), guard_s(work)),
        at.asker,
        name=at.name,
        spool=at.state,
        limit_bytes=work.max_message_bytes,
        room=at.room,
        note=at.note,
    )
    await server.start(listener)
    return server
