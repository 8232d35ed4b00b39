"""Settings of the training of the site's own final model by itself."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class FinalTrainingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The site's own final model, which trains itself from what people say (docs/policy/models.md).

    What its word does says `[final]` in a policy file.
    """

    enabled: Annotated[
        bool,
        Meta(
            description="Whether it is trained by itself; the model that comes with Oborona is "
            "tried against the site's mail by the same report."
        ),
    ] = True
    hours: Annotated[
        float,
        Meta(
            ge=0.001,
            le=8760,
            description="It is trained at most so often. A day: what people say comes by days, and "
            "a training takes a core for some minutes.",
        ),
    ] = 24.0
    least_messages: Annotated[
        int,
        Meta(
            ge=80,
            le=1_000_000,
            description="Messages of spam that people have spoken of before it is first trained. "
            "Below 80 there are too few to learn from, to stop at and to judge by, below some 150 "
            "no part of the mail has enough before it; and as many good ones are needed, by "
            "people's reports or by what they did.",
        ),
    ] = 150
    least_days: Annotated[
        float,
        Meta(
            ge=0,
            le=365,
            description="Days over which they spoke: what is learned of one day's campaigns says "
            "little of the next week's.",
        ),
    ] = 7.0
    least_new: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Messages more that people have spoken of before it is trained again.",
        ),
    ] = 20
    messages: Annotated[
        int,
        Meta(
            ge=1000,
            le=200_000,
            description="The most that it learns from: the newest of those that people spoke of, "
            "and of the others some of all times. 20000 take some 400 MiB and minutes.",
        ),
    ] = 20_000
    minutes: Annotated[
        float,
        Meta(ge=0.1, le=1440, description="A training that takes longer is ended."),
    ] = 30.0
    busy_load: Annotated[
        float,
        Meta(
            ge=0.1,
            le=10_000,
            description="Tasks that wait for each core (the load of the last minute), above which "
            "no training is begun: mail comes first.",
        ),
    ] = 1.0
    memory_mib: Annotated[
        int,
        Meta(
            ge=256,
            le=65_536,
            description="Address space that a training may take, beside what its libraries do.",
        ),
    ] = 1024
    reports: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Pages of the last trainings that are kept (`final.reports` in the state "
            "folder).",
        ),
    ] = 10
