"""A request of accounts, once it is known who makes it and that he may."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from oborona.accounts.store.answers import GivenAnswer, RepeatKey
from oborona.doors.http.account_keys import AccountKey
from oborona.doors.http.keyed_request import REPEAT_KEY, ReadBody, body_of, repeat_key_of
from oborona.doors.http.store_queue import StoreQueue
from oborona.doors.web import JSON, SERVER, error_answer


class AccountQuestion(NamedTuple):
    """A request of a key that may make it."""

    request: web.BaseRequest
    names: list[str]  # in the path, behind its room, decoded
    key: AccountKey
    file: Path  # of the accounts; need not exist
    read: ReadBody
    queue: StoreQueue  # that work on files waits in

    async def body(self, most: int, *kinds: str) -> bytes:
        """Return the body.

        Args:
            most: octets.
            kinds: media types, one of which it must be.

        Raises:
            BodyRefused: it is too large, of another kind, or did not come.
        """
        return await body_of(self.request, self.read, most, *kinds)

    def repeat_key(self, body: bytes) -> RepeatKey | None:
        """Return what names the request, with its body, where it may come again; None: nothing.

        Raises:
            PeerError: it can't be a name.
        """
        text = repeat_key_of(self.request)
        if text is None:
            return None
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
