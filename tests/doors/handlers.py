"""A door for tests and benchmarks of what carries sessions."""

from __future__ import annotations

from collections.abc import Mapping

from oborona.doors.gather import Gathered
from oborona.doors.reply import CONTINUE, Reply
from oborona.types import Client, Stage


class Nod:
    """Has nothing against anybody, and wants to see no content; made to be told more."""

    waits = frozenset(Stage)

    def learn(self, macros: Mapping[str, str]) -> None:
        pass

    async def connect(self, client: Client) -> Reply:
        return CONTINUE

    async def helo(self, name: str) -> Reply:
        return CONTINUE

    async def mail(self, sender: str, params: tuple[str, ...]) -> Reply:
        return CONTINUE

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> Reply:
        return CONTINUE

    async def end_of_message(self, message: Gathered) -> Reply:
        raise AssertionError("no content is sent")

    def unjudged(self, message: Gathered) -> Reply:
        raise AssertionError("no content is sent")

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass
