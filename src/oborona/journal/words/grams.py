"""What search files know of messages: the runs of three letters that are in them; pure.

A word that stands anywhere in a message has all its runs there, so messages that lack one need not
be read.  What is left is read, and compared as if there were no search files: they never decide.
Texts are folded here, more than SQLite's LIKE folds.  Addresses have words of their own beside the
runs: `journal.words.addresses`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_network
from typing import Any, Final

import msgspec

from oborona.journal.query import VERDICTS, JournalQuery, QueryField, QueryTerm, parse_id
from oborona.journal.words.addresses import (
    address_words,
    asked_domain,
    asked_words,
    wide_words,
)

COLUMNS: Final = (
    "id, sender, header_from, recipients, subject, client_ip, helo, login, queue_id, message_id, "
    "decided_by, rules, door"
)
_MESSAGE_ID: Final = COLUMNS.split(", ").index("message_id")
GRAMS: Final = 16  # of a word: more tell no more
_NAMES: Final = re.compile(r'"name":("[^"\\]*")')
_DOOR: Final = "/{}/"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+\*?")
_V4, _V6, _START = 0x4E00, 0x4F00, 0x4DFF  # letters that fold to themselves, for octets and before
_IN_TEXT: Final = (
    QueryField.FROM,
    QueryField.TO,
    QueryField.SUBJECT,
    QueryField.HELO,
    QueryField.LOGIN,
    QueryField.DOMAIN,
)


class SearchExpression(msgspec.Struct, frozen=True):
    """What FTS5 is asked; of what is empty, nothing."""

    grams: str  # runs that a message has which may answer; empty = any may
    words: str  # words of addresses that it has
    rest: str  # runs of the conditions that have no words


def block_text(rows: Sequence[Sequence[Any]]) -> tuple[str, str]:
    """Return what is known of some messages: their text, and the words of their addresses.

    Args:
        rows: in the order of `COLUMNS`.
    """
    parts = dict[str, None]()  # each once: rules and people come again and again
    for row in rows:
        *texts, decided_by, rules, door = map(_text, row[1:])
        if texts[0] in texts[1]:  # the sender, in From
            del texts[0]
        parts |= dict.fromkeys((*texts, _octets(_text(row[5])), f'"{decided_by}"'))
        parts |= dict.fromkeys(_NAMES.findall(rules))
        parts[_DOOR.format(door)] = None
    messages = {_text(row[_MESSAGE_ID]) for row in rows}
    with_address = "\n".join(part for part in parts if "@" in part and part not in messages)
    words = address_words(_folded(with_address)) | wide_words(_folded("\n".join(messages)))
    return _folded("\n".join(parts)), " ".join(sorted(words))


def expression(query: JournalQuery) -> SearchExpression:
    """Return what FTS5 is asked for the messages that may answer a question."""
    words = {term: _words(term) for term in query.terms}
    return SearchExpression(
        _all_of(gram for term in query.terms for gram in _grams(term)),
        _all_of(word for found in words.values() for word in found),
        _all_of(gram for term, found in words.items() if not found for gram in _grams(term)),
    )


def named_ids(query: JournalQuery) -> list[int]:
    """Return the messages that words of a question may be the ids of, which no text has."""
    ids = [parse_id(term.text) for term in query.terms if term.field is QueryField.ANY]
    return [number for number in ids if number is not None]


def _all_of(words: Iterable[str]) -> str:
    """Return what FTS5 is asked for whoever has all of these."""
    return " AND ".join('"' + word.replace('"', '""') + '"' for word in dict.fromkeys(words))


def _words(term: QueryTerm) -> list[str]:
    """Return the words of addresses that a condition asks for."""
    if term.negated:
        return []
    text = _stem(term.text).casefold()
    if term.field is QueryField.DOMAIN and term.text == _stem(term.text):
        return asked_domain(text)
    if term.field is QueryField.ANY:
        return asked_words(text, wide=True)  # it may be a Message-ID
    return asked_words(text) if term.field in _IN_TEXT else []


def _grams(term: QueryTerm) -> list[str]:
    if term.negated:
        return []
    text = term.text
    match term.field:
        case QueryField.ANY:
            if text.lower() in VERDICTS:
                return []  # it may be meant, and no text has it
            return _of_text(_stem(text))
        case QueryField.CLIENT:
            return _of_network(text) if "/" in text else _of_text(text) + _runs(_octets(text, 1))
        case QueryField.RULE | QueryField.DECIDED:
            if not _PLAIN_NAME.fullmatch(text):
                return []
            return _of_text(f'"{text[:-1]}' if text.endswith("*") else f'"{text}"')
        case QueryField.DOOR:
            return _of_text(_DOOR.format(text))
        case field if field in _IN_TEXT:
            return _of_text(_stem(text))
    return []


def _stem(text: str) -> str:
    return text.removesuffix("*")


def _of_text(text: str) -> list[str]:
    runs = _runs(text.casefold())
    step = max(1, -(-len(runs) // GRAMS))
    return runs[::step]


def _of_network(text: str) -> list[str]:
    network = ip_network(text)
    whole = network.prefixlen // 8
    if isinstance(network.network_address, IPv6Address):
        return _runs(_packed(network.network_address.packed[:whole], _V6))
    return _runs(_octets(".".join(str(network.network_address).split(".")[:whole])))


def _runs(text: str) -> list[str]:
    return [text[place : place + 3] for place in range(len(text) - 2)]


def _octets(address: str, left: int = 0) -> str:
    """Return a letter for each octet of an address, so that three in a row are known as one.

    Args:
        address: as the mail server told it; an IPv4 address may be the beginning of one.
        left: how many numbers at the end may be unfinished.
    """
    if ":" in address:
        try:
            return "" if left else _packed(IPv6Address(address).packed, _V6)
        except ValueError:
            return ""
    parts = address.split(".")
    values = list[int]()
    for part in parts[: len(parts) - left]:
        if not (part.isascii() and part.isdigit() and len(part) <= 3 and int(part) < 256):
            break
        values.append(int(part))
    return _packed(bytes(values), _V4)


def _packed(octets: bytes, first: int) -> str:
    return chr(_START) + "".join(map(chr, (first + octet for octet in octets)))


def _folded(text: str) -> str:
    return text.replace("\0", " ").casefold()


def _text(stored: Any) -> str:
    if isinstance(stored, str):
        return stored
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else ""
