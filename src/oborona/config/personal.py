"""Settings of what persons want of their own mail."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class PersonalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Lists, contacts and strictness of single persons (docs/people/personal.md)."""

    contacts: Annotated[
        Literal["login", "sender", "none"],
        Meta(
            description="Whom people write to, they know. login: learned where the login is the "
            "sender's address, or its name before the"
            " @; sender: wherever somebody logged in, for mail servers that let nobody send as "
            "another; none: not learned."
        ),
    ] = "login"
