"""Searches the journal, newest first.

The verdicts are read backwards by their ids, which are in order of time, until enough are found, so
a search for today's mail reads only today's.  A queue id, a Message-ID and an id have an index in
the journal.  Of other words the search files (`journal.words`) tell which stretches may have them;
every message that is shown was compared with the question itself.

The journal has every message that was judged whole.  Messages refused at connect, MAIL FROM or RCPT
TO are in the log alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from oborona import ident, sqlite_file, state_files
from oborona.journal import schema
from oborona.journal.query import VERDICTS, JournalQuery, QueryField, QueryTerm, parse_id
from oborona.journal.texts import from_json, message_key, unpack_text
from oborona.journal.words.reader import JournalStretch, SearchReader
from oborona.types import Action, RuleHit, RuleMode

REASONS: Final = 2  # that a row shows
FIRST_ROWS: Final = 256  # read at once, where all are to be read: some milliseconds, then more
MOST_ROWS: Final = 4096
_PLACE: Final = "SELECT id FROM verdict WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?"
_INDEXED: Final = (QueryField.QUEUE, QueryField.ID, QueryField.MESSAGE)
COLUMNS: Final = (
    "id, time, verdict, score, line, decided_by, queue_id, message_id, client_ip, helo, sender, "
    "header_from, recipients, login,"
    " subject, size, rules"
)
_RULES: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])
_RULE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*\*?")
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

# A fact of the evidence, whose values stand in the order of a list of names.
_LIST_SQL: Final = (
    "EXISTS (SELECT 1 FROM evidence e JOIN names n ON n.id = e.shape JOIN json_each("
    "CASE WHEN json_valid(n.names) THEN n.names ELSE '[]' END) k ON k.value = 'list_id' "
    "WHERE e.id = verdict.id AND e.facts LIKE ? ESCAPE '\\' AND CASE WHEN typeof(e.facts) = 'text' "
    "AND json_valid(e.facts) THEN json_extract(e.facts, '$[' || k.key || ']') LIKE ? ESCAPE '\\' END)"
)

Condition = tuple[str, list[object]]
"""SQL, and its values."""


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """One message in the results of a search."""

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

    @property
    def reasons(self) -> tuple[RuleHit, ...]:
        """The live rules that weigh most."""
        live = [hit for hit in self.rules if hit.mode is RuleMode.LIVE]
        return tuple(sorted(live, key=lambda hit: -abs(hit.score))[:REASONS])


class JournalSearch:
    """The journal, open for searching; to be used by one thread, and closed.

    Args:
        path: the journal; its search files lie beside it.
        clock: seconds, for how long a search takes.

    Raises:
        StoreError: there is none, or it can't be read; methods raise it too.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._db = schema.open_reader(path)
        self._db.create_function("folded", 1, _folded, deterministic=True)
        self._db.create_function("within", 2, _within, deterministic=True)
        self._db.create_function("begins", 2, _begins, deterministic=True)
        self._db.create_function("in_domain", 2, _in_domain, deterministic=True)
        self._words = SearchReader(path.with_name(state_files.SEARCH), self._db)
        self._clock = clock
        self._reached: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @property
    def reached(self) -> int | None:
        """The id below which the last search is to go on.

        None = it came to its end, or found as many as were wanted.
        """
        return self._reached

    @property
    def missing(self) -> list[str]:
        """Days that the last search has read whole, since their search file is missing or damaged,
        as 2026-11-23.
        """
        return self._words.missing

    def find(
        self, query: JournalQuery, most: int, *, within_s: float | None = None
    ) -> Iterator[SearchHit]:
        """Yield messages as they are found, newest first; a row that is damaged is passed over.

        Args:
            query: what to find.
            most: messages.
            within_s: seconds after which it ends, and `reached` says where; None = never.
        """
        self._reached = None
        return self._messages(query, most, within_s)

    def _messages(
        self, query: JournalQuery, most: int, within_s: float | None
    ) -> Iterator[SearchHit]:
        where, values = condition(query)
        sql = f"SELECT {COLUMNS} FROM verdict WHERE {where} AND id > ? AND id <= ? ORDER BY id DESC"  # noqa: S608 - made of names of ours
        ends = self._clock() + within_s if within_s is not None else None
        number = 0
        try:
            for stretch in self._stretches(query, ends):
                for row in self._db.execute(sql, (*values, stretch.after, stretch.last)):
                    entry = _search_hit(row)
                    if entry is not None:
                        yield entry
                        number += 1
                        if number >= most:
                            return
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error

    def _stretches(self, query: JournalQuery, ends: float | None) -> Iterator[JournalStretch]:
        """Yield stretches of the journal that may have what is asked for, each read in an instant,
        until it is time to end.
        """
        first = -1 if query.since is None else ident.first_id_at(query.since) - 1
        last = ident.HIGHEST if query.until is None else ident.first_id_at(query.until) - 1
        if query.before is not None:
            last = min(last, query.before - 1)
        if any(term.field in _INDEXED and not term.negated for term in query.terms):
            yield JournalStretch(first, last, short=True)
            return
        rows = FIRST_ROWS
        for stretch in self._words.stretches(query, first, last):
            below = stretch.last
            while below > stretch.after:
                after = stretch.after if stretch.short else self._after(stretch, below, rows)
                yield JournalStretch(after, below)
                below, rows = after, min(2 * rows, MOST_ROWS)
                if ends is not None and self._clock() >= ends and below > first:
                    self._reached = below + 1
                    return

    def _after(self, stretch: JournalStretch, below: int, rows: int) -> int:
        """Return where some rows of a stretch begin."""
        found = self._db.execute(_PLACE, (stretch.after, below, rows)).fetchone()
        return stretch.after if found is None else int(found[0])

    def oldest(self) -> float | None:
        """Return when the oldest message came that the journal has, Unix seconds.

        None where it has none.
        """
        try:
            row = self._db.execute("SELECT time FROM verdict ORDER BY id LIMIT 1").fetchone()
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error
        return None if row is None else float(row[0])


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
    if query.before is not None:
        parts.append("id < ?")
        values.append(query.before)
    for bound in query.bounds:
        parts.append(f"score {bound.sign} ?")
        values.append(bound.score)
    for size in query.sizes:
        parts.append(f"size {size.sign} ?")
        values.append(size.octets)
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
        case QueryField.DOMAIN:
            return _domain(text)
        case QueryField.LIST:
            return _LIST_SQL, [f"%{_escaped(text)}%", f"%{_escaped(text)}%"]
        case QueryField.RULE:
            return _rule(text)
        case QueryField.VERDICT:
            return "verdict = ?", [text]
        case QueryField.DECIDED:
            return "decided_by LIKE ? ESCAPE '\\'", [_starred(text)]
        case QueryField.QUEUE:
            return "queue_id = ?", [text]
        case QueryField.ID:
            number = parse_id(text)
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
    number = parse_id(text)
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
    if len(text) > 1 and text.endswith("*"):
        stem = text[:-1]
        sql, values = _contain(columns, stem)
        begins = " OR ".join(f"begins({column}, ?)" for column in columns)
        return f"({sql}) AND ({begins})", [*values, *[stem.casefold()] * len(columns)]
    if text.isascii():
        sql = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns)
        values = [f"%{_escaped(text)}%"] * len(columns)
        return sql, values
    sql = " OR ".join(f"instr(folded({column}), ?)" for column in columns)
    return sql, [text.casefold()] * len(columns)


