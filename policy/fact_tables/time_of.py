"""When it is."""

from __future__ import annotations

from typing import Final

from oborona.policy.fact_tables.area import Area, fact
from oborona.types import Stage

AREA: Final = Area(
    "Time",
    (
        fact(
            "time.now",
            float,
            Stage.CONNECT,
            "when the client was judged, or the message; the functions hour() and weekday() tell it by a time zone",
            unit="Unix seconds",
            example=1_700_000_000.0,
        ),
    ),
)
