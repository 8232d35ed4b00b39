"""What somebody asks of the journal, as a question that it can answer."""

from __future__ import annotations

import time
from typing import Final

import msgspec

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
from oborona.people.caller import Scope

_PEOPLE: Final = (QueryField.TO, QueryField.ANY, QueryField.DOMAIN)
"""Fields whose words may be of a recipient."""


def read_query(
    text: str, since: str = "", until: str = "", older: str = "", newer: str = "", *, now: float
) -> JournalQuery:
    """Return the question that somebody asks.

    Args:
        text: in the language of searches.
        since: span or moment, which holds before the text; empty = none.
        until: the same; of a day its end.
        older: id; only messages before it; empty = any.
        newer: id; only messages after it; empty = any.
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
        query = msgspec.structs.replace(query, before=_id(older))
    if newer:
        query = msgspec.structs.replace(query, after=_id(newer))
    return query


def _id(text: str) -> int:
    number = parse_id(text)
    if number is None:
        raise BadQuery(f"{text[:50]!a} is no ID")
    return number


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


def within_scope(query: JournalQuery, scope: Scope) -> JournalQuery:
    """Return a question that asks what a small scope covers, and little more: the search files
    know words of addresses, and nothing of scopes.
    """
    names = [*(f"@{domain}" for domain in scope.domains or ()), *scope.addresses]
    if scope.whole or len(names) != 1 or len(query.terms) >= MOST_TERMS:
        return query
    term = QueryTerm(QueryField.TO, names[0])
    return msgspec.structs.replace(query, terms=(*query.terms, term))
