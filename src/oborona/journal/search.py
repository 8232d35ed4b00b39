"""Searches the journal, newest first.

The verdicts are read backwards by their ids, which are in order of time, until enough are found, so
a search for today's mail reads only today's.  Only a queue id, a Message-ID and an id have an
index.  An index of words would cost every message more than its verdict does; a search, some
hundred times a day, may take half a second.

Refusals at connect, MAIL FROM or RCPT TO are found between the messages: of those that are counted
together the newest that matches.  A condition that no refusal can meet (of subject, Message-ID, a
verdict that lets in) leaves them unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from oborona import ident, sqlite_file
from oborona.journal import schema
from oborona.journal.query import JournalQuery, QueryField
from oborona.journal.refusal import COLLAPSE_S, Told
from oborona.journal.search_condition import condition, folded, within
from oborona.journal.texts import from_json, unpack_text
from oborona.types import Action, RuleHit, RuleMode, Stage

REASONS: Final = 2  # that a row shows
COLUMNS: Final = (
    "id, time, verdict, score, line, decided_by, queue_id, message_id, client_ip, helo, sender, "
    "header_from, recipients, login,"
    " subject, size, rules"
)
_REFUSALS: Final = (
    "(SELECT *, NULL AS message_id, NULL AS message_key, '' AS header_from, '' AS subject, "
    "0 AS size FROM refusal) AS r"
)
_LAST: Final = "ifnull((SELECT h.last FROM refusal h WHERE h.id = r.head), time)"
_TIMES: Final = "ifnull((SELECT h.times FROM refusal h WHERE h.id = r.head), 1)"
_REFUSAL_COLUMNS: Final = f"{COLUMNS}, head, stage, told, network, {_TIMES}, {_LAST}"
_LET_IN: Final = (Action.ACCEPT.value, Action.SPAM.value)
_RULES: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """One message, or refusals before the content, in the results of a search."""

    id: str
    time: float  # Unix seconds
    verdict: Action
    score: float
    line: float
    decided_by: str
    queue_id: str
    message_id: str
    client: str
    helo: str
    sender: str
    header_from: str
    recipients: tuple[str, ...]
    login: str
    subject: str
    size: int
    rules: tuple[RuleHit, ...]
    stage: Stage = Stage.CONTENT  # of what was judged
    told: Told = Told.CONTENT  # where the client heard of it
    head: str = ""  # of refusals: the first of those that are counted together
    network: str = ""  # of refusals: of the client
    times: int = 1  # how many they are
    last: float | None = None  # of refusals: when the last of them was, Unix seconds

    @property
    def reasons(self) -> tuple[RuleHit, ...]:
        """The live rules that weigh most."""
        live = [hit for hit in self.rules if hit.mode is RuleMode.LIVE]
        return tuple(sorted(live, key=lambda hit: -abs(hit.score))[:REASONS])


class JournalSearch:
    """The journal, open for searching; to be used by one thread, and closed.

    Args:
        path: the journal.

    Raises:
        StoreError: there is none, or it can't be read; methods raise it too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = schema.open_reader(path)
        self._db.create_function("folded", 1, folded, deterministic=True)
        self._db.create_function("within", 2, within, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def find(self, query: JournalQuery, most: int) -> Iterator[SearchHit]:
        """Yield messages and refusals as they are found, newest first; a row that is damaged is
        passed over.

        Args:
            query: what to find.
            most: messages and refusals.
        """
        if _asks_of_content(query):
            return self._messages(query, most)
        found = (self._messages(query, most), self._refusals(query))
        # ids sort as their numbers do
        return islice(merge(*found, key=attrgetter("id"), reverse=True), most)

    def _messages(self, query: JournalQuery, most: int) -> Iterator[SearchHit]:
        where, values = condition(query)
        sql = f"SELECT {COLUMNS} FROM verdict WHERE {where} ORDER BY id DESC LIMIT ?"  # noqa: S608 - made of names of ours
        try:
            for row in self._db.execute(sql, (*values, most)):
                entry = _search_hit(row)
                if entry is not None:
                    yield entry
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error

    def _refusals(self, query: JournalQuery) -> Iterator[SearchHit]:
        where, values = condition(msgspec.structs.replace(query, since=None))
        if query.since is not None:  # of those that began before, more may have come since
            where += f" AND id >= ? AND {_LAST} >= ?"
            values += [ident.first_id_at(query.since - COLLAPSE_S), query.since]
        sql = f"SELECT {_REFUSAL_COLUMNS} FROM {_REFUSALS} WHERE {where} ORDER BY id DESC"  # noqa: S608 - made of names of ours
        heads = set[str]()
        try:
            for row in self._db.execute(sql, values):
                hit = _refusal_hit(row)
                if hit is not None and hit.head not in heads:
                    heads.add(hit.head)
                    yield hit
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error

    def oldest_refusal(self) -> float | None:
        """Return when the oldest refusal was that the journal has; None where it has none."""
        return self._first_time("refusal")

    def oldest(self) -> float | None:
        """Return when the oldest message came that the journal has, Unix seconds.

        None where it has none.
        """
        return self._first_time("verdict")

    def _first_time(self, table: str) -> float | None:
        sql = f"SELECT time FROM {table} ORDER BY id LIMIT 1"  # noqa: S608 - a name of ours
        try:
            row = self._db.execute(sql).fetchone()
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error
        return None if row is None else float(row[0])


def _asks_of_content(query: JournalQuery) -> bool:
    """Tell whether no refusal before the content can answer a question."""
    return any(
        not term.negated
        and (
            term.field in (QueryField.SUBJECT, QueryField.MESSAGE)
            or (term.field is QueryField.VERDICT and term.text in _LET_IN)
        )
        for term in query.terms
    )


def _search_hit(row: tuple[Any, ...]) -> SearchHit | None:
    try:
        (
            number, when, verdict, score, line, decided_by, queue_id, message_id, client, helo, sender, header_from, recipients,
            login, subject, size, rules,
        ) = row  # fmt: skip
        return SearchHit(
            id=ident.to_text(number),
            time=float(when),
            verdict=Action(verdict),
            score=float(score),
            line=float(line),
            decided_by=decided_by,
            queue_id=unpack_text(queue_id),
            message_id=unpack_text(message_id),
            client=unpack_text(client),
            helo=unpack_text(helo),
            sender=unpack_text(sender),
            header_from=unpack_text(header_from),
            recipients=from_json(recipients, _TEXTS),
            login=unpack_text(login),
            subject=unpack_text(subject),
            size=int(size),
            rules=from_json(rules, _RULES),
        )
    except (ValueError, TypeError):
        return None


def _refusal_hit(row: tuple[Any, ...]) -> SearchHit | None:
    *columns, head, stage, told, network, times, last = row
    hit = _search_hit(tuple(columns))
    try:
        return hit and msgspec.structs.replace(
            hit,
            head=ident.to_text(head),
            stage=Stage(stage),
            told=Told(told),
            network=unpack_text(network),
            times=int(times),
            last=float(last),
        )
    except (ValueError, TypeError):
        return None
