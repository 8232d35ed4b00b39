"""Settings of the watch over own addresses."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class AddressesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether DNS lists have addresses of our own (docs/people/addresses.md)."""

    listings: Annotated[
        bool,
        Meta(
            description="Ask each DNS list that is on about every address of site.networks and of "
            "the accounts' networks, and tell people what it has."
        ),
    ] = False
    every_hours: Annotated[
        float,
        Meta(
            ge=0.25,
            le=168,
            description="How long a round over all addresses takes: the questions are spread "
            "evenly over it.",
        ),
    ] = 6.0
