"""What a check may look at."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from oborona.domains import registrable
from oborona.message.model import Mailbox, Message
from oborona.policy.brand_table import Brand
from oborona.policy.brands import NO_BRANDS, Brands
from oborona.policy.own_people import NOBODY_OWN, OwnPeople
from oborona.types import Envelope, Finding


class CheckContext(msgspec.Struct, frozen=True, kw_only=True):
    """One message with its envelope, and what checks need of the site."""

    message: Message
    envelope: Envelope
    site: str  # authserv-id: the name that our own headers carry
    now: float  # Unix seconds
    brands: Brands = NO_BRANDS  # whose names are borrowed
    people: OwnPeople = NOBODY_OWN  # the site's own, whose names are borrowed

    @property
    def author_site(self) -> str:
        """Registrable domain of the address in From; empty if there is none."""
        box = self.message.from_
        return registrable(box.domain) if box is not None else ""

    def borrowed_name(self) -> tuple[Mailbox, Brand] | None:
        """Return the mailbox in From and the brand whose name it bears, where neither its domain
        nor the client's name is the brand's own.
        """
        box = self.message.from_
        if box is None or not box.domain or not box.name:
            return None
        brand = self.brands.called(box.name)
        if brand is None or brand.writes_from(box.domain):
            return None
        if brand.sends_from(self.envelope.client.name):
            return None  # its own machine sends in a mailer's name
        return box, brand


Check = Callable[[CheckContext], Finding | None]
