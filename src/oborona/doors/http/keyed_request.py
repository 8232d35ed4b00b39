"""What requests have in common that are made by keys of their own: paths, bodies, names by which
one may come again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from aiohttp import web

from oborona.doors.web import error_answer
from oborona.errors import PeerError

ROOT: Final = "/v1/"
REPEAT_KEY: Final = "Idempotency-Key"
LONGEST_REPEAT_KEY: Final = 255  # characters

Key_contra = TypeVar("Key_contra", contravariant=True)

ReadBody = Callable[[int], Awaitable[bytes]]
"""Returns the body of a request, of at most so many octets."""


class KeyedService(Protocol[Key_contra]):
    """What answers requests that need a key of a file of its own."""

    async def answer(
        self, request: web.BaseRequest, key: Key_contra, read: ReadBody
    ) -> web.Response:
        """Answer a request.

        Args:
            request: whose path is served here.
            key: what the key that it shows may do.
            read: returns its body.

        Raises:
            BodyRefused: its body is not taken.
        """


class BodyRefused(Exception):  # noqa: N818 - reads as what happened
    """A body is not taken.

    Args:
        answer: that says why.
    """

    def __init__(self, answer: web.Response) -> None:
        self.answer = answer
        super().__init__(answer.reason)


def path_pieces(request: web.BaseRequest) -> list[str]:
    """Return what a path has between its slashes; a slash in a name is written %2F."""
    path = request.rel_url.raw_path
    return path.removeprefix(ROOT).split("/") if path.startswith(ROOT) else [""]


async def body_of(request: web.BaseRequest, read: ReadBody, most: int, *kinds: str) -> bytes:
    """Return the body of a request.

    Args:
        request: whose head has come.
        read: returns it.
        most: octets.
        kinds: media types, one of which it must be.

    Raises:
        BodyRefused: it is too large, of another kind, or did not come.
    """
    if request.content_type not in kinds:
        raise BodyRefused(error_answer(415, " or ".join(kinds)))
    return await read(most)


def repeat_key_of(request: web.BaseRequest) -> str | None:
    """Return the name by which a request may come again; None: it has none.

    Raises:
        PeerError: it can't be a name.
    """
    shown = request.headers.getall(REPEAT_KEY, [])
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
    return text
