"""Settings of the console: what people may do by pages and API."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class ConsoleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The console, and what it may write (docs/policy/drafts.md)."""

    policy: Annotated[
        Literal["overlay", "read", "write"],
        Meta(
            description="What drafts of the policy may be published to: the file 90-console.toml "
            "of the policy folder alone, nothing, or all files of that folder."
        ),
    ] = "overlay"
