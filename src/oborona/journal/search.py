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

import re
from collections.abc import Iterator
from functools import lru_cache
from heapq import merge
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from oborona import ident, sqlite_file
from oborona.journal import schema
from oborona.journal.query import VERDICTS, JournalQuery, QueryField, QueryTerm
from oborona.journal.refusal import COLLAPSE_S, Told
from oborona.journal.texts import from_json, message_key, unpack_text
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
_RULE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*\*?")
_SIGNED: Final = re.compile(r"([0-9A-Za-z]{13})(?:\.[0-9A-Za-z]*)?")
_IN_TEXT: Final = {
    QueryField.FROM: ("sender", "header_from"),
    QueryField.TO: ("recipients",),
    QueryField.SUBJECT: ("subject",),
    QueryField.HELO: ("helo",),
    QueryField.LOGIN: ("login",),
}
"""Fields whose words may stand anywhere in them → columns."""
_ANYWHERE: Final = (
    *(
        "sender",
        "header_from",
        "recipients",
        "subject",
        "client_ip",
        "helo",
        "login",
        "queue_id",
        "message_id",
    ),
)

Condition = tuple[str, list[object]]
"""SQL, and its values."""


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
        self._db.create_function("folded", 1, _folded, deterministic=True)
        self._db.create_function("within", 2, _within, deterministic=True)

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


def condition(query: JournalQuery) -> Condition:
    """Return what a question is in SQL: a condition on rows of `verdict`, and its values."""
    parts = list[str]()
    values = list[object]()
    if query.since is not None:
        parts.append("id >= ?")
        values.append(ident.first_id_at(query.since))
    if query.until is not None:
        parts.append("id < ?")
        values.append(ident.first_id_at(query.until))
    for bound in query.bounds:
        parts.append(f"score {bound.sign} ?")
        values.append(bound.score)
    for term in query.terms:
        sql, arguments = _of_term(term)
        parts.append(f"NOT ifnull(({sql}), 0)" if term.negated else f"({sql})")
        values += arguments
    return " AND ".join(parts) or "1", values


def _of_term(term: QueryTerm) -> Condition:
    text = term.text
    match term.field:
        case QueryField.ANY:
            return _anywhere(text)
        case QueryField.CLIENT:
            if "/" in text:
                return "client_ip LIKE ? AND within(client_ip, ?)", [_roughly(text), text]
            return "client_ip LIKE ? ESCAPE '\\'", [f"{_escaped(text)}%"]
        case QueryField.RULE:
            return _rule(text)
        case QueryField.VERDICT:
            return "verdict = ?", [text]
        case QueryField.DECIDED:
            return "decided_by LIKE ? ESCAPE '\\'", [_starred(text)]
        case QueryField.QUEUE:
            return "queue_id = ?", [text]
        case QueryField.ID:
            number = _number(text)
            return ("0", []) if number is None else ("id = ?", [number])
        case QueryField.MESSAGE:
            return _message(text)
        case field:
            return _contain(_IN_TEXT[field], text)


def _anywhere(text: str) -> Condition:
    """A word of which nobody has said where it stands."""
    sql, values = _contain(_ANYWHERE, text)
    more: list[Condition] = [("decided_by = ?", [text])]
    if _RULE_NAME.fullmatch(text):
        more.append(_rule(text))
    if action := VERDICTS.get(text.lower()):
        more.append(("verdict = ?", [action.value]))
    number = _number(text)
    if number is not None:
        more.append(("id = ?", [number]))
    for expression, arguments in more:
        sql += f" OR {expression}"
        values += arguments
    return sql, values


def _contain(columns: tuple[str, ...], text: str) -> Condition:
    """A text that stands anywhere in one of some columns.

    SQLite's LIKE knows capitals of ASCII alone; others are folded in Python, at ten times the
    price.
    """
    if text.isascii():
        sql = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns)
        values: list[object] = [f"%{_escaped(text)}%"] * len(columns)
        return sql, values
    sql = " OR ".join(f"instr(folded({column}), ?)" for column in columns)
    return sql, [text.casefold()] * len(columns)


def _rule(text: str) -> Condition:
    """A name among those of the rules that hit, as their JSON has it."""
    return "rules LIKE ? ESCAPE '\\'", [
        f'%"name":"{_starred(text)}' + ("%" if text.endswith("*") else '"%')
    ]


def _message(text: str) -> Condition:
    """A Message-ID with or without its brackets, whichever way it came."""
    bare = text.strip("<>")
    forms = [bare, f"<{bare}>"]
    return "message_key IN (?, ?) AND message_id IN (?, ?)", [*map(message_key, forms), *forms]


def _number(text: str) -> int | None:
    """Return the id that a word names: bare, or signed as X-Mras-Id has it."""
    match = _SIGNED.fullmatch(text)
    return None if match is None else ident.from_text(match[1])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _starred(text: str) -> str:
    """Return a LIKE pattern of a name; a star at its end is any rest."""
    return f"{_escaped(text[:-1])}%" if text.endswith("*") else _escaped(text)


def _folded(stored: Any) -> str:
    if isinstance(stored, bytes):
        return stored.decode("utf-8", "replace").casefold()
    return stored.casefold() if isinstance(stored, str) else ""


def _roughly(network: str) -> str:
    """Return a LIKE pattern of the addresses among which those of a network are: the dear question
    is asked of fewer.
    """
    address, _, bits = network.partition("/")
    if ":" in address:
        return "%:%"
    return ".".join((*address.split(".")[: int(bits) // 8], "%"))


@lru_cache(maxsize=8)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


@lru_cache(maxsize=65_536)
def _within(address: Any, network: str) -> bool:
    try:
        text = unpack_text(address)
        if "/" not in text:
            return ip_address(text) in _network(network)
        one, other = ip_network(text), _network(network)  # of refusals that share a reference
        return one.version == other.version and one.overlaps(other)
    except ValueError:
        return False


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
