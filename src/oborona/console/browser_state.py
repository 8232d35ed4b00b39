"""What a browser keeps for these pages: cookies; and the paths that it may be sent back to."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

_OWN_PATH: Final = re.compile(r"/(?![/\\])[!-~]*\Z")


def keep_cookie(answer: web.Response, name: str, value: str, seconds: int | None = None) -> None:
    """Give a browser a cookie that no script reads and no other site sends.

    Args:
        answer: with which it goes.
        name: begins with __Host-.
        value: of it.
        seconds: how long it is kept; None = until the browser ends.
    """
    answer.set_cookie(
        name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="Lax"
    )


def drop_cookie(answer: web.Response, name: str) -> None:
    """Take a cookie away."""
    keep_cookie(answer, name, "", 0)


def own_path(path: str) -> str:
    """Return a path of ours; of what is none, such as another site's, that of the first page."""
    return path if _OWN_PATH.match(path) else "/"
