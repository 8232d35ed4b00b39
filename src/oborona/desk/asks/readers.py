"""Asks of readers about themselves: their lists, and what they have said of mail."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.desk.asks.events import EventId
from oborona.desk.call import Question, ask
from oborona.desk.digest.recipient import gets_digest
from oborona.desk.messages.unicode_text import encodable
from oborona.desk.people.views import open_people
from oborona.desk.readers.addresses import own_addresses
from oborona.desk.readers.entries import open_persons
from oborona.desk.readers.release import BY_READER, TAKEN_BACK
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.people.caller import Caller
from oborona.people.digest_book import DigestBook
from oborona.people.rights import Right
from oborona.recheck.moves import Move, MoveStore
from oborona.reputation.personal import (
    EntryAction,
    PersonalEntryKind,
    PersonalEntrySource,
    mail_address,
)

MOST: Final = 200  # words of one answer


class OwnEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a reader's lists.

    Args:
        addresses: of the reader, for which it holds.
        texts: a fingerprint of a text: `what` names it and says nothing.
    """

    side: EntryAction
    kind: PersonalEntryKind
    what: str
    time: float  # Unix seconds, when it was said last
    source: PersonalEntrySource
    expires: float  # Unix seconds; 0 = never
    note: str
    addresses: tuple[str, ...]


class OwnLists(msgspec.Struct, frozen=True, kw_only=True):
    """A reader's lists.

    Args:
        addresses: all of theirs.
        entries: the newest first.
        contacts: how many people they know.
        factors: on the line from which on mail is spam, by address.
        everywhere: own lists hold for mail with several recipients, too.
        digest: the site sends digests, and this person gets one.
        digest_hour: that they chose; -1 = never, null = as the site.
        site_hour: of the site's digests.
    """

    addresses: tuple[str, ...]
    entries: tuple[OwnEntry, ...]
    contacts: int
    factors: dict[str, float]
    everywhere: bool
    digest: bool = False
    digest_hour: int | None = None
    site_hour: int = 0


class OwnStatementsQuestion(Question, kw_only=True, forbid_unknown_fields=True):
    """What one has said."""

    before: EventId | None = None  # the next page: `next` of the one before
    most: Annotated[int, Meta(ge=1, le=MOST)] = 50


class OwnStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a reader on a letter.

    Args:
        what: complaint or pardon.
        here: it was said on the reader's page.
        taken_back: by the reader.
        stands: something follows from it, or may yet.
        message: id; empty = the letter is no longer known.
        moved: what became of the copy that was moved for it: decided, issued, done, kept, failed,
            undone; empty = none was.
        moves: ids of these moves.
    """

    id: int
    what: EventKind
    time: float  # Unix seconds
    address: str
    here: bool
    taken_back: bool
    stands: bool
    message: str = ""
    sender: str = ""
    subject: str = ""
    moved: str = ""
    moves: tuple[int, ...] = ()


class OwnStatements(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader has said, the newest first."""

    words: tuple[OwnStatement, ...]
    next: int | None  # `before` of the next page; None = there is none


@ask("own.lists", Right.OWN, scoped=True)
def show_own_lists(site: Site, caller: Caller, asked: Question) -> OwnLists:
    """Return whom a reader lets in and keeps out, and how strictly their mail is looked at."""
    addresses, now = own_addresses(caller), time.time()
    found = dict[tuple[EntryAction, PersonalEntryKind, str], OwnEntry]()
    contacts, factors = set[str](), dict.fromkeys(addresses, 1.0)
    settings = site.loaded.settings
    if (site.state / state_files.PERSONS).exists():
        with open_persons(site, make=False) as store:
            for address in addresses:
                kept = store.of(address)
                factors[address] = kept.strictness
                for one in kept.entries:
                    if one.expired(now):
                        continue
                    if one.side is EntryAction.CONTACT:
                        contacts.add(one.value)
                        continue
                    name = one.side, one.kind, one.value
                    before = found[name].addresses if name in found else ()
                    found[name] = OwnEntry(
                        side=one.side,
                        kind=one.kind,
                        what=one.value,
                        time=max(one.time, found[name].time if name in found else 0.0),
                        source=one.source,
                        expires=one.expires,
                        note=one.note,
                        addresses=tuple(dict.fromkeys((*before, address))),
                    )
    gets, hour = _digest(site, caller)
    lists = OwnLists(
        addresses=addresses,
        entries=tuple(sorted(found.values(), key=lambda one: -one.time)),
        contacts=len(contacts),
        factors=factors,
        everywhere=bool(settings.doors.delivery.listen),
        digest=gets,
        digest_hour=hour,
        site_hour=settings.console.digest_hour,
    )
    return encodable(lists)


