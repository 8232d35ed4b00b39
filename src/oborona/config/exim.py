"""Settings of the listener `exim`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import DoorSettings, check_optional_address


class EximSettings(DoorSettings, frozen=True, kw_only=True):
    """The listener for Exim's ${readsocket}: one line asks, one line answers
    (docs/mail-servers/exim-protocol.md).
    """

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where it is reached, as in [doors.milter]. Empty: off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    idle_s: Annotated[
        float,
        Meta(
            ge=1,
            le=86_400,
            description=(
                "Close a connection that has had its answer and is silent this long. Exim "
                "itself closes one with each answer."
            ),
        ),
    ] = 60.0
