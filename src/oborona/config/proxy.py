"""Settings of the door `proxy`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import Door, may_listen


class Proxy(Door, frozen=True, kw_only=True):
    """The door for mail servers that can ask nobody: SMTP or LMTP is passed on to them, message by message (docs/proxy.md)."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where it is reached, as in [doors.milter]. Empty: it is closed.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": may_listen},
        ),
    ] = ""
