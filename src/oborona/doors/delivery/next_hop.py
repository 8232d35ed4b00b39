"""The next hop, as its LMTP client: one connection for one message, with a transaction for each of
its copies.

    greeting → LHLO → (MAIL, RCPT… → DATA → content → an answer for each recipient)… → QUIT

MAIL and RCPT go out together where the next hop offers PIPELINING; DATA waits for their answers, so
that nothing is sent to nobody.  Answers are handed over as they come: whatever breaks after that,
they stand.

Source: RFC 2033; RFC 2920 (pipelining); RFC 1870 (SIZE), RFC 6152 (8BITMIME), RFC 6531 (SMTPUTF8):
told where they are offered.  A next hop without 8BITMIME gets eight bits all the same, as mail
servers do; one without SMTPUTF8 gets no message that needs it, by RFC 6531 section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Self

import msgspec

from oborona.config import Address
from oborona.doors.smtp.client import MailServerClient
from oborona.doors.smtp.dot_stuffing import stuff_dots
from oborona.doors.smtp.replies import SmtpReply, own_reply
from oborona.errors import PeerError

NO_UTF8: Final = own_reply(553, "5.6.7", "Mailbox host takes no addresses or headers in UTF-8")

Answered = Callable[[int, SmtpReply], None]
"""Takes the place of a recipient in its transaction, and the last word on it."""


class LmtpEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """Of a message, as the mail server gave it."""

    sender: bytes  # between the angle brackets
    eight_bit: bool = False  # BODY=8BITMIME
    utf8: bool = False  # SMTPUTF8


class LmtpNextHop(MailServerClient):
    """One connection.

    Use `await LmtpNextHop.open(...)`; leave it by `leave`, or by `cut` where it is in trouble.
    Every wait is the caller's to bound.
    """

    @classmethod
    async def open(cls, address: Address, name: str) -> Self:
        """Connect and greet.

        Args:
            address: of the next hop.
            name: ours.

        Raises:
            OSError: nobody there, or he hung up.
            PeerError: it does not want us, or speaks no LMTP.
        """
        hop = await cls.connect(address)
        try:
            await hop.greet(name)
        except BaseException:
            hop.cut()
            raise
        return hop

    async def greet(self, name: str) -> None:
        """Hear its greeting, and say who we are.

        Raises:
            OSError: it hung up.
            PeerError: it does not want us, or speaks no LMTP.
        """
        greeting = await self.answer()
        if greeting.code != 220:
            raise PeerError(f"greeted with {greeting.text!r}")
        hello = await self.hello(b"LHLO", name.encode("ascii", "replace"))
        if hello.code != 250:
            raise PeerError(f"LHLO answered with {hello.text!r}")

    async def transaction(
        self,
        envelope: LmtpEnvelope,
        recipients: Sequence[bytes],
        content: Iterable[bytes],
        size: int,
        answered: Answered,
    ) -> None:
        """Hand one copy over.

        Guaranteed: `answered` is called at most once for each recipient, and for all of them unless
        this raises; a recipient whose mailbox has the message is answered 2xx, and nobody else.

        Args:
            envelope: of the message.
            recipients: at least one.
            content: of the copy, whose line feeds all stand behind carriage returns.
            size: bytes of it.
            answered: takes each last word.

        Raises:
            OSError: the connection broke.
            PeerError: it answers what is no answer here.
        """
        if envelope.utf8 and "SMTPUTF8" not in self.offers:
            for place in range(len(recipients)):
                answered(place, NO_UTF8)
            return
        accepted = await self._address(envelope, recipients, size, answered)
        if not accepted:
            await self._reset()
            return
        self.say(b"DATA")
        reply = await self.answer()
        if reply.code != 354:
            _refusal(reply, "DATA")
            for place in accepted:
                answered(place, reply)
            await self._reset()
            return
        for piece in stuff_dots(content):
            await self.write(piece)
        for place in accepted:
            reply = await self.answer()
            if not reply.decides:
                raise PeerError(f"a message answered with {reply.text!r}")
            answered(place, reply)

    async def _address(
        self, envelope: LmtpEnvelope, recipients: Sequence[bytes], size: int, answered: Answered
    ) -> list[int]:
        """Say from whom and to whom; return the places of those that were accepted."""
        commands = [
            self._mail(envelope, size),
            *(b"RCPT TO:<%s>" % recipient for recipient in recipients),
        ]
        together = "PIPELINING" in self.offers
        if together:
            self.say(*commands)
        accepted: list[int] = []
        mail: SmtpReply | None = None
        for number, command in enumerate(commands):
            if not together:
                self.say(command)
            reply = await self.answer()
            if mail is None:
                mail = reply
                if not mail.good:
                    _refusal(mail, "MAIL")
                    for place in range(len(recipients)):
                        answered(place, mail)
                    if not together:
                        break
            elif not mail.good:
                continue  # what it says of recipients without a sender
            elif reply.good:
                accepted.append(number - 1)
            else:
                _refusal(reply, "RCPT")
                answered(number - 1, reply)
        return accepted

    def _mail(self, envelope: LmtpEnvelope, size: int) -> bytes:
        words = [b"MAIL FROM:<%s>" % envelope.sender]
        if "SIZE" in self.offers:
            words.append(b"SIZE=%d" % size)
        if envelope.eight_bit and "8BITMIME" in self.offers:
            words.append(b"BODY=8BITMIME")
        if envelope.utf8:
            words.append(b"SMTPUTF8")
        return b" ".join(words)

    async def _reset(self) -> None:
        self.say(b"RSET")
        reply = await self.answer()
        if not reply.good:
            raise PeerError(f"RSET answered with {reply.text!r}")


def _refusal(reply: SmtpReply, command: str) -> None:
    """Hold that an answer which does not let us go on refuses: 4xx or 5xx.

    Raises:
        PeerError: it does neither.
    """
    if reply.code < 400:
        raise PeerError(f"{command} answered with {reply.text!r}")
