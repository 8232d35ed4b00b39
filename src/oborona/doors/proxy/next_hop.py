"""The proxy's connection to the next hop, of one client: every wait has an end, and whatever breaks
is one thing: it is lost.

A transaction that was refused by us is taken back (RSET) when the next command comes, not before:
most clients say QUIT then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from oborona.config import ProxySettings
from oborona.doors.proxy import replies
from oborona.doors.smtp.client import GOING, MailServerClient
from oborona.doors.smtp.dot_stuffing import stuff_dots
from oborona.doors.smtp.replies import SmtpReply
from oborona.errors import PeerError
from oborona.telemetry.log import event

RESETS: Final = (b"RSET", b"QUIT")  # what needs none before it

log = logging.getLogger("oborona.proxy")


class NextHopLost(Exception):  # noqa: N818 - reads as what happened
    """The next hop is not there any more, or what it says makes no sense."""


class NextHopConnection:
    """One connection.

    Args:
        settings: where it leads, and how long anything may take.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._hop: MailServerClient | None = None
        self._asking = False  # an answer is owed, or a message is half out
        self.stale = False  # a transaction is open that nobody wants
        self.trouble = ""  # why it was lost

    @property
    def offers(self) -> Mapping[str, bytes]:
        """What the next hop offers, since its last EHLO."""
        return self._hop.offers if self._hop is not None else {}

    async def open(self) -> SmtpReply:
        """Connect; return the greeting.

        Raises:
            Lost: nobody there, or nobody who speaks SMTP.
        """
        async with self._within(self._settings.connect_s, "connect"):
            self._hop = await MailServerClient.connect(self._settings.hop)
        async with self._within(self._settings.command_s, "greeting"):
            return self._checked_reply(await self._live().answer())

    async def hello(self, verb: bytes, name: bytes) -> SmtpReply:
        """Say EHLO, LHLO or HELO; `offers` are new then.

        Raises:
            Lost: no answer.
        """
        async with self._within(self._settings.command_s, verb.decode()):
            hop = self._live()
            if verb == b"HELO":
                hop.offers = {}
            answer = self._checked_reply(await hop.hello(verb, name))
        if answer.good:
            self.stale = False  # it takes back whatever was open
        return answer

    async def ask(self, command: bytes, *, turn: bool = False) -> SmtpReply:
        """Say a command; return the answer.

        Args:
            command: without its end, no control character in it.
            turn: whether 334, "your turn", is an answer to it.

        Raises:
            Lost: no answer.
        """
        async with self._within(self._settings.command_s, command[:4].decode("ascii", "replace")):
            hop = self._live()
            if self.stale:
                self.stale = False
                if command not in RESETS and not (reset := await hop.ask(b"RSET")).good:
                    if reset.code == GOING:
                        return reset
                    # what we refused may be open still
                    raise PeerError(f"RSET answered with {reset.text!r}")
            return self._checked_reply(await hop.ask(command), turn=turn)

    async def message(self, content: Iterable[bytes], answers: int) -> list[SmtpReply]:
        """Hand a message on, behind a MAIL and RCPTs that were taken; return the last words on it.

        Guaranteed: so many as were asked for; those that the next hop did not say are 451.

        Args:
            content: of which all line feeds stand behind carriage returns.
            answers: 1, or by LMTP the number of recipients.
        """
        hop_replies: list[SmtpReply] = []
        try:
            async with self._within(self._settings.deadline_s, "message"):
                hop = self._live()
                ready = await hop.ask(b"DATA")
                if ready.code != 354:
                    _refusal(ready)
                    self.stale = True
                    return [self._checked_reply(ready)] * answers
                for piece in stuff_dots(content):
                    await hop.write(piece)
                while len(hop_replies) < answers:
                    hop_replies.append(self._checked_reply(await hop.answer()))
        except NextHopLost:
            return [*hop_replies, *[replies.LATER] * (answers - len(hop_replies))]
        return hop_replies

    def end(self) -> None:
        """Let it go: with a word where it waits for one, without where it waits for anything
        else.
        """
        hop, self._hop = self._hop, None
        if hop is None:
            return
        if self._asking:
            hop.cut()
        else:
            hop.leave()

    def _live(self) -> MailServerClient:
        if self._hop is None:
            raise NextHopLost(self.trouble)
        return self._hop

    def _checked_reply(self, answer: SmtpReply, *, turn: bool = False) -> SmtpReply:
        """Return an answer that may be passed on."""
        if not answer.decides and not (turn and answer.code == 334):
            raise PeerError(f"answered with {answer.text!r}")
        return answer

    @asynccontextmanager
    async def _within(self, seconds: float, doing: str) -> AsyncIterator[None]:
        self._asking = True
        try:
            async with asyncio.timeout(seconds):
                yield
        except (OSError, PeerError) as error:
            self.trouble = str(error) or (
                "no answer" if isinstance(error, TimeoutError) else "it hung up"
            )
            event(log, logging.WARNING, "next hop is lost", doing=doing, why=self.trouble)
            self.end()
            raise NextHopLost(self.trouble) from error
        except BaseException:
            self.end()  # an answer may still come, and would be taken for that to the next command
            raise
        self._asking = False


def _refusal(answer: SmtpReply) -> None:
    """Hold that an answer which does not let us go on refuses: 4xx or 5xx.

    Raises:
        PeerError: it does neither.
    """
    if answer.code < 400:
        raise PeerError(f"DATA answered with {answer.text!r}")
