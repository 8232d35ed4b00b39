"""The requests of one policy connection, as one SMTP session for a door: connect, HELO, MAIL, RCPT,
each told once.

A request carries all that Postfix knows at its moment, and one SMTP session is asked about many
times over: for each recipient, and again for each list of restrictions that names us.  A
conversation tells its door what is new in a request, in the order of SMTP (connect, HELO, MAIL,
RCPT), and repeats the door's answer for what is not: a client refused once is looked up, counted
and logged once, however many recipients it tries.

At the end of a message a door is told of it where it wants to hear of that (`ends`), by what
Postfix counts: recipients and octets.

One SMTP session is remembered, the latest: an smtpd process of Postfix serves one client at a time
and asks over its own connection.  Requests are of one SMTP session where address and port of the
client are the same, of one message where `instance` is; at MAIL and before, `instance` is empty,
and the message takes the first one that comes.

Known limits: a recipient named twice in a row is one.  Recipients that Postfix refuses after our
answer count as recipients of the message.  A client without port and instance is a new one with
each request.

Source: SMTPD_POLICY_README, the notes on attributes; states and instances as Postfix 3.7 sends
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from oborona.doors import arguments
from oborona.doors.guard import HandlerGuard
from oborona.doors.handler import ConnectionHandler, ConnectionHandlerFactory
from oborona.doors.reply import CONTINUE, ReplyAction, SessionReply
from oborona.types import Client, Stage

MAX_DIGITS: Final = 15  # of a size
_ENTRANCES: Final = frozenset({"CONNECT", "XCLIENT"})  # a client that was not there before
_STAGES: Final = {  # how far SMTP has come in a state; in one that is not here nothing is asked
    "CONNECT": Stage.CONNECT,
    "XCLIENT": Stage.CONNECT,
    "EHLO": Stage.CONNECT,
    "HELO": Stage.CONNECT,
    "VRFY": Stage.CONNECT,  # no message: who may not connect may not ask
    "ETRN": Stage.CONNECT,
    "MAIL": Stage.SENDER,
    "RCPT": Stage.RECIPIENT,
    "DATA": Stage.CONTENT,
    "BDAT": Stage.CONTENT,
    "END-OF-MESSAGE": Stage.CONTENT,
}
_END: Final = "END-OF-MESSAGE"
_NOBODY: Final = ("", "", "", "")
_NEEDS_QUOTES: Final = re.compile(r'[\x00-\x20\x7f"(),:;<>@\[\\\]]')


class PolicyConversation:
    """The SMTP session behind one policy connection.

    Args:
        handler_factory: makes a door for each SMTP session.
        ends: the door is told that a message is whole; else what is asked then is nothing new.
    """

    def __init__(self, handler_factory: ConnectionHandlerFactory, *, ends: bool = False) -> None:
        self._factory = handler_factory
        self._ends = ends
        self._door: ConnectionHandler | None = None
        self._whose = _NOBODY  # of the session: client address, name, port, our port
        self._instance = ""  # of the message; empty = it has none yet
        self._helo = ""
        self._sender: str | None = None  # None = no message
        self._recipient: str | None = None  # the last one; None = none yet
        self._at_connect = self._at_helo = self._at_mail = self._at_rcpt = CONTINUE
        self._at_end: SessionReply | None = None  # to the message; None = it was not whole yet

    async def ask(self, request: Mapping[str, str]) -> SessionReply:
        """Return the first refusal on the way to the request's state, CONTINUE if there is none.

        Args:
            request: attributes, as the codec gives them.

        Raises:
            PeerError: the client's address is none.
        """
        query = _PolicyRequest(request)
        if query.stage is None:
            return CONTINUE
        door = self._door
        if door is None or self._is_another(query):
            door = await self._connect(query)
        if self._at_connect.answer is not ReplyAction.CONTINUE:
            return self._at_connect
        if query.helo and query.helo != self._helo:
            self._helo = query.helo
            self._at_helo = await door.helo(query.helo)
        if self._at_helo.answer is not ReplyAction.CONTINUE or query.stage is Stage.CONNECT:
            return self._at_helo
        if self._is_another_message(query):
            await self._mail(door, query)
        # at MAIL an old Postfix still names the message before
        self._instance = "" if query.stage is Stage.SENDER else query.instance
        if self._at_mail.answer is not ReplyAction.CONTINUE or query.stage is Stage.SENDER:
            return self._at_mail
        reply = await self._rcpt(door, query)
        if not (self._ends and query.whole) or reply.answer is not ReplyAction.CONTINUE:
            return reply
        if self._at_end is None:
            if query.queue_id:
                door.learn({"i": query.queue_id})
            self._at_end = await door.unseen(query.recipients, query.size)
        return self._at_end

    def close(self) -> None:
        """The policy connection is over."""
        if self._door is not None:
            HandlerGuard.tell(self._door.close)
            self._door = None

    def _is_another(self, query: _PolicyRequest) -> bool:
        if query.enters or query.whose != self._whose:
            return True
        return not query.port and (not query.instance or query.instance != self._instance)

    def _is_another_message(self, query: _PolicyRequest) -> bool:
        if query.stage is Stage.SENDER or self._sender is None or query.sender != self._sender:
            return True
        return bool(self._instance) and query.instance != self._instance

    async def _connect(self, query: _PolicyRequest) -> ConnectionHandler:
        client = query.client()
        self.close()
        self._door = door = self._factory()
        self._whose, self._instance, self._helo, self._sender = query.whose, "", "", None
        self._at_helo = CONTINUE
        door.learn(query.of_client())
        self._at_connect = await door.connect(client)
        return door

    async def _mail(self, door: ConnectionHandler, query: _PolicyRequest) -> None:
        self._sender, self._recipient, self._at_end = query.sender, None, None
        door.learn(query.of_login())
        self._at_mail = await door.mail(query.sender, ())

    async def _rcpt(self, door: ConnectionHandler, query: _PolicyRequest) -> SessionReply:
        """Ask about a recipient that is new.

        After RCPT there is none, unless RCPT is no stage where we are asked.
        """
        if query.stage is Stage.CONTENT and (self._recipient is not None or not query.recipient):
            return CONTINUE
        if query.recipient != self._recipient:
            self._recipient = query.recipient
            if query.queue_id:
                door.learn({"i": query.queue_id})
            self._at_rcpt = await door.rcpt(query.recipient, ())
            # the message is not to be asked about any more
            if self._at_rcpt.answer is ReplyAction.ACCEPT:
                self._at_mail = self._at_rcpt
        return self._at_rcpt


class _PolicyRequest:
    """A request under our own names."""

    def __init__(self, request: Mapping[str, str]) -> None:
        get = request.get
        state = get("protocol_state", "")
        self.stage = _STAGES.get(state)
        self.enters = state in _ENTRANCES
        self.port = _port(get("client_port", ""))
        self.whose = (
            get("client_address", ""),
            get("client_name", ""),
            get("client_port", ""),
            get("server_port", ""),
        )
        self.instance = get("instance", "")
        self.helo = get("helo_name", "")
        self.sender = _quoted(get("sender", ""))
        self.recipient = _quoted(get("recipient", ""))
        self.queue_id = get("queue_id", "")
        self.whole = state == _END
        self.recipients = _number(get("recipient_count", ""))
        self.size = _number(get("size", ""))
        self._request = request

    def client(self) -> Client:
        """Return the SMTP client; Postfix calls "unknown" what it does not know.

        Raises:
            PeerError: its address is none.
        """
        address, name, _, _ = self.whose
        client = arguments.client_at_connect(
            name, "" if address == "unknown" else address, self.port
        )
        return Client(
            ip=client.ip,
            name=client.name,
            port=client.port,
            login=self._request.get("sasl_username", ""),
        )

    def of_client(self) -> dict[str, str]:
        """Return what a milter would be told of the client, under the macros' names."""
        address, name, _, our_port = self.whose
        reverse = self._request.get("reverse_client_name", "")
        macros = {
            "client_addr": address,
            "client_name": name,
            "client_ptr": reverse,
            "daemon_port": our_port,
        }
        return {macro: value for macro, value in macros.items() if value}

    def of_login(self) -> dict[str, str]:
        """The same of who logged in; empty values, for a login ends with the session alone."""
        return {
            "auth_type": self._request.get("sasl_method", ""),
            "auth_authen": self._request.get("sasl_username", ""),
        }


def _port(text: str) -> int:
    port = _number(text)
    return port if port <= 65_535 else 0


def _number(text: str) -> int:
    """Return a number; 0 for what is none, or no Postfix would count to."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0


def _quoted(address: str) -> str:
    """Return an address as SMTP writes it, and milters hear it.

    The policy protocol has none of its quotes and backslashes.

    Source: RFC 5321 section 4.1.2.
    """
    local, at, domain = address.rpartition("@")
    if not at:
        local, domain = domain, ""
    if not _NEEDS_QUOTES.search(local):
        return address
    escaped = local.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"{at}{domain}'
