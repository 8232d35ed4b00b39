"""What is asked behind the `?` of a path: each name known, and once."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.errors import PeerError

PAGE: Final = 100  # rows, where nothing is said
MAX_PAGE: Final = 1000
MOST_DIGITS: Final = 18  # of a number that SQLite holds


def query_of(request: web.BaseRequest, *known: str) -> dict[str, str]:
    """Return what is asked, by name.

    Raises:
        PeerError: a name is not known, or there twice.
    """
    asked = request.query
    if set(asked) - set(known) or len(asked) != len(set(asked)):
        raise PeerError(f"{', '.join(known)} may be asked, once each")
    return dict(asked)


def page_size(asked: dict[str, str]) -> int:
    """Return how many rows are asked for.

    Raises:
        PeerError: too many, none, or no number.
    """
    limit = number_of(asked.get("limit", str(PAGE)))
    if limit is None or not 1 <= limit <= MAX_PAGE:
        raise PeerError(f"limit is 1 to {MAX_PAGE}")
    return limit


def number_of(text: str) -> int | None:
    """Return the number that a text is; None: it is none, or none that a store holds."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        return None
    return int(text)
