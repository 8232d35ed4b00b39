"""What the flow process asks of a source of flows, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.store import FlowFile


class FlowUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A file that can be read now."""

    name: str
    size: int  # octets
    known: FlowFile | None = None  # as the store has it: it failed before
    read: Callable[[AddressTable, OwnSources], ReadFile]
    dispose: Callable[[], None] = lambda: None  # after it was taken
    set_aside: Callable[[], None] = lambda: None  # after it was given up


class FlowSource(Protocol):
    """A source."""

    def ready(self, now: float) -> list[FlowUnit]:
        """Return what can be read at Unix time `now` and was not taken, oldest first.

        Raises:
            OboronaError: it can't be looked at now.
        """
