"""Settings of the databases that say where addresses are."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

_FILE = r"\A(/[^\x00-\x1f\x7f]+)?\Z"


class GeoIpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients are: databases in MaxMind's format (.mmdb), of any maker; both may be one file
    (docs/senders/places.md).
    """

    country_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=_FILE,
            description="Database of countries. Empty: countries are not known.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    as_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=_FILE,
            description="Database of autonomous systems (ASN). Empty: these are not known.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
