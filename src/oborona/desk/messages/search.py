"""Searches in the journal as a caller may make them: what is asked, and of whose mail."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

import msgspec

from oborona import state_files
from oborona.desk.configured_site import ConfiguredSite
from oborona.ident import HIGHEST
from oborona.journal.query import (
    MOST_TERMS,
    BadQuery,
    JournalQuery,
    QueryField,
    QueryTerm,
    parse_id,
    parse_moment,
    parse_query,
)
from oborona.journal.recipient_scope import Covers
from oborona.journal.search import JournalSearch
from oborona.people.caller import Scope
from oborona.recheck.moves import MoveStore

MOST_MOVED: Final = 5_000  # copies that a search among them looks at: some milliseconds

_PEOPLE: Final = (QueryField.TO, QueryField.ANY, QueryField.DOMAIN)
"""Fields whose words may be of a recipient."""


def read_query(
    text: str, since: str = "", until: str = "", older: str = "", *, now: float
) -> JournalQuery:
    """Return the question that somebody asks.

    Args:
        text: in the language of searches.
        since: span or moment, which holds before the text; empty = none.
        until: the same; of a day its end.
        older: id; only messages before it; empty = any.
        now: Unix seconds.

    Raises:
        BadQuery: it can't be asked.
    """
    query = parse_query(text, now)
    if since:
        query = msgspec.structs.replace(query, since=parse_moment(since, now))
    if until:
        query = msgspec.structs.replace(query, until=parse_moment(until, now, end=True))
    if older:
        number = parse_id(older)
        if number is None:
            raise BadQuery(f"{older[:50]!a} is no ID")
        query = msgspec.structs.replace(query, before=number)
    return query


def people_named(text: str) -> str:
    """Return the recipients that a question may name, for the audit log; empty = none."""
    try:
        terms = parse_query(text, time.time()).terms
    except BadQuery:
        return ""
    named = [
        term.text
        for term in terms
        if term.field is QueryField.TO or (term.field in _PEOPLE and "@" in term.text)
    ]
    return " ".join(dict.fromkeys(named))


def covers(scope: Scope) -> Covers | None:
    """Return whose mail a scope covers; None = everybody's."""
    return None if scope.whole else scope.covers


def open_search(site: ConfiguredSite, scope: Scope) -> JournalSearch:
    """Return the journal, open for searching what a scope covers.

    Raises:
        StoreError: there is none, or it can't be read.
    """
    return JournalSearch(site.state / state_files.JOURNAL, covers=covers(scope))


def within_scope(query: JournalQuery, scope: Scope) -> JournalQuery:
    """Return a question that asks what a small scope covers, and little more: the search files
    know words of addresses, and nothing of scopes.
    """
    names = [*(f"@{domain}" for domain in scope.domains or ()), *scope.addresses]
    if scope.whole or len(names) != 1 or len(query.terms) >= MOST_TERMS:
        return query
    term = QueryTerm(QueryField.TO, names[0])
    return msgspec.structs.replace(query, terms=(*query.terms, term))


class MovedMessages(NamedTuple):
    """Messages of which copies were moved.

    Args:
        ids: of those that a caller may see.
        go_on: id before which further ones are to be looked for; None = these are all.
    """

    ids: tuple[int, ...]
    go_on: int | None


def moved_messages(site: ConfiguredSite, scope: Scope, before: int | None) -> MovedMessages:
    """Return the newest messages of which copies were moved.

    Args:
        site: whose moves.
        scope: whose copies.
        before: an id; only older messages; None = any.

    Raises:
        StoreError: the moves can't be read.
    """
    path = site.state / state_files.MOVES
    if not path.exists():
        return MovedMessages((), None)
    with MoveStore(path, make=False) as store:
        copies = store.moved_copies(before=HIGHEST if before is None else before, most=MOST_MOVED)
    ids = dict.fromkeys(message for message, recipient in copies if scope.covers(recipient))
    if len(copies) < MOST_MOVED:
        return MovedMessages(tuple(ids), None)
    last = copies[-1][0]
    if last == copies[0][0]:  # all are copies of one message
        return MovedMessages(tuple(ids), last)
    # of the last message there may be further copies: the next search has it whole
    return MovedMessages(tuple(ident for ident in ids if ident != last), last + 1)
