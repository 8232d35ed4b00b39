"""Words of addresses: a text has those of each part of it, whatever it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import example, given
from hypothesis import strategies as st

from oborona.journal.search_condition import add_functions
from oborona.journal.words.addresses import address_words, asked_domain, asked_words, wide_words

PIECES = (
    "ann",
    "smith",
    "@",
    "@",
    ".",
    "shop.example",
    "mail.ru",
    "-",
    "é",
    "\n",
    '"',
    " ",
    "<",
    "x",
)
TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=14
).map(lambda parts: "".join(parts).casefold())  # fmt: skip


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
@example("ann.smith@mail.shop.example", 4, 20)
@example("ann@smith@shop.example", 0, 22)
def test_a_text_has_the_words_of_its_parts(text: str, start: int, length: int) -> None:
    part = text[start : start + length]
    assert set(asked_words(part)) <= address_words(text)
    assert set(asked_words(part, wide=True)) <= wide_words(text) <= address_words(text)


@given(TEXTS, st.sampled_from(["shop.example", "mail.ru", "x.mail.ru", "ann", "a.b", "é.x", "-.x"]))
@example("x@a.b.c.d.e.shop.example", "d.e.shop.example")
@example("x@-,y.a.b", "a.b")
def test_a_text_has_the_word_of_each_domain_that_is_found_in_it(text: str, domain: str) -> None:
    """What the search itself compares with says whether it is found."""
    with closing(sqlite3.connect(":memory:")) as db:
        add_functions(db)
        sql = "SELECT in_domain(?, ?)"
        (is_there,) = db.execute(sql, (text.replace("\0", " "), domain)).fetchone()
    if is_there:
        assert set(asked_domain(domain)) <= address_words(text)


def test_a_whole_address_has_one_word_that_others_lack() -> None:
    (word,) = asked_words("ann.smith@shop.example")
    assert word in address_words('"ann" <ann.smith@shop.example>')
    assert word not in address_words("ann.smyth@shop.example ann.smith@ship.example")
    assert not asked_words("ann.smith"), "no address"
    assert not asked_words("an@shop.example"), "too little before it"
    assert not asked_words("ann@shop"), "or behind it"
    assert not asked_words("ann@shop.example", wide=True), "too little for a Message-ID"
    assert not asked_domain("example")


def test_a_long_run_takes_no_longer_than_its_length() -> None:
    """10 MB without an @, and as many of them: a square of these would not end."""
    assert not address_words("a" * 10_000_000)
    assert len(address_words("@" * 1_000_000 + "aaa@" * 1_000_000)) == 0
    assert len(address_words("aaaaaa@" * 100_000)) == 2
