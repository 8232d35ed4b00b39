"""The proxy on the event loop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from oborona.authentication.iprev import check_iprev
from oborona.config import ProxySettings
from oborona.dns import DnsAsker
from oborona.doors.acceptor import Acceptor
from oborona.doors.client_key import client_key, is_in_networks
from oborona.doors.context import DoorContext, failure_reply, guard_s
from oborona.doors.guard import HandlerGuard
from oborona.doors.handler import ConnectionHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.proxy import replies
from oborona.doors.proxy.certificate import TlsCertificate
from oborona.doors.proxy.commands import ProxyConnection
from oborona.doors.reply import SessionReply
from oborona.doors.smtp.connection import SmtpHooks
from oborona.doors.turned_away import busy_words, without_reference
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
        turned_away: what somebody is told who comes when the door is full, by address.

    Raises:
        OSError: the certificate can't be read.
    """

    def __init__(
        self,
        settings: ProxySettings,
        sessions: ConnectionHandlerFactory,
        guard: HandlerGuard,
        asker: Callable[[], DnsAsker],
        *,
        name: str,
        spool: Path,
        limit_bytes: int,
        room: MemoryBudget,
        note: Callable[[str], None],
        turned_away: Callable[[str], SessionReply] = without_reference,
    ) -> None:
        super().__init__(
            idle_s=settings.idle_s,
            max_sessions=settings.max_connections,
            log=log,
            max_per_client=settings.max_per_client,
            busy=busy_words(turned_away, replies.busy_wire),
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
        self.hooks = SmtpHooks(log)
        self.trusted = networks(settings.trusted)
        self.certificate = (
            TlsCertificate(settings.certificate, settings.key) if settings.certificate else None
        )

    async def named(self, client: Client) -> Client:
        """Return a client with the name that his address leads to, and that leads back, if there is
        one.
        """
        try:
            iprev = await check_iprev(client.ip, self._asker())
        except Exception:  # the crash barrier: a client without a name is a client
            log.exception("fault in looking up the name of a client")
            return client
        return msgspec.structs.replace(client, name=iprev.name)

    def _limited(self, peer: socket.socket) -> str:
        """Return whose connections are counted: not those of mail servers that speak for others."""
        return "" if is_in_networks(peer, self.trusted) else client_key(peer)

    def _connection(self) -> ProxyConnection:
        return ProxyConnection(self)


def check_openable(settings: ProxySettings) -> None:
    """Find out whether the door can be opened.

    Raises:
        ConfigError: it leads to itself, or the certificate can't be read.
    """
    if settings.hop == settings.address:
        raise ConfigError(f"doors.proxy.next_hop = {settings.next_hop} is the proxy itself")
    try:
        if settings.certificate:
            TlsCertificate(settings.certificate, settings.key)
    except OSError as error:
        raise ConfigError(f"doors.proxy.certificate = {settings.certificate}: {error}") from error


async def start(at: DoorContext, listener: socket.socket) -> ProxyServer:
    """Open the door; drain it in the end.

    Args:
        at: what the worker has for it.
        listener: the socket; it stays the caller's.
    """
    work = at.settings.worker
    server = ProxyServer(
        at.settings.doors.proxy,
        at.sessions,
        HandlerGuard(failure_reply(work), guard_s(work)),
        at.asker,
        name=at.name,
        spool=at.state,
        limit_bytes=work.max_message_bytes,
        room=at.room,
        note=at.note,
        turned_away=at.turned_away,
    )
    await server.start(listener)
    return server
