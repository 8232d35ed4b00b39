"""The `[[flow_limit]]` tables of policy files: how much our machines may send past the mail server.

[[flow_limit]]
name   = "FLOW_STREAMS"
each   = "address"
count  = "streams"
window = "hour"
limit  = 2000
unless = "in_networks(address, ('192.0.2.25/32',))"
mode   = "shadow"

`limit` and `unless` are expressions over `FLOW_FACTS`.  What is counted stands in
`oborona.accounts.flows.excesses`.  No message can be stopped by it: what goes over is an excess of
the account that has the address.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.limit_table import MAX_AMOUNT
from oborona.policy.named_tables import MAX_TEXT, Enabled, Name, TableSort, Why
from oborona.types import RuleMode

MAX_FLOW_LIMITS: Final = 50  # each is a look at all sources, once a minute


class FlowSubject(StrEnum):
    """Whose streams a limit adds up."""

    ADDRESS = "address"
    NETWORK = "network"  # the narrowest network of an account
    CUSTOMER = "customer"  # all networks of all accounts that one customer answers for


class FlowCount(StrEnum):
    """What a limit counts."""

    STREAMS = "streams"
    PACKETS = "packets"
    OCTETS = "octets"
    DESTINATIONS = "destinations"  # of one address in one minute, the most
    AT_ONCE = "at_once"  # streams of one address that were open at one time, the most
    REFUSED = "refused"  # streams that a server ended before the message


class FlowWindowName(StrEnum):
    """How far back a limit looks; windows of a minute are kept for a day."""

    RECENT = "recent"  # ten minutes
    HOUR = "hour"
    DAY = "day"


class FlowLimitTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[flow_limit]]` table; this is their only list."""

    name: Name
    each: (
        Annotated[
            FlowSubject,
            Meta(
                description="Whose streams are added up: of one address, of an account's network, "
                "or of all networks of a customer."
            ),
        ]
        | UnsetType
    ) = UNSET
    count: (
        Annotated[
            FlowCount,
            Meta(description="What is counted of streams to ports of SMTP."),
        ]
        | UnsetType
    ) = UNSET
    window: (
        Annotated[FlowWindowName, Meta(description="How far back: ten minutes, an hour, a day.")]
        | UnsetType
    ) = UNSET
    limit: (
        Annotated[
            float,
            Meta(
                ge=1,
                le=MAX_AMOUNT,
                description="So much is allowed. A text is a formula: a number of address, account, "
                "customer, trusted, rating, age, streams.",
                extra={
                    "allowed": 'a number, or a formula in quotes, such as "max(100, 0.5 * streams)"'
                },
            ),
        ]
        | Annotated[str, Meta(max_length=MAX_TEXT)]
        | UnsetType
    ) = UNSET
    unless: (
        Annotated[
            str,
            Meta(max_length=MAX_TEXT, description="A condition under which it does not hold."),
        ]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: told of, and no account is stopped for it.")]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


FLOW_LIMITS: Final = TableSort(
    "flow_limit",
    "flow limit",
    FlowLimitTable,
    MAX_FLOW_LIMITS,
    (("each",), ("count",), ("window",), ("limit",)),
)
