"""Settings of what processes give up."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class ConfinementSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What every process gives up at its start, beside what a unit takes from it
    (docs/operate/confinement.md).
    """

    system_calls: Annotated[
        bool,
        Meta(
            description="No program, no other process, nothing of the kernel but files, sockets, "
            "threads and time (seccomp)."
            " Turn it off only to find out whether it is in the way."
        ),
    ] = True
