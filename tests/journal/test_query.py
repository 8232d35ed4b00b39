"""Questions to the journal: what a line asks, and that no line does harm."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.journal.query import MOST_TERMS, BadQuery, Bound, Field, Term, moment, parsed

NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("line", "terms"),
    [
        ("maria", [Term(Field.ANY, "maria")]),
        ("from:<maria@client.example> to:joe", [Term(Field.FROM, "maria@client.example"), Term(Field.TO, "joe")]),
        ("From:a SUBJECT:b", [Term(Field.FROM, "a"), Term(Field.SUBJECT, "b")]),
        ('"your parcel" -newsletter', [Term(Field.ANY, "your parcel"), Term(Field.ANY, "newsletter", negated=True)]),
        ('subject:"your parcel" -to:joe', [Term(Field.SUBJECT, "your parcel"), Term(Field.TO, "joe", negated=True)]),
        ("Re: https://a.example/ a=b", [Term(Field.ANY, "Re:"), Term(Field.ANY, "https://a.example/"), Term(Field.ANY, "a=b")]),
        ("verdict:Junk verdict:refused", [Term(Field.VERDICT, "spam"), Term(Field.VERDICT, "reject")]),
        ("client:192.0.2.7/24 client:[2001:db8::1]", [Term(Field.CLIENT, "192.0.2.0/24"), Term(Field.CLIENT, "2001:db8::1")]),
        ('"never closed', [Term(Field.ANY, "never closed")]),
        ('from: "" -', [Term(Field.ANY, "from:"), Term(Field.ANY, "-")]),
        ("a\0b", [Term(Field.ANY, "a"), Term(Field.ANY, "b")]),
        ("\udcff", [Term(Field.ANY, "?")]),
        ("", []),
    ],
)  # fmt: skip
def test_a_line_asks_for(line: str, terms: list[Term]) -> None:
    assert list(parsed(line, NOW).terms) == terms


def test_scores_and_times_are_bounds() -> None:
    query = parsed("score>80 score<=120.5 since:2h until:2026-11-22", NOW)
    assert query.bounds == (Bound(">", 80.0), Bound("<=", 120.5))
    assert query.since == NOW - 7200
    assert query.until == time.mktime((2026, 11, 23, 0, 0, 0, 0, 0, -1))
    assert not query.terms


def test_moments_are_spans_days_and_days_with_a_time() -> None:
    assert moment("90s", NOW) == NOW - 90
    assert moment("2026-11-22", NOW) == time.mktime((2026, 11, 22, 0, 0, 0, 0, 0, -1))
    assert (
        moment("2026-11-22 14:00", NOW)
        == moment("2026-11-22T14:00:00", NOW)
        == moment("2026-11-22", NOW) + 14 * 3600
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("verdict:good", "none of accept, spam, reject, tempfail"),
        ("score>high", "is no number"),
        ("score>nan", "is no number"),
        ("since:yesterday", "is no time"),
        ("until:2026-13-01", "is no time"),
        ("since:0001-01-01", "is no time"),
        ("client:192.0.2.0/99", "is no network"),
        ("x " * (MOST_TERMS + 1), "more than"),
    ],
)
def test_what_cannot_be_asked_says_what_to_write(line: str, says: str) -> None:
    with pytest.raises(BadQuery, match=says):
        parsed(line, NOW)


@given(st.text(max_size=300))
def test_any_line_is_a_question_or_said_to_be_none(line: str) -> None:
    with suppress(BadQuery):
        for term in parsed(line, NOW).terms:
            term.text.encode()  # SQLite takes it
            assert "\0" not in term.text


def test_a_huge_line_is_cut_short_at_once() -> None:
    began = time.process_time()
    for line in ("a" * 1_000_000, '"' * 1_000_000, "-" * 1_000_000, "from:" * 200_000):
        try:
            parsed(line, NOW)
        except BadQuery:
            continue
    assert time.process_time() - began < 5
