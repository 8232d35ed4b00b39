"""What a question asks of search files (`journal.words.slices`); pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Final

from oborona.journal.query import VERDICTS, JournalQuery, QueryField, QueryTerm, parse_id
from oborona.journal.search_condition import RULE_NAME
from oborona.journal.words.slices import (
    AskedWay,
    AskedWays,
    SlicedField,
    network_names,
    slices_of_name,
    way_of_name,
    way_of_text,
)

_Ways = list[AskedWay]
_TEXTS: Final = (SlicedField.FROM, SlicedField.TO, SlicedField.SUBJECT, SlicedField.REST)
_FIELDS: Final = {
    QueryField.FROM: (SlicedField.FROM,),
    QueryField.TO: (SlicedField.TO,),
    QueryField.SUBJECT: (SlicedField.SUBJECT,),
    QueryField.DOMAIN: (SlicedField.FROM, SlicedField.TO),
    QueryField.HELO: (SlicedField.REST,),
    QueryField.LOGIN: (SlicedField.REST,),
}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")


def asked_ways(query: JournalQuery) -> AskedWays:
    """Return what a question asks for: of each condition that slices know of."""
    ways = (_ways(term) for term in query.terms if not term.negated)
    return tuple(tuple(found) for found in ways if found and all(map(any, found)))


def named_ids(query: JournalQuery) -> list[int]:
    """Return the messages that words of a question may be the ids of, which no text has."""
    ids = [parse_id(term.text) for term in query.terms if term.field is QueryField.ANY]
    return [number for number in ids if number is not None]


def _ways(term: QueryTerm) -> _Ways:
    """Return each way to meet a condition; none where slices do not know of one."""
    text = term.text.casefold()
    match term.field:
        case QueryField.ANY:
            return _anywhere(term.text)
        case QueryField.CLIENT if "/" in text:
            return [_of_network(text)]
        case QueryField.CLIENT:
            return [way_of_text(text, SlicedField.REST, begins=True)]
        case QueryField.RULE if _PLAIN_NAME.fullmatch(text):
            return [way_of_name(text, SlicedField.RULE)]
        case QueryField.DECIDED if _PLAIN_NAME.fullmatch(text):
            return [way_of_name(text, SlicedField.DECIDED)]
        case QueryField.DOOR:
            return [way_of_name(text, SlicedField.DOOR)]
        case QueryField.VERDICT:
            return [way_of_name(text, SlicedField.VERDICT)]
        case field if field in _FIELDS:
            return _in_texts(text, _FIELDS[field], begins=field is QueryField.DOMAIN)
    return []


def _anywhere(word: str) -> _Ways:
    """Return the ways of a word of which nobody has said where it stands."""
    text, is_name = word.casefold(), RULE_NAME.fullmatch(word)
    if is_name and word.endswith("*"):
        return []  # the beginning of a rule's name, which has no slices
    ways = [*_in_texts(text, _TEXTS), way_of_name(text, SlicedField.DECIDED)]
    if verdict := VERDICTS.get(text):
        ways.append(way_of_name(verdict.value, SlicedField.VERDICT))
    return [*ways, way_of_name(text, SlicedField.RULE)] if is_name else ways


def _in_texts(text: str, fields: Sequence[SlicedField], *, begins: bool = False) -> _Ways:
    """Return the ways to have a text, of each field that may have it."""
    stem = text.removesuffix("*")
    begins = begins or (stem != text and stem[:1].isalnum())
    return [way_of_text(stem, field, begins=begins) for field in fields]


def _of_network(text: str) -> AskedWay:
    """Return what addresses of a network have: the networks around it that have names."""
    network = ip_network(text)
    names = network_names(network.network_address.packed)
    around = [name for name in names if len(name) // 2 <= network.prefixlen // 8]
    return AskedWay(
        slices=tuple(one for name in around for one in slices_of_name(name, SlicedField.CLIENT))
    )
