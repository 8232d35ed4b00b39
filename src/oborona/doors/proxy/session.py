"""A session, asked as a milter would ask it, in the order of SMTP.

It hears of a client anew when somebody else is spoken for.
"""

from __future__ import annotations

import msgspec

from oborona.doors.guard import HandlerGuard
from oborona.doors.handler import ConnectionHandler
from oborona.doors.proxy import replies
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import SessionReply
from oborona.doors.smtp.replies import SmtpReply
from oborona.types import Client


class TransactionClient(msgspec.Struct, frozen=True, kw_only=True):
    """Whose message it is, as far as that is known before the message."""

    client: Client
    helo: str = ""
    queue_id: str = ""


class ProxySession:
    """The session of one connection.

    Args:
        door: the session.
        guard: asks it, whatever it does.
        port: of ours, where the client came in; empty = a socket file.
    """

    def __init__(self, door: ConnectionHandler, guard: HandlerGuard, port: str) -> None:
        self._door = door
        self._guard = guard
        self._port = port
        self._client: Client | None = None  # it was told of
        self._helo = ""
        self._refused: SmtpReply | None = None  # that client
        guard.tell(door.refuse_holds)  # what is handed on by SMTP can't be held there

    async def connect(self, client: Client) -> SmtpReply | None:
        """Tell who is there, unless that was told; return why he is refused."""
        if client == self._client:
            return self._refused
        self._client, self._helo = client, ""
        self._guard.tell(self._door.learn, {"daemon_port": self._port})
        self._refused = replies.refusal_of(await self._guard.ask(self._door.connect(client)))
        return self._refused

    def logged_in(self, login: str) -> None:
        """Tell that the client, who is told of, has logged in."""
        if self._client is not None:
            self._client = msgspec.structs.replace(self._client, login=login)
            self._guard.tell(self._door.learn, {"auth_authen": login})

    async def mail(
        self, speaker: TransactionClient, sender: str, parameters: tuple[str, ...]
    ) -> SmtpReply | None:
        """Begin a message; return why it is refused."""
        refused = await self.connect(speaker.client)
        if refused is not None:
            return refused
        if speaker.helo != self._helo:
            self._helo = speaker.helo
            refused = replies.refusal_of(await self._guard.ask(self._door.helo(speaker.helo)))
            if refused is not None:
                self._helo = ""  # who comes again is told again
                return refused
        if speaker.queue_id:
            self._guard.tell(self._door.learn, {"i": speaker.queue_id})
        return replies.refusal_of(await self._guard.ask(self._door.mail(sender, parameters)))

    async def rcpt(self, recipient: str, parameters: tuple[str, ...]) -> SmtpReply | None:
        """Name a recipient; return why he is refused."""
        return replies.refusal_of(await self._guard.ask(self._door.rcpt(recipient, parameters)))

    async def message(self, message: RawMessage) -> SessionReply:
        """Return what becomes of the message."""
        return await self._guard.judged(self._door.end_of_message(message), self._door, message)

    def abort(self) -> None:
        """The message at hand is none."""
        self._guard.tell(self._door.abort)

    def close(self) -> None:
        """The connection is over."""
        self._guard.tell(self._door.close)
