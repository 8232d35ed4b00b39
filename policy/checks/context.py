"""What a check may look at."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from oborona.message.model import Message
from oborona.policy.brands import NO_BRANDS, Brands
from oborona.types import Envelope, Finding


class CheckContext(msgspec.Struct, frozen=True, kw_only=True):
    """One message with its envelope, and what checks need of the site."""

    message: Message
    envelope: Envelope
    site: str  # authserv-id: the name that our own headers carry
    now: float  # Unix seconds
    brands: Brands = NO_BRANDS  # whose names are borrowed


Check = Callable[[CheckContext], Finding | None]
