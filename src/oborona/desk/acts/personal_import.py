"""A person is taken from a file: an address book, or what was exported."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, act
from oborona.desk.persons.store import open_persons, person_within
from oborona.desk.persons.transfer import read_person
from oborona.desk.site import Site
from oborona.feedback.address_book import MAX_OCTETS, BrokenAddressBook
from oborona.people.caller import Caller
from oborona.people.rights import Right


class PersonImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An address book, or what `personal.export` answers.

    Args:
        person: mail address.
        content: the file.
        called: its name.
    """

    person: str
    content: Annotated[bytes, Meta(max_length=MAX_OCTETS + 1)]
    called: Annotated[str, Meta(max_length=1000)] = "-"


class ImportedPerson(ActReport, frozen=True, kw_only=True):
    """What was taken of a file.

    Args:
        person: mail address in its normal form.
        format: of the file.
        entries: how many it holds.
        new: how many of them were not there before.
        passed_over: how many are no mail address.
        problems: of the file, in words.
    """

    person: str
    format: str
    entries: int
    new: int
    passed_over: int
    problems: list[str]


@act("personal.import", Right.PERSON, Right.OWN, scoped=True, about=("person",))
def import_person(site: Site, caller: Caller, asked: PersonImportOrder) -> ImportedPerson:
    """Take an address book as contacts, or what was exported: all of it, or nothing.

    Raises:
        UnusableValueError: it is no mail address.
        BrokenAddressBook: the file can't be used.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    address, now = person_within(caller, asked.person, Right.PERSON), time.time()
    try:
        file = read_person(asked.content, address, now)
    except BrokenAddressBook as fault:
        raise BrokenAddressBook(f"{asked.called}: {fault}") from None
    new = 0
    if not asked.dry:
        with open_persons(site) as store:
            new = store.put(address, file.entries, now=now)
            if file.strictness is not None:
                store.strict(address, file.strictness)
    return ImportedPerson(
        dry=asked.dry,
        person=address,
        format=file.format,
        entries=len(file.entries),
        new=new,
        passed_over=file.passed_over,
        problems=list(file.problems),
    )
