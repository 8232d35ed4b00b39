"""Acts on passkeys of others: one that is lost signs nobody in any more."""

from __future__ import annotations

import msgspec

from oborona.desk.acts.people import PersonOrder
from oborona.desk.call import NotFoundError, act
from oborona.desk.people.authority import check_power
from oborona.desk.people.views import PasskeyView, changed_people, passkey_view, person_named
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.passkey_book import PasskeyBook
from oborona.people.person import NoPersonError
from oborona.people.rights import Right


class PasskeyOrder(PersonOrder, kw_only=True):
    """Which passkey of a person is to go.

    Args:
        passkey: its name in the list; empty = all.
    """

    passkey: str = ""


class RemovedPasskeys(msgspec.Struct, frozen=True, kw_only=True):
    """Which were removed; sessions that began by them stay."""

    removed: list[PasskeyView]


@act("passkeys.remove", Right.PEOPLE, about=("name", "passkey"))
def remove_passkeys(site: Site, caller: Caller, asked: PasskeyOrder) -> RemovedPasskeys:
    """Remove a passkey of a person, or all; it can't be put back, only made anew.

    Raises:
        NotAllowedError: they may do what the caller may not.
        NotFoundError: there is no such person or passkey.
    """
    with changed_people(site, asked) as store:
        person = person_named(store, asked.name)
        check_power(caller, person)
        book = PasskeyBook(store)
        idents = [asked.passkey] if asked.passkey else [key.ident for key in book.of(person)]
        try:
            removed = [passkey_view(book.remove(person, ident)) for ident in idents]
        except NoPersonError as error:
            raise NotFoundError(str(error)) from None
    return RemovedPasskeys(removed=removed)
