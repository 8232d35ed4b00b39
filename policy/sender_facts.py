"""What limits may name of an account that sends mail or opens streams: facts of one meaning."""

from __future__ import annotations

import msgspec

from oborona.policy.expression.schema import Fact
from oborona.types import Stage


class SenderFacts(msgspec.Struct, kw_only=True):
    """What is known of an account; None = nobody knows."""

    trusted: bool | None = None
    rating: int | None = None
    age: float | None = None
    customer: str | None = None


def sender_facts(stage: Stage) -> tuple[Fact, ...]:
    """Return the facts of `SenderFacts`, known from a stage on."""
    return (
        Fact(
            name="trusted",
            type=bool,
            stage=stage,
            doc="a person trusts the account; none where the account is not known",
            example=True,
            optional=True,
        ),
        Fact(
            name="rating",
            type=int,
            stage=stage,
            doc="rating of the account, as it was rated last; none where it is not known",
            unit="0 to 100",
            example=85,
            optional=True,
        ),
        Fact(
            name="age",
            type=float,
            stage=stage,
            doc="days since the account was made; none where nobody knows when that was",
            unit="days",
            example=400.5,
            optional=True,
        ),
        Fact(
            name="customer",
            type=str,
            stage=stage,
            doc="id of the customer who answers for the account; none where nobody is known to",
            example="firm-17",
            optional=True,
        ),
    )
