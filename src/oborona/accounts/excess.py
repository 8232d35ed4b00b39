"""An excess: somebody of ours sent more than a limit allows, and who is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """One message, or one window of flows, that passed a limit."""

    account: str  # login in lower case; empty: no login stands behind it
    address: str  # of the client, canonical text; empty: it is not known
    limit: str  # its name
    metric: str  # what it counts
    window: str  # over which
    value: int  # what was counted, with this message
    most: float  # what is allowed
    usual: float | None = None  # on an ordinary day; None: too few days to tell
    then: str  # what the limit does: alert, tempfail, hold or refuse
    shadow: bool = False  # it does nothing but say so
    at: float  # Unix seconds
    idents: tuple[str, ...] = ()  # references of messages
    evidence: Mapping[str, object] = {}  # what a person may want to see of it; no bodies


class ExcessSink(Protocol):
    """Takes excesses."""

    def __call__(self, excess: Excess, /) -> None:
        """Take one; returns at once and never raises."""
        ...
