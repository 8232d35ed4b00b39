"""What a query is in SQL: a condition on rows of messages, or of refusals under the same names.

SQLite calls functions of it back: who runs a condition has `add_functions` give them to it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final

from oborona import ident
from oborona.journal.query import VERDICTS, JournalQuery, QueryField, QueryTerm, parse_id
from oborona.journal.texts import message_key, unpack_text

RULE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*\*?")
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


def add_functions(db: sqlite3.Connection) -> None:
    """Have a connection know what conditions call back."""
    db.create_function("folded", 1, folded, deterministic=True)
    db.create_function("within", 2, within, deterministic=True)
    db.create_function("begins", 2, _begins, deterministic=True)
    db.create_function("in_domain", 2, _in_domain, deterministic=True)


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
    if query.among is not None:
        parts.append("id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(query.among))
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
        case QueryField.DOOR:
            return "door = ?", [text]
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
    if RULE_NAME.fullmatch(text):
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


def folded(stored: Any) -> str:
    """Return a stored text without capitals; what is none is empty."""
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
    # an address of refusals that share a reference is that of a whole network
    return ".".join((*address.split(".")[: min(int(bits) // 8, 3)], "%"))


def _begins(stored: Any, stem: str) -> bool:
    """Tell whether a word of a text begins so."""
    return _begin(stem).search(folded(stored)) is not None


@lru_cache(maxsize=64)
def _begin(stem: str) -> re.Pattern[str]:
    first = r"(?<![^\W_])" if stem[0].isalnum() else ""
    return re.compile(first + re.escape(stem))


def _in_domain(stored: Any, domain: str) -> bool:
    return _of_domain(domain).search(folded(stored)) is not None


@lru_cache(maxsize=64)
def _of_domain(domain: str) -> re.Pattern[str]:
    stem = domain.removesuffix("*")
    end = "" if stem != domain else r"(?![\w.-])"
    return re.compile(rf"@(?:[^\s@<>\"]*\.)?{re.escape(stem)}{end}")


@lru_cache(maxsize=8)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


@lru_cache(maxsize=65_536)
def within(address: Any, network: str) -> bool:
    """Tell whether a stored address, or the network of refusals that share a reference, is within a
    network, or has a part in it.
    """
    try:
        text = unpack_text(address)
        if "/" not in text:
            return ip_address(text) in _network(network)
        one, other = ip_network(text), _network(network)
        return one.version == other.version and one.overlaps(other)
    except ValueError:
        return False
