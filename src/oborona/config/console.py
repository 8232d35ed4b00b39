"""Settings of the console."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class ConsoleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The console, pages for people (docs/operate/people.md)."""

    enabled: Annotated[bool, Meta(description="Open the console.")] = False
    second_step: Annotated[
        Literal["optional", "required"],
        Meta(
            description="Who logs in by a code of a telephone beside the password: whoever wants "
            "to, or every admin; required, an admin without one may do nothing but begin one."
        ),
    ] = "optional"
