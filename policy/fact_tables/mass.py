"""Facts about nearly the same texts that came before."""

from __future__ import annotations

from typing import Final

from oborona.policy.fact_tables.area import Area, fact
from oborona.types import Stage

_M = Stage.CONTENT


AREA: Final = Area(
    "Near-duplicates",
    (
        fact(
            "mass.hour",
            int,
            _M,
            "messages of the last hour that share their text with this one, nearly",
            example=40,
            optional=True,
        ),
        fact("mass.day", int, _M, "the same for the last day", example=120, optional=True),
        fact("mass.fortnight", int, _M, "the same for the last two weeks", example=130, optional=True),
        fact(
            "mass.earlier",
            int,
            _M,
            "the same for the last two weeks without the last 24 hours",
            example=10,
            optional=True,
        ),
        fact(
            "mass.spam",
            int,
            _M,
            "how many of those of the last day were judged spam",
            example=30,
            optional=True,
        ),
        fact("mass.complaints", int, _M, "complaints about those of the last day", example=3, optional=True),
        fact(
            "mass.pardons",
            int,
            _M,
            "people who said of those of the last day that they are no spam",
            example=1,
            optional=True,
        ),
        fact(
            "mass.traps", int, _M, "how many of those of the last day came to traps", example=2, optional=True
        ),
        fact(
            "mass.ips",
            int,
            _M,
            "distinct client addresses that sent nearly this text, last day",
            example=35,
            optional=True,
        ),
        fact(
            "mass.senders",
            int,
            _M,
            "distinct From addresses of nearly this text, last day",
            example=90,
            optional=True,
        ),
        fact(
            "mass.recipients",
            int,
            _M,
            "distinct recipients of nearly this text, last day",
            example=118,
            optional=True,
        ),
    ),
)
