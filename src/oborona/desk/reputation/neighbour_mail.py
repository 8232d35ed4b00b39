"""The mail that an entity is in, the newest first, as far as it is found in time."""

from __future__ import annotations

import asyncio
import time
from typing import Final, NamedTuple

from oborona import state_files
from oborona.desk.messages.search import open_search
from oborona.desk.reputation.entity import EntityName
from oborona.desk.reputation.neighbour_pieces import is_of
from oborona.desk.site import Site
from oborona.ident import from_text, time_of_id
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.journal.query import JournalQuery, QueryField, QueryTerm
from oborona.journal.search_hit import SearchHit
from oborona.message.shingles import ShingleType
from oborona.people.caller import Scope
from oborona.types import Action

CHUNK: Final = 250  # messages that are looked through at once: some 30 ms
AT_ONCE: Final = 50  # messages that are read at once
LEAST_S: Final = 0.05  # for a search, however late it is

_SEARCHED: Final[dict[int, QueryField]] = {
    ShingleType.CLIENT_IP: QueryField.CLIENT,
    ShingleType.CLIENT_NETWORK: QueryField.CLIENT,
    ShingleType.AUTHOR: QueryField.FROM,
    ShingleType.AUTHOR_DOMAIN: QueryField.FROM,
    ShingleType.PROVED_SENDER: QueryField.FROM,
    ShingleType.ACCOUNT: QueryField.LOGIN,
    ShingleType.LIST: QueryField.LIST,
}
_AGAINST: Final = (Action.SPAM, Action.REJECT)


class EntityMail(NamedTuple):
    """A message with an entity in it, or refusals that are counted together."""

    times: int
    against: bool  # judged as spam, or refused
    last: float  # Unix seconds
    hit: SearchHit | None
    entry: JournalEntry | None


class EntityMailReader:
    """Reads the mail of entities within a time.

    Args:
        site: whose journal.
        since: Unix seconds; older mail is not wanted.
        within_s: seconds that all of it may take.
    """

    def __init__(self, site: Site, since: float, within_s: float) -> None:
        self._path = site.state / state_files.JOURNAL
        self._site = site
        self._since = since
        self._ends = time.monotonic() + within_s
        self.reached: float | None = None
        """How far back was looked, where that is less than was wanted: Unix seconds."""

    def mail_of(self, named: EntityName, most: int, *, whole: bool = True) -> list[EntityMail]:
        """Return the mail of an entity, the newest first.

        Args:
            named: which.
            most: messages.
            whole: with all that the journal has of each; else with the row that a search finds.

        Raises:
            StoreError: the journal can't be read.
        """
        field = _SEARCHED.get(named.type) if named.piece else None
        if field is None:
            return asyncio.run(self._walk(named, most))
        return self._search(named, QueryTerm(field, named.piece), most, whole=whole)

    def _search(
        self, named: EntityName, term: QueryTerm, most: int, *, whole: bool
    ) -> list[EntityMail]:
        query = JournalQuery(terms=(term,), since=self._since)
        left_s = max(LEAST_S, (self._ends - time.monotonic()) / 2)
        with open_search(self._site, Scope()) as search:
            hits = list(search.find(query, most, within_s=left_s))
            if search.reached is not None:
                self._stop(time_of_id(search.reached))
        if len(hits) == most:
            self._stop(hits[-1].time)
        entries = asyncio.run(self._entries(hits)) if whole else {}
        return [
            EntityMail(
                hit.times,
                hit.verdict in _AGAINST or bool(hit.head),
                hit.last or hit.time,
                hit,
                entry,
            )
            for hit in hits
            if is_of(named, hit, entry := entries.get(from_text(hit.id) or 0))
        ]

    async def _entries(self, hits: list[SearchHit]) -> dict[int, JournalEntry]:
        """Return the whole of messages, some at a time, as long as there is time."""
        numbers = [number for hit in hits if not hit.head and (number := from_text(hit.id))]
        entries = dict[int, JournalEntry]()
        async with await JournalReader.open(self._path) as journal:
            for begin in range(0, len(numbers), AT_ONCE):
                if time.monotonic() >= self._ends:
                    self._stop(time_of_id(numbers[begin]))
                    break
                some = await journal.some(numbers[begin : begin + AT_ONCE])
                entries |= {entry.id: entry for entry in some}
        return entries

    async def _walk(self, named: EntityName, most: int) -> list[EntityMail]:
        """Look through the newest messages: the search files do not know such entities."""
        found, before = list[EntityMail](), 0
        async with await JournalReader.open(self._path) as journal:
            while some := await journal.latest_below(before, CHUNK):
                for entry in some:
                    before = entry if isinstance(entry, int) else entry.id
                    if time_of_id(before) < self._since:
                        return found
                    if isinstance(entry, JournalEntry) and is_of(named, None, entry):
                        against = entry.verdict in _AGAINST
                        found.append(EntityMail(1, against, entry.time, None, entry))
                if len(found) >= most or time.monotonic() >= self._ends:
                    self._stop(time_of_id(before))
                    break
        return found[:most]

    def _stop(self, at: float) -> None:
        self.reached = max(at, self.reached or 0.0)
