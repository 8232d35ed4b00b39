"""Settings of the door `spamd`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import Door, may_listen


class Spamd(Door, frozen=True, kw_only=True):
    """The door for whatever speaks to SpamAssassin's spamd, or to rspamd as Exim does (docs/spamd.md)."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where it is reached, as in [doors.milter]. Empty: it is closed.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": may_listen},
        ),
    ] = ""
