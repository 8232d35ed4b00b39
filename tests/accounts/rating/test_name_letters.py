"""How odd a name is: mashed keys are, names of people are not, and nothing that anybody asks for
breaks it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.rating.name_letters import (
    LEAST_LETTERS,
    SHARES,
    name_letters,
    oddness,
    surprise,
    words_of,
)


@pytest.mark.parametrize(
    "name", ["asdfjkl", "qwrtzx", "kjhgfdsa", "zxcvbnm", "dfgdfgdfg", "Qwdxzk 12"]
)
def test_mashed_keys_are_odd(name: str) -> None:
    found = oddness(name)
    assert found is not None
    assert found > 0.999


@pytest.mark.parametrize(
    "name",
    [
        "John Smith",
        "ivan.petrov82",
        "Müller-Lüdenscheidt",
        "joão.gonçalves",
        "Nguyễn Văn Hùng",
        "information",
        "webmaster",
        "o'connor",
        "ÇAĞLAR YILMAZ",
        "shostakovich",
        "Łukasz Wiśniewski",
    ],
)
def test_names_are_not(name: str) -> None:
    found = oddness(name)
    assert found is not None
    assert found < 0.99


@pytest.mark.parametrize(
    "name", ["", "jsmth", "w94sc75hk"[:5], "Владимир", "田中太郎", "123456789", "...."]
)
def test_what_has_too_few_latin_letters_tells_nothing(name: str) -> None:
    assert oddness(name) is None


def test_words_are_parted_and_accents_dropped() -> None:
    assert words_of("Jörg_van-der.Straße99x") == ["jorg", "van", "der", "strasse", "x"]
    assert words_of("ﬁlip") == ["filip"]


def test_the_table_is_whole() -> None:
    table, odd = name_letters()
    assert len(table) == 27**3
    assert len(odd) == len(SHARES)
    assert list(odd) == sorted(odd)
    assert min(table) > 0, "nothing is certain"


@given(st.text(max_size=100))
def test_any_text_is_a_share_or_nothing(text: str) -> None:
    found = oddness(text)
    few = sum(map(len, words_of(text))) < LEAST_LETTERS
    assert (found is None) == few
    assert found is None or 0.0 <= found <= 1.0


@given(st.lists(st.from_regex("[a-z]{1,8}", fullmatch=True), min_size=1, max_size=5))
def test_the_more_surprising_the_odder(words: list[str]) -> None:
    table, _ = name_letters()
    odder = [*words, "qxzkq"]
    if surprise(odder, table) > surprise(words, table):
        before, after = oddness(" ".join(words)), oddness(" ".join(odder))
        assert before is None or (after is not None and after >= before)
