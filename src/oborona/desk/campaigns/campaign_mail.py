"""The mail of a campaign, as the journal and the counters have it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.messages.search import open_search
from oborona.desk.messages.unicode_text import escaped
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.ident import from_text, to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.journal.query import JournalQuery, QueryField, QueryTerm
from oborona.message.hashing import ShingleType
from oborona.people.caller import Scope
from oborona.types import Shingle

SEARCHED: Final = 200  # messages of the same subject that are held against a campaign
SEARCH_S: Final = 1.0
_WHOLE: Final = (ShingleType.TEXT, ShingleType.TEMPLATE)
_FILES: Final = (ShingleType.PICTURE, ShingleType.PICTURE_HASH, ShingleType.CHECKSUM)
_SIGNED: Final = 1 << 63  # SQLite's integers have a sign


class CampaignMail(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of a campaign that were found, the newest first.

    Args:
        messages: ids, as in X-Mras-Id.
        clients: addresses that they came from.
        subjects: of them.
        verdicts: how many were judged how.
        complete: False: there may be more.
    """

    messages: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    verdicts: dict[str, int] = {}
    complete: bool = False


def whole_pieces(log: EventLog, campaign: int) -> list[Shingle]:
    """Return the pieces by which a copy of a campaign's mail is known for certain."""
    rows = log.rows("SELECT type, hash FROM campaign_piece WHERE campaign = ?", (campaign,))
    return [Shingle(kind, value + _SIGNED) for kind, value in rows if kind in (*_WHOLE, *_FILES)]


async def journaled(site: Site, numbers: Sequence[int]) -> dict[int, JournalEntry]:
    """Return those messages that the journal still has.

    Raises:
        StoreError: it can't be read.
    """
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        entries = [await journal.get(number) for number in dict.fromkeys(numbers)]
    return {entry.id: entry for entry in entries if entry is not None}


def campaign_entries(
    site: Site, pieces: Sequence[Shingle], known: Sequence[int], since: float
) -> tuple[list[JournalEntry], bool]:
    """Return messages of a campaign, the newest first, and whether these are all: those that people
    spoke of, and those with their subjects that have a piece of it.

    Args:
        site: whose.
        pieces: of the campaign.
        known: ids of messages that people spoke of.
        since: Unix seconds.

    Raises:
        StoreError: the journal can't be read.
    """
    entries = asyncio.run(journaled(site, known))
    subjects = sorted({entry.subject for entry in entries.values() if entry.subject})[:3]
    found, complete = _searched(site, subjects, since)
    entries |= {
        entry.id: entry
        for entry in asyncio.run(journaled(site, found)).values()
        if not set(pieces).isdisjoint(entry.shingles)
    }
    return sorted(entries.values(), key=lambda entry: -entry.id), complete


def campaign_mail(
    site: Site, pieces: Sequence[Shingle], known: Sequence[int], since: float
) -> CampaignMail:
    """Return the messages of a campaign; see `campaign_entries`."""
    try:
        newest, complete = campaign_entries(site, pieces, known, since)
    except StoreError as error:
        site.notice(f"{error}; the messages of the campaign are not known")
        return CampaignMail()
    verdicts = dict[str, int]()
    for entry in newest:
        verdicts[entry.verdict.value] = verdicts.get(entry.verdict.value, 0) + 1
    return CampaignMail(
        messages=tuple(to_text(entry.id) for entry in newest),
        clients=tuple(dict.fromkeys(entry.client_ip for entry in newest if entry.client_ip)),
        subjects=tuple(dict.fromkeys(escaped(entry.subject) for entry in newest if entry.subject)),
        verdicts=verdicts,
        complete=complete,
    )


def _searched(site: Site, subjects: Sequence[str], since: float) -> tuple[list[int], bool]:
    """Return messages with some subjects, and whether these are all."""
    numbers, complete, ends = list[int](), True, time.monotonic() + SEARCH_S
    with open_search(site, Scope()) as search:
        for subject in subjects:
            term = QueryTerm(QueryField.SUBJECT, subject[:100])
            left = max(0.01, ends - time.monotonic())
            query = JournalQuery(terms=(term,), since=since)
            hits = [from_text(hit.id) for hit in search.find(query, SEARCHED, within_s=left)]
            numbers += [number for number in hits if number is not None]
            complete &= search.reached is None and len(hits) < SEARCHED
    return numbers, complete
