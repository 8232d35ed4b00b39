"""What of a reader's own mail went into Junk, or was refused, in the last days."""

from __future__ import annotations

import asyncio
import time
from email.utils import parseaddr
from enum import StrEnum
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.messages.found_messages import FoundMessage, rows_of
from oborona.desk.messages.reader_words import because
from oborona.desk.site import Site
from oborona.errors import PolicyError, StoreError
from oborona.ident import HIGHEST, from_text, to_text
from oborona.journal.entry import CopyDelivery
from oborona.journal.queries import JournalReader
from oborona.journal.query import JournalQuery, QueryField, QueryTerm, parse_id
from oborona.journal.search import JournalSearch
from oborona.journal.search_hit import SearchHit
from oborona.people.caller import Scope
from oborona.policy.load import Policy
from oborona.recheck.moves import MoveState, MoveStore
from oborona.reputation.personal import mail_address
from oborona.types import Action

INBOX: Final = "INBOX"  # as IMAP names it, in any case


class OwnMailFate(StrEnum):
    """What became of a message."""

    JUNK = "junk"  # at once, or moved there later
    MOVED = "moved"  # into Junk, and elsewhere since
    REFUSED = "refused"
    DEFERRED = "deferred"  # its mail server was asked to come again


class OwnMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message for a reader, or somebody who was refused."""

    id: str
    time: float  # Unix seconds
    fate: OwnMailFate
    sender: str
    header_from: str
    subject: str  # empty where it was refused before its content
    recipients: tuple[str, ...]  # one's own addresses
    because: str  # in words for readers
    author: str = ""  # address that lists may name: in From, else of the envelope; empty = none
    where: str = ""  # mailbox that it was moved to


class OwnMail(msgspec.Struct, frozen=True, kw_only=True):
    """A reader's own mail, the newest first.

    Args:
        messages: that were kept away.
        older: id that asks for the next page; empty = there is none.
        reached: id; the time was over when all above it was searched; empty = it was enough.
        since: how far back was asked for, Unix seconds.
    """

    messages: tuple[OwnMessage, ...]
    older: str
    reached: str
    since: float


def own_mail(
    site: Site,
    scope: Scope,
    address: str = "",
    *,
    since: float,
    limit: int,
    older: str,
    within_s: float,
) -> OwnMail:
    """Return what was kept from a reader.

    Args:
        site: whose journal.
        scope: whose mail: its addresses.
        address: of these one alone; empty = all.
        since: Unix seconds.
        limit: messages.
        older: id; messages before it.
        within_s: seconds that it may take.

    Raises:
        NotFoundError: the address is not theirs.
        CallError: they have none, or no id is one.
    """
    if address and not scope.covers(address):
        raise NotFoundError("that address is not yours")
    addresses = frozenset({address.lower()} if address else scope.addresses)
    if not addresses:
        raise CallError("whose mail? name an address")
    before = parse_id(older) if older else None
    if older and before is None:
        raise CallError(f"{older[:50]!a} is no ID")
    own = Scope(domains=frozenset(), addresses=addresses)
    hits, reached = _kept_away(site, own, since, limit, before, within_s)
    copies = asyncio.run(_copies(site, hits, own))
    policy = _policy(site)
    rows = rows_of(site, hits, own)
    messages = (
        _message(row, hit, copies.get(hit.id, []), policy)
        for row, hit in zip(rows, hits, strict=True)
    )
    full = len(hits) == limit
    return OwnMail(
        messages=tuple(message for message in messages if message is not None),
        older=reached or (hits[-1].id if full else ""),
        reached=reached,
        since=since,
    )


def _kept_away(
    site: Site, own: Scope, since: float, limit: int, before: int | None, within_s: float
) -> tuple[list[SearchHit], str]:
    """Return what was not let in, and the id above which all was searched in that time.

    Each address is asked for by itself, for of these the search files know.
    """
    found, reached, ends = dict[str, SearchHit](), 0, time.monotonic() + within_s
    path = site.state / state_files.JOURNAL
    with JournalSearch(path, covers=own.covers, files=site.search_files) as journal:
        for address in sorted(own.addresses):
            query = JournalQuery(
                terms=(
                    QueryTerm(QueryField.TO, address.encode("utf-8", "replace").decode()),
                    QueryTerm(QueryField.VERDICT, Action.ACCEPT.value, negated=True),
                ),
                since=since,
                before=before,
            )
            left_s = max(0.0, ends - time.monotonic())
            found |= {hit.id: hit for hit in journal.find(query, limit, within_s=left_s)}
            reached = max(reached, journal.reached or 0)
        for number in _moved(site, own, since, limit, before):
            named = JournalQuery(
                terms=(QueryTerm(QueryField.ID, to_text(number)),), since=since, before=before
            )
            found |= {hit.id: hit for hit in journal.find(named, 1)}
    # below the highest place that a search came to, others may have been missed
    known = (hit for name, hit in found.items() if name >= to_text(reached))
    hits = sorted(known, key=lambda hit: hit.id, reverse=True)[:limit]
    return hits, to_text(reached) if reached and len(hits) < limit else ""


def _moved(site: Site, own: Scope, since: float, limit: int, before: int | None) -> list[int]:
    """Return messages that may have been let in, and moved since."""
    path = site.state / state_files.MOVES
    if not path.exists():
        return []
    try:
        with MoveStore(path, make=False) as store:
            return store.moved_for(
                sorted(own.addresses), since=since, before=before or HIGHEST, most=limit
            )
    except StoreError as error:
        site.notice(f"{error}; what was moved is not told")
        return []


async def _copies(site: Site, hits: list[SearchHit], own: Scope) -> dict[str, list[CopyDelivery]]:
    """Return where one's own copies went, by id."""
    found = dict[str, list[CopyDelivery]]()
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        for hit in hits:
            number = from_text(hit.id)
            if hit.verdict is Action.SPAM and number is not None:
                went = await journal.went(number)
                found[hit.id] = [copy for copy in went if own.covers(copy.recipient)]
    return found


def _policy(site: Site) -> Policy | None:
    try:
        return site.policy()
    except PolicyError as error:
        site.notice(f"{error}; why mail was kept away is told in general words")
        return None


def _message(
    row: FoundMessage, hit: SearchHit, copies: list[CopyDelivery], policy: Policy | None
) -> OwnMessage | None:
    """Return a message as its reader sees it; None where all their copies went to the inbox."""
    if copies and not any(copy.spam for copy in copies):
        return None
    moves = [move for move in row.moves if move.state == MoveState.DONE and not move.back]
    out = [move for move in moves if move.target.upper() == INBOX]
    fate = OwnMailFate.REFUSED
    if hit.verdict is Action.TEMPFAIL:
        fate = OwnMailFate.DEFERRED
    elif hit.verdict is Action.SPAM:
        fate = OwnMailFate.MOVED if out else OwnMailFate.JUNK
    elif hit.verdict is Action.ACCEPT:
        if out or not moves:
            return None
        fate = OwnMailFate.JUNK
    return OwnMessage(
        id=row.id,
        time=row.time,
        fate=fate,
        sender=row.sender,
        header_from=row.header_from,
        subject=row.subject,
        recipients=row.recipients,
        because=because(hit, policy),
        author=mail_address(parseaddr(row.header_from)[1]) or mail_address(row.sender),
        where=moves[-1].target if moves else "",
    )
