"""The seam between transports and sessions: what a session gives to whatever carries it.

A transport (native, libmilter) makes one `ConnectionHandler` per connection by its factory, tells
it what the mail server said, and carries its replies back. A door knows no transport; a transport
knows no policy. Whether a door raises or never returns, the transport lives on and answers by its
own setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import SessionReply
from oborona.types import Client, Envelope, Stage


class UnjudgedAnswerer(Protocol):
    """Answers for a message without judging it; at once, it asks nobody."""

    def unjudged(self, message: RawMessage) -> SessionReply:
        """Return the answer to a message that was given none: it was late, or that raised."""
        ...

    def put_off(self, *, busy: bool) -> SessionReply:
        """Return the answer to a message that is to come again, in the place of `unjudged`.

        Args:
            busy: there is no room for it; else it has no other answer.
        """
        ...


class ConnectionHandler(UnjudgedAnswerer, Protocol):
    """One connection of a mail server, from its first word to its last.

    The transport calls one method at a time and waits for it, `abort` and `close` apart: they may
    come at any moment, and a call that still runs is cancelled before either.
    """

    @property
    def waits(self) -> frozenset[Stage]:
        """Stages whose replies the mail server must wait for; read once, before the first call.

        The others are still told (in order), their replies are dropped. The end of a message always
        waits.
        """
        ...

    def refuse_holds(self) -> None:
        """The mail server has no place for what is held: such a message is refused.

        Told once, before the first call, or never.
        """
        ...

    def learn(self, macros: Mapping[str, str]) -> None:
        """Take what the mail server says of itself, without braces: i, client_addr, auth_authen,
        ...
        """
        ...

    async def connect(self, client: Client) -> SessionReply:
        """A client connected; ACCEPT, REJECT and TEMPFAIL hold for the whole connection."""
        ...

    async def helo(self, name: str) -> SessionReply:
        """The client named itself; may come again. Waits with `Stage.SENDER`."""
        ...

    async def mail(self, sender: str, params: tuple[str, ...]) -> SessionReply:
        """A message begins.

        Args:
            sender: without <>, empty = bounce.
            params: ESMTP parameters as written, such as SIZE=1000.
        """
        ...

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> SessionReply:
        """One recipient; REJECT and TEMPFAIL refuse this one alone."""
        ...

    async def end_of_message(self, message: RawMessage) -> SessionReply:
        """The message is whole; the reply decides it and carries the header edits."""
        ...

    async def unseen(self, recipients: int, size: int) -> SessionReply:
        """The message is whole, in the place of `end_of_message` where nobody shows its content.

        Args:
            recipients: that the mail server has taken, told by `rcpt` or not.
            size: octets.
        """
        ...

    def abort(self) -> None:
        """The message at hand ends without a verdict: RSET, all recipients refused, or the client
        is gone.
        """
        ...

    def close(self) -> None:
        """The connection is over; called exactly once, last."""
        ...


class OneShotHandler(UnjudgedAnswerer, Protocol):
    """What answers a protocol without connections of its own: each question tells all that is
    known.
    """

    async def glance(
        self,
        stage: Stage,
        envelope: Envelope,
        port: str,
        *,
        after: Stage | None = None,
        reached: Stage | None = None,
    ) -> SessionReply:
        """All that is known at a stage, told at once: by a protocol that knows no connections.

        Args:
            stage: connect, sender or recipient.
            envelope: as far as it is known, its recipient the last one; `own` and `traps` are the
                door's to find out.
            port: of ours, where the client came in; empty = unknown.
            after: the stage that was asked about before; None: none was.
            reached: how far SMTP has come, where that is beyond the stage.
        """
        ...

    async def whole(self, envelope: Envelope, message: RawMessage, port: str) -> SessionReply:
        """A message with all that is known of it.

        No stage before the content is judged by itself.
        """
        ...

    def close(self) -> None:
        """Nothing more is asked; called exactly once, last."""
        ...


class SessionHandler(ConnectionHandler, OneShotHandler, Protocol):
    """A session: it can be asked both ways, of one client in one of them."""


ConnectionHandlerFactory = Callable[[], ConnectionHandler]
OneShotHandlerFactory = Callable[[], OneShotHandler]
SessionHandlerFactory = Callable[[], SessionHandler]
