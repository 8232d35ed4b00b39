"""The `[[event_list]]` tables of policy files: texts with a name, for rules over events.

[[event_list]]
name    = "ROBOT_AGENTS"
entries = ["curl/8.5.0", "python-requests/2.31"]

A rule asks for one by its name: `agent in ROBOT_AGENTS`, `in_networks(client, OFFICE)`,
`startswith(agent, ROBOT_AGENTS)`.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.named_tables import Name, TableSort, Why

MAX_LISTS: Final = 100
MAX_ENTRIES: Final = 5_000  # of one list: they stand in the statement that an engine gets


class EventListTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an `[[event_list]]` table; this is their only list."""

    name: Name
    entries: (
        Annotated[
            list[Annotated[str, Meta(max_length=500)]],
            Meta(
                max_length=MAX_ENTRIES,
                description="Texts, as a rule compares them.",
                extra={"allowed": f"texts in brackets, at most {MAX_ENTRIES:,}"},
            ),
        ]
        | UnsetType
    ) = UNSET
    why: Why | UnsetType = UNSET


EVENT_LISTS: Final = TableSort(
    "event_list", "event list", EventListTable, MAX_LISTS, (("entries",),)
)
