"""What a check may look at."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from oborona.message.model import Message
from oborona.types import Envelope, Finding


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """One message with its envelope, and the two things of the site that checks need."""

    message: Message
    envelope: Envelope
    site: str  # authserv-id: the name that our own headers carry
    now: float  # Unix seconds


Check = Callable[[Context], Finding | None]
