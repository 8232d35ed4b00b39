"""The words of a template: what varies from copy to copy is left out, however much of it there
is.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.message import templates
from oborona.message.normalise import normalise

WORDS = st.lists(
    st.sampled_from(
        ["17", "ann@b.example", "http://b.example/x", "www.b.example", "order-1", "-", "on.off"]
    )
    | st.text(
        "ab", min_size=2, max_size=6
    ),  # not one letter: such are made a word, see test_message_disguise.py
    max_size=30,
)


@given(WORDS, st.integers(0, 60))
@example([], 0)
@example(["1"], 0)
@example(["1", "pay"], 60)
def test_words_that_vary_are_left_out_and_no_others(words: list[str], plain: int) -> None:
    """Invariant: the words are those of each word alone, in order, whether few of them vary or most
    do.
    """
    text = normalise(" ".join([*words, *["plain"] * plain]))
    marks = ("@", "://", "www.", *"0123456789")
    kept = [word for word in text.split() if not any(mark in word for mark in marks)]
    alone = [part for word in kept for part in word.replace("-", " ").replace(".", " ").split()]
    assert templates.words(text) == alone


@pytest.mark.parametrize("digits", [1, 400])
def test_the_readers_name_is_left_out(digits: int) -> None:
    text = "dear ann smith your order " + "7 " * digits + "is on its way ann"
    assert templates.words(text, frozenset({"ann"})) == [
        "dear",
        "smith",
        "your",
        "order",
        "is",
        "on",
        "its",
        "way",
    ]
    assert templates.words(text, frozenset({"bob"}))[:3] == ["dear", "ann", "smith"]
