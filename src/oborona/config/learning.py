"""Settings of what is learned from people's word."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class LearningSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What people say of their mail, and the content model that learns from it
    (docs/people/feedback.md).
    """

    min_learned: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="The content model is not in use until it has learned so many messages of "
            "spam and as many of good mail;"
            " `oborona model status` says how many are missing.",
        ),
    ] = 5
    kept: Annotated[
        int,
        Meta(
            ge=100,
            le=1_000_000,
            description="Messages of spam, and as many of good mail, whose features are kept so "
            "that the model can be trained"
            " again when labels are taken back; recent ones are favoured. Each takes some "
            "kilobytes of the state folder.",
        ),
    ] = 10_000
    person_weight: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="How much one person's reports train the model that all share; 0: they "
            "change the person's own mail"
            " alone. Labels of an admin, and of traps, always count in full.",
        ),
    ] = 1.0
    heed_event_logs: Annotated[
        bool,
        Meta(
            description="Whether the reports of a person whom event logs caught weigh less for a "
            "month (the checked event log). Off is the hand brake.",
        ),
    ] = True
    retention_days: Annotated[
        float,
        Meta(
            ge=1,
            le=36_500,
            description=(
                "Who said what of which message is forgotten after so long, if the message is "
                "not kept for learning any more."
            ),
        ),
    ] = 400.0
    raw_days: Annotated[
        float,
        Meta(
            ge=0,
            le=365,
            description="Messages that people, sites and traps hand in are kept for so long as "
            "they were handed in, packed, so that what was"
            " said can be looked at, decided again, and signatures be proposed from it. So long "
            "it is also known who read what.",
        ),
    ] = 7.0
    proposing_people: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="When so many people's spam reports of one campaign are accepted, "
            "signatures that would find it are proposed"
            " (`oborona signature proposals`); 0: none ever are.",
        ),
    ] = 5
