"""Settings of GET /metrics."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import ListenSettings, check_optional_address


class MetricsSettings(ListenSettings, frozen=True, kw_only=True):
    """What a Prometheus reads (docs/operate/monitoring.md)."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where GET /metrics is served, as in [doors.milter]; without TLS. An "
            "address of the network needs `allowed` or tokens. Empty: off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    token_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File of the tokens that who asks shows (Authorization: Bearer), one a "
            "line, at least 16 characters each; a change is seen at once. Empty: whoever reaches "
            "it may ask.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
