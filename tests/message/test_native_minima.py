"""The native core's min-hashes are those of its twin in Python, whatever the text."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message import fingerprint
from oborona.message.text_minima import (
    CHARACTER_WINDOW,
    LONG_WORD,
    MAX_LETTERS,
    MAX_WORDS,
    MIN_CHARACTER_WINDOWS,
    MIN_LETTERS,
    MIN_LONG_WORDS,
    SHORT_LONG_WORDS,
    TextMinima,
    octets_of_numbers,
)

core: Any = pytest.importorskip("oborona._core")
pytestmark = pytest.mark.skipif(
    not hasattr(core, "TextMinima"), reason="the core was built without xxHash"
)

SIZE = octets_of_numbers()
NUMBERS = bytes(range(7, 256)) * 3
WORDS = st.text(max_size=12) | st.sampled_from(["", "abc", "abcd", "тест", "\ud800abc", "w" * 1200])
LISTS = st.lists(WORDS, max_size=60)


def both(numbers: bytes = NUMBERS[:SIZE]) -> tuple[Any, Any]:
    return core.TextMinima(numbers), TextMinima(numbers)


def long_words(count: int) -> list[str]:
    return [f"word{number}" for number in range(count)]


def test_they_are_in_use() -> None:
    assert fingerprint.NATIVE


@given(st.binary(min_size=SIZE, max_size=SIZE), LISTS)
def test_they_are_equal_on_everything(numbers: bytes, words: list[str]) -> None:
    native, twin = both(numbers)
    assert native.of(words) == twin.of(words)


BORDERS = {
    "long words": [long_words(MIN_LONG_WORDS + more) for more in (-1, 0, 1)],
    "and letters": [long_words(SHORT_LONG_WORDS + more) for more in (-1, 0, 1)],
    "most words": [long_words(MAX_WORDS + more) for more in (-1, 0, 1)],
    "short words first": [["abc"] * (MAX_WORDS + more) + long_words(40) for more in (-40, -20, 0)],
    "a word's length": [["ab" * (LONG_WORD // 2) + "c" * more] * 20 for more in (0, 1)]
    + [[f"{number:03}" for number in range(40)]],
    "letters": [["".join(map(chr, range(65, 65 + MIN_LETTERS + more)))] for more in (-1, 0, 1)],
    "most letters": [["ab cd efgh"[: 1 + n % 9] for n in range(MAX_LETTERS + m)] for m in (-1, 1)]
    + [["\U0001f600й" * MAX_LETTERS]],
    "distinct windows": [
        [("abcdefghijklmnopqrstuvwxyz"[:period] * 40)[:200]]
        for period in range(MIN_CHARACTER_WINDOWS - 2, MIN_CHARACTER_WINDOWS + CHARACTER_WINDOW)
    ],
    "nothing": [[], [""], [""] * 2_000],
    # xxHash hashes texts of these lengths in ways of their own
    "lengths": [
        ["x" * length] * 20 for length in (4, 8, 9, 16, 17, 128, 129, 240, 241, 1024, 5000)
    ],
    "scripts": [["привет", "日本語です", "naïveté", "\U0001f600" * 5, "\ud800\udfff" * 4] * 5],
}


@pytest.mark.parametrize("texts", BORDERS.values(), ids=BORDERS)
def test_borders_are_where_its_twin_has_them(texts: list[list[str]]) -> None:
    native, twin = both()
    for words in texts:
        assert native.of(words) == twin.of(words)


WRONG: dict[str, Callable[[Any], object]] = {
    "no list": lambda one: one.of(5),
    "octets among the words": lambda one: one.of(["word", b"word"]),
    "none among the words": lambda one: one.of([None]),
    "no argument": lambda one: one.of(),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_what_is_no_text_is_refused(call: Callable[[Any], object]) -> None:
    for one in both():
        with pytest.raises((TypeError, AttributeError)):
            call(one)


@pytest.mark.parametrize("size", [0, SIZE - 1, SIZE + 1])
def test_numbers_are_as_many_as_it_takes(size: int) -> None:
    for kind in (core.TextMinima, TextMinima):
        with pytest.raises(ValueError, match=f"{size} octets"):
            kind(NUMBERS[:size])


def test_nothing_is_kept() -> None:
    def work() -> None:
        native, _ = both()
        for _ in range(500):
            native.of(long_words(20))
            for call in WRONG.values():
                with pytest.raises(TypeError):
                    call(native)

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 25_000
