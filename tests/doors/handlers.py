"""A door for tests and benchmarks of what carries sessions."""

from __future__ import annotations

from collections.abc import Mapping

from oborona.doors.guard import NO_ANSWER
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import BUSY, CONTINUE, SessionReply
from oborona.types import Client, Stage


class Nod:
    """Has nothing against anybody, and wants to see no content; made to be told more."""

    waits = frozenset(Stage)

    def refuse_holds(self) -> None:
        pass

    def learn(self, macros: Mapping[str, str]) -> None:
        pass

    async def connect(self, client: Client) -> SessionReply:
        return CONTINUE

    async def helo(self, name: str) -> SessionReply:
        return CONTINUE

    async def mail(self, sender: str, params: tuple[str, ...]) -> SessionReply:
        return CONTINUE

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> SessionReply:
        return CONTINUE

    async def end_of_message(self, message: RawMessage) -> SessionReply:
        raise AssertionError("no content is sent")

    async def unseen(self, recipients: int, size: int) -> SessionReply:
        raise AssertionError("the content is shown")

    def unjudged(self, message: RawMessage) -> SessionReply:
        raise AssertionError("no content is sent")

    def put_off(self, *, busy: bool) -> SessionReply:
        return BUSY if busy else NO_ANSWER

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass
