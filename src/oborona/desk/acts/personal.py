"""A person's own lists are added to, and their strictness is set."""

from __future__ import annotations

import math
import time
from typing import Annotated, Final

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.asks.personal import ShownEntry, shown_entry
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.persons.store import open_persons, person_within, stored_person
from oborona.desk.persons.transfer import import_again
from oborona.desk.refusals import MisusedCallError, UnusableValueError
from oborona.desk.site import Site
from oborona.domains import registrable
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures.check import LAST_TIME
from oborona.reputation.personal import (
    LAXEST,
    STRICTEST,
    EntryAction,
    InvalidPersonalEntry,
    PersonalEntry,
    PersonalEntryKind,
    entry,
    list_name,
)

MOST_VALUES: Final = 1000  # in one call
EntryValues = Annotated[list[str], Meta(max_length=MOST_VALUES)]


class DenyOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What a person denies.

    Args:
        person: mail address.
        what: mail addresses in From, or what `kind` says.
        kind: of these.
        expires: Unix seconds; 0 = never.
        note: for people; empty = who did it.
    """

    person: str
    what: EntryValues
    kind: PersonalEntryKind = PersonalEntryKind.ADDRESS
    expires: float = 0.0
    note: str = ""


class AllowOrder(DenyOrder, kw_only=True, forbid_unknown_fields=True):
    """What a person allows.

    Args:
        beside: of a list: the domain that its mail must be proved to come from; empty = that of its
            List-Id.
    """

    beside: str = ""


class ListedEntries(ActReport, frozen=True, kw_only=True):
    """Entries that a person has now.

    Args:
        person: mail address in its normal form.
        entries: that were put.
        say: each in words.
    """

    person: str
    entries: list[ShownEntry]
    say: list[str]


@act("personal.allow", Right.PERSON, Right.OWN, scoped=True, about=("person", "what"))
def allow_senders(site: Site, caller: Caller, asked: AllowOrder) -> ListedEntries:
    """Allow senders whose identity is proved: into the inbox, whatever the score.

    Raises:
        UnusableValueError: something is not what its kind says.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    if asked.beside and asked.kind is not PersonalEntryKind.LIST:
        raise MisusedCallError("a domain beside it is of lists alone")
    return _put(site, caller, asked, EntryAction.ALLOW, asked.beside)


@act("personal.deny", Right.PERSON, Right.OWN, scoped=True, about=("person", "what"))
def deny_senders(site: Site, caller: Caller, asked: DenyOrder) -> ListedEntries:
    """Deny senders, and whoever claims to be them: into the spam folder at least.

    Raises:
        UnusableValueError: something is not what its kind says.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    return _put(site, caller, asked, EntryAction.DENY, "")


def _put(
    site: Site, caller: Caller, asked: DenyOrder, side: EntryAction, beside: str
) -> ListedEntries:
    now, address = time.time(), person_within(caller, asked.person, Right.PERSON)
    if asked.expires and not now < asked.expires <= LAST_TIME:
        raise UnusableValueError("an end is 0 for never, or a time to come", "expires")
    if not asked.what:
        raise UnusableValueError("name at least one", "what")
    note = asked.note or f"by {caller.name}"
    entries = []
    for value in asked.what:
        listed = asked.kind is PersonalEntryKind.LIST and side is EntryAction.ALLOW
        proof = (beside or registrable(list_name(value))) if listed else ""
        try:
            entries.append(
                entry(
                    side,
                    asked.kind,
                    value,
                    beside=proof,
                    time=now,
                    expires=asked.expires,
                    note=note,
                )
            )
        except InvalidPersonalEntry as fault:
            raise UnusableValueError(str(fault), "what") from None
    before = stored_person(site, address).entries
    if not asked.dry:
        with open_persons(site) as store:
            store.put(address, entries, now=now)
    return ListedEntries(
        dry=asked.dry,
        undo=_undo_put(address, entries, before),
        person=address,
        entries=[shown_entry(own_entry, now) for own_entry in entries],
        say=[
            f"{own_entry.say}{f' from {own_entry.beside}' if own_entry.beside else ''}"
            for own_entry in entries
        ],
    )


def _undo_put(
    address: str, entries: list[PersonalEntry], before: list[PersonalEntry]
) -> UndoCall | None:
    """Return what takes entries off again, or puts those back whose place they took."""
    put = {(own_entry.kind, own_entry.value) for own_entry in entries}
    replaced = [
        own_entry
        for own_entry in before
        if own_entry.side is not EntryAction.CONTACT and (own_entry.kind, own_entry.value) in put
    ]
    if not replaced:
        arguments = {
            "person": address,
            "what": [own_entry.value for own_entry in entries],
            "kind": entries[0].kind,
            "contacts": False,
        }
        return UndoCall(call="personal.remove", asked=arguments)
    if {(own_entry.kind, own_entry.value) for own_entry in replaced} != put:
        return None
    return import_again(address, replaced, None)


class StrictnessOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """How strict a person is: the factor of their spam threshold."""

    person: str
    factor: float


class SetStrictness(ActReport, frozen=True, kw_only=True):
    """How strict a person is now, and was before."""

    person: str
    factor: float
    before: float


@act("personal.strict", Right.PERSON, Right.OWN, scoped=True, about=("person",))
def set_strictness(site: Site, caller: Caller, asked: StrictnessOrder) -> SetStrictness:
    """Set the factor by which a person's spam threshold is multiplied.

    Raises:
        UnusableValueError: it is no mail address, or the factor is out of bounds.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    address = person_within(caller, asked.person, Right.PERSON)
    if not (math.isfinite(asked.factor) and STRICTEST <= asked.factor <= LAXEST):
        raise UnusableValueError(
            f"{asked.factor:g} is no number from {STRICTEST:g} to {LAXEST:g}", "factor"
        )
    before = stored_person(site, address).strictness
    if not asked.dry:
        with open_persons(site) as store:
            store.strict(address, asked.factor)
    undo = UndoCall(call="personal.strict", asked={"person": address, "factor": before})
    return SetStrictness(
        dry=asked.dry, person=address, factor=asked.factor, before=before, undo=undo
    )
