"""Slices never lack a message that has what is asked for: of any text, any part of it that is long
enough; and few messages have them that have not.
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oborona.journal.query import JournalQuery, QueryField, QueryTerm
from oborona.journal.words.asked_ways import asked_ways
from oborona.journal.words.bits import any_bits, common_bits, twin_of_common_bits
from oborona.journal.words.message_slices import COLUMNS, common_runs, message_slices
from oborona.journal.words.slices import SLICES, AskedWays, asked_of_day, common_messages, in_order

PLACES = COLUMNS.split(", ")
PLAIN: dict[str, Any] = {
    "id": 1,
    "sender": "ann@news.example",
    "header_from": "Ann Example <ann@news.example>",
    "recipients": '["joe@shop.example"]',
    "subject": "lunch",
    "client_ip": "192.0.2.7",
    "helo": "mail.news.example",
    "login": "",
    "queue_id": "4QX1",
    "message_id": "<1@news.example>",
    "rules": '[{"name":"MASS_TEXT","score":3.0}]',
    "decided_by": "below-line",
    "door": "milter",
    "verdict": "accept",
}
FIELDS = {
    QueryField.FROM: ("sender", "header_from"),
    QueryField.TO: ("recipients",),
    QueryField.SUBJECT: ("subject",),
    QueryField.HELO: ("helo",),
    QueryField.LOGIN: ("login",),
    QueryField.ANY: ("sender", "recipients", "subject", "helo", "queue_id", "message_id", "login"),
}
TEXTS = st.text(st.characters(codec="utf-32"), max_size=40) | st.text(
    "aБß .@-\0İ😀\U0001d518", max_size=40
)


def row(**fields: Any) -> list[Any]:
    return [(PLAIN | fields)[name] for name in PLACES]


def asked(field: QueryField, text: str) -> AskedWays:
    return asked_ways(JournalQuery(terms=(QueryTerm(field, text),)))


def answer(rows: list[list[Any]], ways: AskedWays) -> list[int]:
    """Return the places of messages that may answer."""
    if not ways:
        return list(range(len(rows)))
    common = common_runs([row()] * 3)  # what is in the plain one is
    made, slices = message_slices(rows, common), asked_of_day(ways, common)
    assert len(made) == SLICES
    found = int.from_bytes(common_messages(slices, made.__getitem__), "little")
    counts = [int.from_bytes(one, "little").bit_count() for one in made]
    ordered = common_messages(in_order(slices, counts), made.__getitem__)
    assert found & ~int.from_bytes(ordered, "little") == 0, "fewer are asked for, never others"
    return [place for place in range(len(rows)) if found >> place & 1]


@given(st.sampled_from(sorted(FIELDS)), TEXTS, st.data())
def test_any_part_of_a_text_is_known(field: QueryField, text: str, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(FIELDS[field]))
    start = data.draw(st.integers(0, len(text)))
    part = text[start : data.draw(st.integers(start, len(text)))]
    rows = [row(), row(**{column: text}), row()]
    assert 1 in answer(rows, asked(field, part))


@given(TEXTS, st.text("abж1😀", min_size=3, max_size=8), st.sampled_from(' .-_@"<(😀\0'))
def test_the_beginning_of_a_word_is_known(before: str, word: str, mark: str) -> None:
    assume(word[0].isalnum())
    rows = [row(subject=f"{before}{mark}{word}"), row(subject=word), row(subject=f"a{word}")]
    found = answer(rows, asked(QueryField.SUBJECT, f"{word}*"))
    assert found[:2] == [0, 1]


@given(st.ip_addresses(), st.integers(0, 128))
def test_a_network_knows_its_addresses(address: Any, bits: int) -> None:
    network = ip_network((address, min(bits, address.max_prefixlen)), strict=False)
    assert 1 in answer([row(), row(client_ip=str(address))], asked(QueryField.CLIENT, str(network)))


@pytest.mark.parametrize(
    ("field", "text", "fields"),
    [
        (QueryField.CLIENT, "192.0.2.", {"client_ip": "192.0.2.77"}),
        (QueryField.CLIENT, "192.0.2.7", {"client_ip": "192.0.2.77"}),
        (QueryField.CLIENT, "2001:db8::", {"client_ip": "2001:db8::7"}),
        (QueryField.CLIENT, "fe80::/16", {"client_ip": "fe80::7%eth0"}),
        (QueryField.RULE, "mass_text", {}),
        (QueryField.RULE, "OTHER.one", {"rules": '[{"name":"A"},{"name":"OTHER.one","score":0}]'}),
        (QueryField.RULE, "MASS*", {}),
        (QueryField.DECIDED, "BELOW-line", {}),
        (QueryField.DECIDED, "below*", {}),
        (QueryField.DOOR, "proxy", {"door": "proxy"}),
        (QueryField.DOMAIN, "news.example", {}),
        (QueryField.DOMAIN, "example", {}),
        (QueryField.DOMAIN, "shop.exam*", {}),
        (QueryField.ANY, "MASS_TEXT", {}),
        (QueryField.ANY, "MASS_*", {}),
        (QueryField.ANY, "below-line", {}),
        (QueryField.ANY, "spam", {"verdict": "spam"}),
        (QueryField.ANY, "junk", {"verdict": "spam"}),
        (QueryField.ANY, "Junk", {"subject": "junk"}),
        (QueryField.VERDICT, "accept", {}),
        (QueryField.ANY, "192.0.2", {}),
        (QueryField.SUBJECT, "STRASSE", {"subject": "straße"}),
        (QueryField.SUBJECT, "lunch", {"subject": b"lunch \xff"}),
    ],
)
def test_a_condition_is_met(field: QueryField, text: str, fields: dict[str, Any]) -> None:
    assert 1 in answer([row(subject="x"), row(**fields)], asked(field, text))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (QueryField.SUBJECT, "dinner"),
        (QueryField.FROM, "lunch"),
        (QueryField.FROM, "nn@news*"),
        (QueryField.DOMAIN, "ews.example"),
        (QueryField.CLIENT, "192.0.3.0/24"),
        (QueryField.CLIENT, "192.0.2.8/32"),
        (QueryField.RULE, "MASS_TEX"),
        (QueryField.DECIDED, "below"),
        (QueryField.DOOR, "proxy"),
        (QueryField.VERDICT, "reject"),
        (QueryField.ANY, "junk"),
        (QueryField.ANY, "dinner"),
    ],
)
def test_a_condition_is_not_met(field: QueryField, text: str) -> None:
    """Chance may have one of these meet a message; the functions that spread bits are fixed."""
    assert answer([row()], asked(field, text)) == []


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (QueryField.SUBJECT, "ab"),
        (QueryField.LIST, "chess"),
        (QueryField.RULE, "MASS_*"),
        (QueryField.CLIENT, "10.0.0.0/8"),
    ],
)
def test_of_what_slices_do_not_know_they_say_nothing(field: QueryField, text: str) -> None:
    assert asked(field, text) == ()


def test_what_is_not_to_match_is_not_asked_for() -> None:
    term = QueryTerm(QueryField.SUBJECT, "lunch", negated=True)
    assert asked_ways(JournalQuery(terms=(term,))) == ()


def test_all_conditions_are_asked_for_together() -> None:
    rows = [
        row(),
        row(subject="x", login="joe.smith"),
        row(login="joe.smith"),
    ]
    terms = (QueryTerm(QueryField.SUBJECT, "lunch"), QueryTerm(QueryField.LOGIN, "joe.smith"))
    assert answer(rows, asked_ways(JournalQuery(terms=terms))) == [2]


OCTETS = st.binary(max_size=40)


@given(OCTETS, OCTETS)
def test_common_bits_are_those_of_the_twin(left: bytes, right: bytes) -> None:
    assert common_bits(left, right) == twin_of_common_bits(left, right)
    both = int.from_bytes(any_bits(left, right), "little")
    assert both == int.from_bytes(left, "little") | int.from_bytes(right, "little")


@pytest.mark.parametrize("given", [(), (b"",), (b"", b"", b""), ("", b""), (b"", 7), (None, b"")])
def test_bits_of_what_is_none_are_an_error(given: Any) -> None:
    with pytest.raises(TypeError):
        common_bits(*given)
