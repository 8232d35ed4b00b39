"""The act of readers on their digest: when it comes, or never."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.desk.call import ActOrder, CallError, UndoCall, act
from oborona.desk.people.views import open_people
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.digest_book import OFF, DigestBook
from oborona.people.rights import Right

DigestHour = Annotated[int, Meta(ge=OFF, le=23)]


class OwnDigestOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """When one's digest comes: an hour of the server's clock, -1 = never, null = as the site."""

    hour: DigestHour | None = None


class OwnDigestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """When it comes now."""

    hour: int | None
    undo: UndoCall | None


@act("own.digest", Right.OWN, scoped=True)
def choose_own_digest(site: Site, caller: Caller, asked: OwnDigestOrder) -> OwnDigestOutcome:
    """Choose when one's digest comes."""
    with site.as_owner(), open_people(site) as people:
        person = people.find(caller.name)
        if person is None:
            raise CallError("a digest is for people who are known here")
        with DigestBook(site.state / state_files.DIGESTS) as book:
            before = book.of(person.id).hour
            if not asked.dry and before != asked.hour:
                book.choose(person.id, asked.hour)
    undo = UndoCall(call="own.digest", asked={"hour": before})
    return OwnDigestOutcome(hour=asked.hour, undo=undo if before != asked.hour else None)
