"""The `[free_lists]` table: DNS lists that a site may ask free of charge, switched on together.

    [free_lists]
    enabled = true
    messages_a_day = 20000
    commercial = false

A list says in its own table to whom its owner answers free (`free_to`), and below how many messages
a day (`free_below`).  What is on follows from both: no list is named here.  An `enabled` that a
file gives to a list stands, whatever this table says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.policy.named_tables import Fields, refuse
from oborona.reputation.dnsbl import DnsList, FreeTo
from oborona.toml import GivenValue
from oborona.types import RuleMode

FREE_LISTS: Final = "free_lists"
"""The name of the table."""

MAX_MESSAGES: Final = 1_000_000_000  # a day: more than any site has


FreeToField = Annotated[
    FreeTo,
    Meta(
        description=(
            "To whom it answers free, which `[free_lists]` goes by: anybody, or those who filter "
            "mail of their own and sell neither mailboxes nor filtering. Then the list is on by "
            "`[free_lists]` alone, unless `enabled` is given."
        )
    ),
]
FreeBelowField = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_MESSAGES,
        description="Below so many messages a day it is free; 0: however many.",
    ),
]


class FreeListsTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[free_lists]` table: DNS lists that are free for the site, by its size."""

    enabled: Annotated[
        bool,
        Meta(
            description=(
                "Switches on every DNS list whose terms the site meets by what follows; both are "
                "then needed."
            )
        ),
    ] = False
    messages_a_day: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_MESSAGES,
                description="Messages that come on a busy day, those included that are refused.",
                extra={"allowed": f"a whole number, 1 to {MAX_MESSAGES}"},
            ),
        ]
        | None
    ) = None
    commercial: (
        Annotated[
            bool,
            Meta(
                description=(
                    "Whether customers pay for the mailboxes or the filtering. A firm that "
                    "filters its own mail: false."
                ),
                extra={"allowed": "true or false"},
            ),
        ]
        | None
    ) = None
    mode: Annotated[
        RuleMode,
        Meta(
            description=(
                "shadow: what is on by this table is explained and scores nothing, unless the "
                "list has a `mode` of its own."
            )
        ),
    ] = RuleMode.LIVE


def free_lists_table(fields: Mapping[str, GivenValue]) -> FreeListsTable:
    """Return the `[free_lists]` table that files give together.

    Raises:
        PolicyError: it is on, and does not say how large the site is or what it does.
    """
    table = FreeListsTable(**{key: field.value for key, field in fields.items()})
    missing = [
        key for key in ("messages_a_day", "commercial") if table.enabled and key not in fields
    ]
    if missing:
        raise refuse(
            f"enabled = true needs {' and '.join(missing)}: the terms of the lists go by them",
            fields["enabled"].place,
        )
    return table


def switched(dns_list: DnsList, fields: Fields, table: FreeListsTable) -> DnsList:
    """Return a DNS list as `[free_lists]` switches it.

    Args:
        dns_list: as its own table has it.
        fields: what files give of it.
        table: of the site.
    """
    if dns_list.free_to is None or "enabled" in fields:
        return dns_list
    return msgspec.structs.replace(
        dns_list,
        enabled=table.enabled and not obstacle(dns_list, table),
        mode=dns_list.mode if "mode" in fields else table.mode,
    )


def obstacle(dns_list: DnsList, table: FreeListsTable) -> str:
    """Return why a list is not free for a site; empty where it is.

    Args:
        dns_list: any.
        table: says how large the site is, and what it does.
    """
    if dns_list.free_to is None:
        return "its terms want more than a site's size"
    if table.commercial and dns_list.free_to is FreeTo.OWN:
        return "free for mail of one's own alone, and you sell mailboxes or filtering"
    if dns_list.free_below and (table.messages_a_day or 0) >= dns_list.free_below:
        return f"free below {dns_list.free_below:,} messages a day"
    return ""