def _domain(text: str) -> Condition:
    """A domain, or one below it, of the sender, of From or of a recipient."""
    columns = ("sender", "header_from", "recipients")
    sql, values = _contain(columns, text.removesuffix("*"))
    there = " OR ".join(f"in_domain({column}, ?)" for column in columns)
    return f"({sql}) AND ({there})", [*values, *[text.casefold()] * len(columns)]


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
    whole = address.split(".")[: int(bits) // 8]
    return address if len(whole) == 4 else ".".join((*whole, "%"))


def _begins(stored: Any, stem: str) -> bool:
    """Tell whether a word of a text begins so."""
    return _begin(stem).search(_folded(stored)) is not None


@lru_cache(maxsize=64)
def _begin(stem: str) -> re.Pattern[str]:
    first = r"(?<![^\W_])" if stem[0].isalnum() else ""
    return re.compile(first + re.escape(stem))


def _in_domain(stored: Any, domain: str) -> bool:
    return _of_domain(domain).search(_folded(stored)) is not None


@lru_cache(maxsize=64)
def _of_domain(domain: str) -> re.Pattern[str]:
    stem = domain.removesuffix("*")
    end = "" if stem != domain else r"(?![\w.-])"
    return re.compile(rf"@(?:[^\s@<>\"]*\.)?{re.escape(stem)}{end}")


@lru_cache(maxsize=8)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


@lru_cache(maxsize=65_536)
def _within(address: Any, network: str) -> bool:
    try:
        return ip_address(unpack_text(address)) in _network(network)
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
