"""A session, asked as a milter would ask it, in the order of SMTP.

It hears of a client anew when somebody else is spoken for.
"""

from __future__ import annotations

import msgspec

from oborona.doors.gather import Gathered
from oborona.doors.guard import Guard
from oborona.doors.handler import Door
from oborona.doors.proxy import words
from oborona.doors.reply import Reply
from oborona.doors.smtp.answers import Answer
from oborona.types import Client


class Speaker(msgspec.Struct, frozen=True, kw_only=True):
    """Whose message it is, as far as that is known before the message."""

    client: Client
    helo: str = ""
    queue_id: str = ""


class Asked:
    """The session of one connection.

    Args:
        door: the session.
        guard: asks it, whatever it does.
        port: of ours, where the client came in; empty = a socket file.
    """

    def __init__(self, door: Door, guard: Guard, port: str) -> None:
        self._door = door
        self._guard = guard
        self._port = port
        self._client: Client | None = None  # it was told of
        self._helo = ""
        self._refused: Answer | None = None  # that client

    async def connect(self, client: Client) -> Answer | None:
        """Tell who is there, unless that was told; return why he is refused."""
        if client == self._client:
            return self._refused
        self._client, self._helo = client, ""
        self._guard.tell(self._door.learn, {"daemon_port": self._port})
        self._refused = words.refusal(await self._guard.ask(self._door.connect(client)))
        return self._refused

    def logged_in(self, login: str) -> None:
        """Tell that the client, who is told of, has logged in."""
        if self._client is not None:
            self._client = msgspec.structs.replace(self._client, login=login)
            self._guard.tell(self._door.learn, {"auth_authen": login})

    async def mail(
        self, speaker: Speaker, sender: str, parameters: tuple[str, ...]
    ) -> Answer | None:
        """Begin a message; return why it is refused."""
        refused = await self.connect(speaker.client)
        if refused is not None:
            return refused
        if speaker.helo != self._helo:
            self._helo = speaker.helo
            refused = words.refusal(await self._guard.ask(self._door.helo(speaker.helo)))
            if refused is not None:
                self._helo = ""  # who comes again is told again
                return refused
        if speaker.queue_id:
            self._guard.tell(self._door.learn, {"i": speaker.queue_id})
        return words.refusal(await self._guard.ask(self._door.mail(sender, parameters)))

    async def rcpt(self, recipient: str, parameters: tuple[str, ...]) -> Answer | None:
        """Name a recipient; return why he is refused."""
        return words.refusal(await self._guard.ask(self._door.rcpt(recipient, parameters)))

    async def message(self, message: Gathered) -> Reply:
        """Return what becomes of the message."""
        return await self._guard.judged(self._door.end_of_message(message), self._door, message)

    def abort(self) -> None:
        """The message at hand is none."""
        self._guard.tell(self._door.abort)

    def close(self) -> None:
        """The connection is over."""
        self._guard.tell(self._door.close)
