"""A request of accounts, once it is known who makes it and that he may."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web

from oborona.accounts.store.answers import GivenAnswer, RepeatKey
from oborona.doors.http.account_keys import AccountKey
from oborona.doors.http.store_queue import StoreQueue
from oborona.doors.web import JSON, SERVER, error_answer
from oborona.errors import PeerError

REPEAT_KEY: Final = "Idempotency-Key"
LONGEST_REPEAT_KEY: Final = 255  # characters


class BodyRefused(Exception):  # noqa: N818 - reads as what happened
    """A body is not taken.

    Args:
        answer: that says why.
    """

    def __init__(self, answer: web.Response) -> None:
        self.answer = answer
        super().__init__(answer.reason)


class AccountQuestion(NamedTuple):
    """A request of a key that may make it."""

    request: web.BaseRequest
    names: list[str]  # in the path, behind its room, decoded
    key: AccountKey
    file: Path  # of the accounts; need not exist
    read: Callable[[int], Awaitable[bytes]]  # the body, of at most so many octets
    queue: StoreQueue  # that work on files waits in

    async def body(self, most: int, *kinds: str) -> bytes:
        """Return the body.

        Args:
            most: octets.
            kinds: media types, one of which it must be.

        Raises:
            BodyRefused: it is too large, of another kind, or did not come.
        """
        if self.request.content_type not in kinds:
            raise BodyRefused(error_answer(415, " or ".join(kinds)))
        return await self.read(most)

    def repeat_key(self, body: bytes) -> RepeatKey | None:
        """Return what names the request, with its body, where it may come again; None: nothing.

        Raises:
            PeerError: it can't be a name.
        """
        shown = self.request.headers.getall(REPEAT_KEY, [])
        if not shown:
            return None
        text = shown[0]
        if (
            len(shown) > 1
            or not 1 <= len(text) <= LONGEST_REPEAT_KEY
            or not (text.isascii() and text.isprintable())
        ):
            raise PeerError(
                f"{REPEAT_KEY} has 1 to {LONGEST_REPEAT_KEY} characters of ASCII, and comes once"
            )
        path = self.request.rel_url.raw_path.encode()
        digest = hashlib.sha256(b"%d %b\n%b" % (len(path), path, body)).digest()
        return RepeatKey(self.key.name, self.key.customer, text, digest)


def given_answer(given: GivenAnswer) -> web.Response:
    """Return an answer as it was given, or as it was given before."""
    headers = {"Content-Type": JSON, "Server": SERVER}
    if given.again:
        headers["Idempotency-Replayed"] = "true"
    return web.Response(body=given.body, headers=headers)


def key_reused() -> web.Response:
    """Return the answer to another request under the key of an earlier one."""
    return error_answer(409, f"another request had this {REPEAT_KEY}")
