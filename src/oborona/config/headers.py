"""Settings of the headers that we write into mail."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class HeaderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a message says of its verdict (docs/operate/headers.md); journal, log and
    `oborona explain` always have all of it.
    """

    reason: Annotated[
        Literal["full", "names", "none"],
        Meta(
            description="What X-Mras-Reason says: rules with their scores, words and those in "
            "shadow mode; the names of live rules; or nothing,"
            " X-Mras-Score left out too. Whoever has a mailbox here reads it: a sender who tries "
            "out mail as well.",
        ),
    ] = "names"
