"""One message through the proxy, from MAIL to the answer behind its content.

    MAIL: session, next hop      RCPT: next hop, session      content: session, then all of it to
                                 the next hop

A sender whom the session refuses is nothing to the next hop.  A recipient is asked of the next hop
first, as a mail server asks its milter about those alone whom it would take: nobody is counted who
is no mailbox.  Whom the session refuses then, or takes out in the end, is no recipient of what is
handed on: the transaction is said anew without him, before the content.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from oborona.config import ProxySettings
from oborona.doors.arguments import peer_text
from oborona.doors.guard import is_unanswered
from oborona.doors.proxy import replies
from oborona.doors.proxy.content import edited_message, read_header, session_message
from oborona.doors.proxy.next_hop import NextHopConnection, NextHopLost
from oborona.doors.proxy.offers import next_hop_command
from oborona.doors.proxy.session import ProxySession, TransactionClient
from oborona.doors.reply import ReplyAction, SessionReply, is_busy, refused_hold
from oborona.doors.smtp.paths import SmtpPath
from oborona.doors.smtp.replies import SmtpReply, own_reply
from oborona.doors.smtp.spooled_message import SpooledMessage
from oborona.telemetry.log import event
from oborona.types import Client

UNOFFERED: Final = own_reply(555, "5.5.4", "A parameter that was not offered")

log = logging.getLogger("oborona.proxy")


class AcceptedRecipient(NamedTuple):
    """One that was taken."""

    name: str  # as the session was told it
    said: bytes  # RCPT, as the next hop was


class ProxyTransaction:
    """One message.

    Args:
        link: to the next hop.
        asked: judges.
        settings: of the door.
        limit_bytes: what is scanned of a message.
        note: counts what became of it.
    """

    def __init__(
        self,
        link: NextHopConnection,
        session: ProxySession,
        settings: ProxySettings,
        limit_bytes: int,
        note: Callable[[str], None],
    ) -> None:
        self._link = link
        self._asked = session
        self._settings = settings
        self._limit_bytes = limit_bytes
        self._note = note
        self._speaker = TransactionClient(client=Client())
        self._sender = ""
        self._begins: tuple[bytes, ...] = ()  # what the next hop was told before the recipients
        self._again = False  # it was told of more recipients than there are
        self.recipients: list[AcceptedRecipient] = []

    async def begin(
        self, named: SmtpPath, speaker: TransactionClient, forward: bytes | None
    ) -> SmtpReply:
        """Name the sender; the transaction has begun if the answer is good.

        Args:
            named: by MAIL.
            speaker: whose message it is.
            forward: XFORWARD for the next hop.

        Raises:
            Lost: the next hop is.
        """
        command = next_hop_command(b"MAIL", b"FROM:", named, self._link.offers)
        if command is None:
            return UNOFFERED
        self._speaker, self._sender = speaker, peer_text(named.address)
        refused = await self._asked.mail(speaker, self._sender, _parameters(named))
        if refused is not None:
            self._note("refused")
            return refused
        self._begins = (command,) if forward is None else (forward, command)
        answer = await self._say(self._begins)
        if not answer.good:
            self._asked.abort()
        return answer

    async def add(self, named: SmtpPath) -> SmtpReply:
        """Name a recipient.

        Raises:
            Lost: the next hop is.
        """
        command = next_hop_command(b"RCPT", b"TO:", named, self._link.offers)
        if command is None:
            return UNOFFERED
        if len(self.recipients) >= self._settings.max_recipients:
            return replies.TOO_MANY
        answer = await self._link.ask(command)
        if not answer.good:
            return answer
        name = peer_text(named.address)
        refused = await self._asked.rcpt(name, _parameters(named))
        if refused is not None:
            self._again = True
            self._note("refused")
            return refused
        self.recipients.append(AcceptedRecipient(name, command))
        return answer

    async def finish(self, message: SpooledMessage) -> list[SmtpReply]:
        """Have the message judged and hand it on.

        Return the last words, one for each recipient by LMTP, one by SMTP.

        Args:
            message: whole.
        """
        beginning = read_header(message)
        if beginning is None:
            self.abandon()
            return self._all(replies.HEADER)
        reply = refused_hold(
            await self._asked.message(session_message(message, beginning, self._limit_bytes))
        )
        refused = replies.refusal_of(reply)
        removed = frozenset(reply.removed)
        left = [recipient for recipient in self.recipients if recipient.name not in removed]
        if refused is not None:
            self._link.stale = True
            self._note(_outcome(reply))
            return self._all(refused)
        if reply.answer is ReplyAction.DISCARD or not left:
            self._link.stale = True
            self._note("discarded")
            return self._all(replies.TAKEN)
        try:
            failed = await self._repeat_for(left) if self._again or removed else None
        except NextHopLost:
            failed = replies.LATER
        lmtp = self._settings.protocol == "lmtp"
        if failed is not None:
            self._link.stale = True
            answers = [failed] * (len(left) if lmtp else 1)
        else:
            answers = await self._link.message(
                edited_message(message, beginning, reply.edits), len(left) if lmtp else 1
            )
        self._tell(message, answers)
        if not lmtp:
            return answers
        next_replies = iter(answers)
        return [
            replies.TAKEN if recipient.name in removed else next(next_replies)
            for recipient in self.recipients
        ]

    def abandon(self) -> None:
        """There is no message: forget what was said of it."""
        self._link.stale = True
        self._asked.abort()

    async def _repeat_for(self, left: list[AcceptedRecipient]) -> SmtpReply | None:
        """Say the transaction anew for those who are left; return what speaks against it.

        Raises:
            Lost: the next hop is.
        """
        self._link.stale = True
        answer = await self._say(self._begins)
        if not answer.good:
            return answer
        for recipient in left:
            answer = await self._link.ask(recipient.said)
            if not answer.good:  # a moment ago he was welcome
                return answer if answer.code < 500 else replies.LATER
        return None

    async def _say(self, commands: tuple[bytes, ...]) -> SmtpReply:
        """Say commands of which the last one counts.

        Who does not hear of the client takes his mail all the same.
        """
        for command in commands:
            answer = await self._link.ask(command)
        return answer

    def _all(self, answer: SmtpReply) -> list[SmtpReply]:
        return [answer] * (len(self.recipients) if self._settings.protocol == "lmtp" else 1)

    def _tell(self, message: SpooledMessage, answers: list[SmtpReply]) -> None:
        """Count and log what the next hop said."""
        passed = any(answer.good for answer in answers)
        self._note("passed" if passed else "lost" if self._link.trouble else "denied")
        event(
            log,
            logging.INFO,
            "passed" if passed else "not passed",
            queue=self._speaker.queue_id,
            client=self._speaker.client.ip,
            sender=self._sender,
            recipients=len(self.recipients),
            recipient=self.recipients[0].name,
            answer=answers[0].text,
            size=message.size,
        )


def _outcome(reply: SessionReply) -> str:
    """Return in a word why a message goes no further."""
    if is_busy(reply):
        return "busy"
    return "failed" if is_unanswered(reply) else "refused"


def _parameters(named: SmtpPath) -> tuple[str, ...]:
    return tuple(
        f"{name}={peer_text(value)}" if value else name for name, value in named.parameters.items()
    )
