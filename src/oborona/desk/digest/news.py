"""What a digest tells: what was filed or refused since the last one."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.call import CallError
from oborona.desk.messages.own_mail import OwnMailFate, OwnMessage, own_mail
from oborona.desk.readers.release import refuse_forbidden
from oborona.desk.site import Site
from oborona.ident import from_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.people.caller import Scope
from oborona.people.person import Person
from oborona.policy.personal_list_match import MALWARE

MOST: Final = 100  # letters of one digest; the page has the others
LONGEST_S: Final = 14 * 86_400.0
FIRST_S: Final = 86_400.0  # that the first digest looks back
WITHIN_S: Final = 20.0


class DigestLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A letter that a digest tells of.

    Args:
        message: as the reader's page has it; of malware without its subject.
        released: its reader may take it out of Junk.
    """

    message: OwnMessage
    released: bool


class DigestNews(msgspec.Struct, frozen=True, kw_only=True):
    """What is new, the newest first.

    Args:
        filed: in Junk.
        refused: at the door, or put off.
        more: there are others, which the page has.
    """

    filed: tuple[DigestLetter, ...]
    refused: tuple[DigestLetter, ...]
    more: bool


def gather_news(site: Site, person: Person, since: float) -> DigestNews:
    """Return what was kept from somebody since a time, Unix seconds.

    Raises:
        StoreError: the journal can't be read.
    """
    scope = Scope(domains=frozenset(), addresses=person.addresses)
    own = own_mail(site, scope, since=since, limit=MOST, older="", within_s=WITHIN_S)
    entries = asyncio.run(_entries(site, own.messages))
    letters = [_letter(site, one, entries.get(one.id)) for one in own.messages]
    filed = tuple(one for one in letters if one.message.fate is OwnMailFate.JUNK)
    refused = tuple(
        one for one in letters if one.message.fate in (OwnMailFate.REFUSED, OwnMailFate.DEFERRED)
    )
    return DigestNews(filed=filed, refused=refused, more=bool(own.older))


def _letter(site: Site, message: OwnMessage, entry: JournalEntry | None) -> DigestLetter:
    if entry is None:  # refused before its content
        return DigestLetter(message=message, released=False)
    if not MALWARE.isdisjoint(finding.name for finding in entry.findings):
        message = msgspec.structs.replace(message, subject="")
    try:
        refuse_forbidden(site, entry)
    except CallError:
        return DigestLetter(message=message, released=False)
    return DigestLetter(message=message, released=message.fate is OwnMailFate.JUNK)


async def _entries(site: Site, messages: tuple[OwnMessage, ...]) -> dict[str, JournalEntry]:
    found = dict[str, JournalEntry]()
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        for message in messages:
            number = from_text(message.id)
            entry = await journal.get(number) if number is not None else None
            if entry is not None:
                found[message.id] = entry
    return found