@ask("own.said", Right.OWN, scoped=True)
def list_own_words(site: Site, caller: Caller, asked: OwnStatementsQuestion) -> OwnStatements:
    """Return what a reader has said of letters, and what became of it."""
    addresses = own_addresses(caller)
    path = site.state / state_files.EVENTS
    if not path.exists():
        return OwnStatements(words=(), next=None)
    with site.as_owner(), EventLog(path, make=False) as log:
        events = log.words_of(addresses, before=asked.before, most=asked.most)
    numbers = sorted({event.ident for event in events if event.ident is not None})
    entries = asyncio.run(_entries(site, numbers))
    moves = _moves(site, numbers)
    words = tuple(_word(event, entries, moves) for event in events)
    full = len(events) == asked.most
    return encodable(OwnStatements(words=words, next=events[-1].id if full else None))


def _digest(site: Site, caller: Caller) -> tuple[bool, int | None]:
    """Return whether a caller may get digests, and the hour that they chose."""
    console, path = site.loaded.settings.console, site.state / state_files.PEOPLE
    if console.digest == "off" or not console.url or not path.exists():
        return False, None
    with site.as_owner(), open_people(site) as people:
        person = people.find(caller.name)
        if person is None or not gets_digest(person):
            return False, None
        with DigestBook(site.state / state_files.DIGESTS) as book:
            return True, book.of(person.id).hour


def _word(
    event: StoredEvent, entries: dict[int, JournalEntry], moves: dict[int, list[Move]]
) -> OwnStatement:
    entry = entries.get(event.ident) if event.ident is not None else None
    if entry is not None and not _came_to(entry, event.person):
        entry = None  # the id was taken out of somebody else's letter
    mine = [
        move
        for move in moves.get(event.ident or 0, [])
        if move.event == BY_READER and mail_address(move.recipient) == event.person
    ]
    return OwnStatement(
        id=event.id,
        what=event.what,
        time=event.time,
        address=event.person,
        here=event.way is EventChannel.CONSOLE,
        taken_back=event.rules == (TAKEN_BACK,),
        stands=event.decided is None or event.counts or event.own,
        message="" if entry is None else to_text(entry.id),
        sender="" if entry is None else entry.header_from or entry.sender,
        subject="" if entry is None else entry.subject,
        moved=str(mine[-1].state) if mine else "",
        moves=tuple(move.id for move in mine if move.undoes is None),
    )


def _came_to(entry: JournalEntry, person: str) -> bool:
    return person in map(mail_address, entry.recipients)


async def _entries(site: Site, numbers: list[int]) -> dict[int, JournalEntry]:
    found = dict[int, JournalEntry]()
    if not numbers or not (site.state / state_files.JOURNAL).exists():
        return found
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        for number in numbers:
            entry = await journal.get(number)
            if entry is not None:
                found[number] = entry
    return found


def _moves(site: Site, numbers: list[int]) -> dict[int, list[Move]]:
    path = site.state / state_files.MOVES
    if not numbers or not path.exists():
        return {}
    found = dict[int, list[Move]]()
    with MoveStore(path, make=False) as store:
        for move in store.of_all(numbers):
            found.setdefault(move.message, []).append(move)
    return found
