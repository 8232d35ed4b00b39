"""Questions to the journal: what a line asks, and that no line does harm."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.journal.query import (
    MOST_TERMS,
    BadQuery,
    QueryField,
    QueryTerm,
    ScoreBound,
    SizeBound,
    parse_moment,
    parse_query,
)

NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("line", "terms"),
    [
        ("maria", [QueryTerm(QueryField.ANY, "maria")]),
        ("from:<maria@client.example> to:joe", [QueryTerm(QueryField.FROM, "maria@client.example"), QueryTerm(QueryField.TO, "joe")]),
        ("From:a SUBJECT:b", [QueryTerm(QueryField.FROM, "a"), QueryTerm(QueryField.SUBJECT, "b")]),
        ('"your parcel" -newsletter', [QueryTerm(QueryField.ANY, "your parcel"), QueryTerm(QueryField.ANY, "newsletter", negated=True)]),
        ('subject:"your parcel" -to:joe', [QueryTerm(QueryField.SUBJECT, "your parcel"), QueryTerm(QueryField.TO, "joe", negated=True)]),
        ("Re: https://a.example/ a=b", [QueryTerm(QueryField.ANY, "Re:"), QueryTerm(QueryField.ANY, "https://a.example/"), QueryTerm(QueryField.ANY, "a=b")]),
        ("verdict:Junk verdict:refused", [QueryTerm(QueryField.VERDICT, "spam"), QueryTerm(QueryField.VERDICT, "reject")]),
        ("client:192.0.2.7/24 client:[2001:db8::1]", [QueryTerm(QueryField.CLIENT, "192.0.2.0/24"), QueryTerm(QueryField.CLIENT, "2001:db8::1")]),
        ('"never closed', [QueryTerm(QueryField.ANY, "never closed")]),
        ('from: "" -', [QueryTerm(QueryField.ANY, "from:"), QueryTerm(QueryField.ANY, "-")]),
        ("a\0b", [QueryTerm(QueryField.ANY, "a"), QueryTerm(QueryField.ANY, "b")]),
        ("\udcff", [QueryTerm(QueryField.ANY, "?")]),
        ("", []),
    ],
)  # fmt: skip
def test_a_line_asks_for(line: str, terms: list[QueryTerm]) -> None:
    assert list(parse_query(line, NOW).terms) == terms


def test_scores_and_times_are_bounds() -> None:
    query = parse_query("score>80 score<=120.5 since:2h until:2026-11-22", NOW)
    assert query.bounds == (ScoreBound(">", 80.0), ScoreBound("<=", 120.5))
    assert query.since == NOW - 7200
    assert query.until == time.mktime((2026, 11, 23, 0, 0, 0, 0, 0, -1))
    assert not query.terms


def test_moments_are_spans_days_and_days_with_a_time() -> None:
    assert parse_moment("90s", NOW) == NOW - 90
    assert parse_moment("2026-11-22", NOW) == time.mktime((2026, 11, 22, 0, 0, 0, 0, 0, -1))
    assert (
        parse_moment("2026-11-22 14:00", NOW)
        == parse_moment("2026-11-22T14:00:00", NOW)
        == parse_moment("2026-11-22", NOW) + 14 * 3600
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("verdict:good", "none of accept, spam, reject, tempfail"),
        ("score>high", "is no number"),
        ("score>nan", "is no number"),
        ("since:yesterday", "is no time"),
        ("until:2026-13-01", "is no time"),
        ("maria  score>high", r"score>80 \(at character 8\)"),
        ("size>much", "is no size"),
        ("size<10MBit", "is no size"),
        ("ip:192.0.2", "no address or network"),
        ("client:192.0.2.0/99", "is no network"),
        ("door:window", "none of milter, policy_service, exim"),
        ('door:""', "none of milter"),
        ("x " * (MOST_TERMS + 1), "more than"),
    ],
)
def test_what_cannot_be_asked_says_what_to_write(line: str, says: str) -> None:
    with pytest.raises(BadQuery, match=says):
        parse_query(line, NOW)


@given(st.text(max_size=300))
def test_any_line_is_a_question_or_said_to_be_none(line: str) -> None:
    with suppress(BadQuery):
        for term in parse_query(line, NOW).terms:
            term.text.encode()  # SQLite takes it
            assert "\0" not in term.text


def test_a_huge_line_is_cut_short_at_once() -> None:
    began = time.process_time()
    for line in ("a" * 1_000_000, '"' * 1_000_000, "-" * 1_000_000, "from:" * 200_000):
        try:
            parse_query(line, NOW)
        except BadQuery:
            continue
    assert time.process_time() - began < 5


def test_the_ends_of_the_calendar_are_times() -> None:
    assert parse_query("until:9999-12-31", NOW).until == pytest.approx(253_402_300_800, abs=86_400)
    since = parse_query("since:0001-01-01", NOW).since
    assert since is not None
    assert since < -62_000_000_000


@pytest.mark.parametrize(
    ("line", "sign", "octets"),
    [
        ("size>10M", ">", 10 << 20),
        ("size<200k", "<", 200 << 10),
        ("size>=1.5GiB", ">=", 3 << 29),
        ("SIZE<=7", "<=", 7),
    ],
)
def test_sizes_are_bounds(line: str, sign: str, octets: int) -> None:
    assert parse_query(line, NOW).sizes == (SizeBound(sign, octets),)


@pytest.mark.parametrize(
    ("line", "field", "text"),
    [
        ("ip:192.0.2.7", QueryField.CLIENT, "192.0.2.7/32"),
        ("ip:192.0.2.7/24", QueryField.CLIENT, "192.0.2.0/24"),
        ("ip:[2001:DB8::1]", QueryField.CLIENT, "2001:db8::1/128"),
        ("domain:@shop.example.", QueryField.DOMAIN, "shop.example"),
        ("list:<chess.example>", QueryField.LIST, "chess.example"),
        ("mari*", QueryField.ANY, "mari*"),
        ("door:Milter", QueryField.DOOR, "milter"),
        ("door:policy", QueryField.DOOR, "policy_service"),
        ("door:policy-service", QueryField.DOOR, "policy_service"),
    ],
)
def test_a_field_has_its_word(line: str, field: QueryField, text: str) -> None:
    assert parse_query(line, NOW).terms == (QueryTerm(field, text),)
