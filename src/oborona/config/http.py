"""Settings of the door `http`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import Door, may_listen


class Http(Door, frozen=True, kw_only=True):
    """The door for HTTP: clients of rspamd, and our own /v1/scan (docs/http.md)."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where it is reached, as in [doors.milter]. Empty: it is closed.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": may_listen},
        ),
    ] = ""
