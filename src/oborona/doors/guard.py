"""The crash barrier between a transport and its doors: a door that raises or hangs costs its own
answer and nothing else.

A session has deadlines and a barrier of its own, shorter than these; whatever is caught here is a
bug there. Known limits: a door that blocks the event loop stops every session of its worker, and no
barrier inside the loop can help.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from oborona.doors.handler import UnjudgedAnswerer
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import BUSY, ReplyAction, SessionReply, refusal_reply

NO_ANSWER: Final = refusal_reply(451, "4.3.0", "Service unavailable, try again later")
"""To a message whose door has not even words for that: what is not marked must not pass."""


def is_unanswered(reply: SessionReply) -> bool:
    """Tell whether a reply is that to a message whose door had no words for it."""
    return reply.enhanced == NO_ANSWER.enhanced


# under Postfix's milter_command_timeout of 30 s, so that our answer is still heard
GUARD_S: Final = 25.0

log = logging.getLogger("oborona.milter")


class HandlerGuard:
    """Asks doors, whatever they do.

    Args:
        on_failure: the answer when a door gives none before the message, CONTINUE or TEMPFAIL.
        guard_s: seconds that a door has for one answer.
    """

    __slots__ = ("_failure", "guard_s")

    def __init__(self, on_failure: ReplyAction, guard_s: float = GUARD_S) -> None:
        if on_failure not in (ReplyAction.CONTINUE, ReplyAction.TEMPFAIL):
            raise ValueError(f"a failure is answered with continue or tempfail, not {on_failure}")
        self._failure = SessionReply(answer=on_failure)
        self.guard_s = guard_s

    @property
    def failure(self) -> SessionReply:
        """The answer in place of one that a door owes."""
        return self._failure

    async def ask(self, question: Coroutine[Any, Any, SessionReply]) -> SessionReply:
        """Return the door's reply, or the configured one if it raises or is late.

        Only cancellation gets through.
        """
        return await self._ask_within(question) or self._failure

    async def judged(
        self,
        question: Coroutine[Any, Any, SessionReply],
        door: UnjudgedAnswerer,
        message: RawMessage,
    ) -> SessionReply:
        """Return the door's reply to a whole message.

        If it raises or is late, what it says of one that was not judged.

        Args:
            question: put to the door.
            door: that is asked.
            message: that it is asked about.

        Returns:
            Never a bare "go on": a message that passes bears our headers, and none that were
            written in our name.
        """
        reply = await self._ask_within(question)
        if reply is not None:
            return reply
        try:
            return door.unjudged(message)
        except Exception:
            log.exception("a session failed: %s", NO_ANSWER.text)
            return self.put_off(door, busy=False)

    @staticmethod
    def put_off(door: UnjudgedAnswerer, *, busy: bool) -> SessionReply:
        """Return what a door says to a message that is to come again; it never raises.

        Args:
            door: that knows whose message it is.
            busy: there is no room for it; else it has no other answer.
        """
        try:
            return door.put_off(busy=busy)
        except Exception:
            log.exception("a session failed")
            return BUSY if busy else NO_ANSWER

    async def _ask_within(self, question: Coroutine[Any, Any, SessionReply]) -> SessionReply | None:
        try:
            async with asyncio.timeout(self.guard_s) as deadline:
                return await question
        except TimeoutError:
            if deadline.expired():
                log.error("no answer of a session within %g s", self.guard_s)  # noqa: TRY400
            else:
                log.exception("a session failed")
        except Exception:
            log.exception("a session failed")
        return None

    @staticmethod
    def tell(notice: Callable[..., None], *args: object) -> None:
        """Call a door's method that has no answer; it never raises."""
        try:
            notice(*args)
        except Exception:
            log.exception("a session failed")
