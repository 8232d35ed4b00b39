"""The facts by area: what each is, in what unit, with an example."""

from oborona.policy.fact_tables import (
    authentication,
    client,
    engines,
    entities,
    files,
    mass,
    message,
    models,
    reputation,
    sender,
    signatures,
    text,
    time_of,
)
from oborona.policy.fact_tables.area import Area

AREAS: tuple[Area, ...] = (
    client.AREA,
    sender.AREA,
    time_of.AREA,
    authentication.AREA,
    message.AREA,
    text.AREA,
    entities.AREA,
    files.AREA,
    reputation.AREA,
    signatures.AREA,
    models.AREA,
    engines.AREA,
    mass.AREA,
)

__all__ = ["AREAS", "Area"]
