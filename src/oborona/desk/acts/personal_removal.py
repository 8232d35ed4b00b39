"""Entries of a person's own lists are removed."""

from __future__ import annotations

import time

import msgspec

from oborona.desk.act_report import ActReport
from oborona.desk.acts.personal import EntryValues
from oborona.desk.asks.personal import ShownEntry, shown_entry
from oborona.desk.call import ActOrder, act
from oborona.desk.persons.store import open_persons, person_within
from oborona.desk.persons.transfer import import_again
from oborona.desk.refusals import MisusedCallError
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.personal import (
    EntryAction,
    PersonalEntryKind,
    list_name,
    mail_address,
)


class RemoveOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What is to be removed.

    Args:
        person: mail address.
        what: as it stands in `personal.show`; of a text its name.
        kind: of these; None = addresses, and names of texts.
        contacts: addresses among them cease to be contacts, too.
        everything: lists, contacts and strictness.
    """

    person: str
    what: EntryValues = msgspec.field(default_factory=list)
    kind: PersonalEntryKind | None = None
    contacts: bool = True
    everything: bool = False


class RemovedEntries(ActReport, frozen=True, kw_only=True):
    """What was removed.

    Args:
        person: mail address in its normal form.
        removed: how many.
        entries: which.
    """

    person: str
    removed: int
    entries: list[ShownEntry]


@act("personal.remove", Right.PERSON, Right.OWN, scoped=True, about=("person", "what"))
def remove_entries(site: Site, caller: Caller, asked: RemoveOrder) -> RemovedEntries:
    """Remove entries or contacts of a person.

    Raises:
        UnusableValueError: it is no mail address.
        MisusedCallError: neither what is removed is named, nor everything.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written, or there is none.
    """
    address, now = person_within(caller, asked.person, Right.PERSON), time.time()
    if bool(asked.what) is asked.everything:
        raise MisusedCallError("name what is to be removed, or everything")
    keys = set(_entry_keys(asked.what, asked.kind))
    with open_persons(site, make=False) as store:
        before = store.of(address)
        gone = [
            own_entry
            for own_entry in before.entries
            if asked.everything
            or (
                (own_entry.kind, own_entry.value) in keys
                and (asked.contacts or own_entry.side is not EntryAction.CONTACT)
            )
        ]
        removed = len(gone)
        if asked.dry:
            pass
        elif asked.everything:
            removed = store.clear(address)
        else:
            removed = store.remove(address, keys, contacts=asked.contacts)
    strictness = before.strictness if asked.everything else None
    return RemovedEntries(
        dry=asked.dry,
        undo=import_again(address, gone, strictness) if gone or asked.everything else None,
        person=address,
        removed=removed,
        entries=[shown_entry(own_entry, now) for own_entry in gone],
    )


def _entry_keys(
    values: list[str], kind: PersonalEntryKind | None
) -> list[tuple[PersonalEntryKind, str]]:
    """Return each thing under every kind that it may be of."""
    things = []
    for text in values:
        if kind is not None:
            value = (
                list_name(text)
                if kind is PersonalEntryKind.LIST
                else text.strip().lower().removeprefix("@")
            )
            things.append((kind, mail_address(text) if kind is PersonalEntryKind.SENDER else value))
        elif mail_address(text):
            things += [
                (PersonalEntryKind.ADDRESS, mail_address(text)),
                (PersonalEntryKind.CLAIMED, mail_address(text)),
            ]
        else:
            things.append((PersonalEntryKind.TEXT, text.strip().lower()))
    return things
