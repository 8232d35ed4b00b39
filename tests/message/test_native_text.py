"""The native core reads texts as its twins in Python do, whatever they are."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oborona.message import core as in_use
from oborona.message import templates, text_form, word_count
from oborona.message.normalise import normalise

core: Any = pytest.importorskip("oborona._core")

PIECES = st.sampled_from(
    [
        *" .@:/-_'a!$", *"0123456789", "\t", "\n", "\x00", "\x1c", "\x7f", "\x85", "\xa0", "\xad", "\u2003", "\u2028", "\u3000", "\u1680",
        "://", "www.", "a b c ", "i'm a ", "ж б ж ", "\u0301", "é", "ж", "日", "\U0001f600", "\ud800", "v1agra", "ca$h", "a@b", "a@b.", "a@b.c",
        "m@" + "n" * 19 + " ", "m@" + "n" * 21 + " ", "A", "Z", "word", "a.b", ".a", "a.", "http://x",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60)
READERS = st.frozensets(st.sampled_from(["a", "word", "abc", "жбж", "x"]), max_size=3)
TWINS: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
    "fold_ascii": (core.fold_ascii, text_form.fold_ascii),
    "fold_lines": (core.fold_lines, text_form.fold_lines),
    "linked_words": (core.linked_words, text_form.linked_words),
    "count_words": (core.count_words, lambda text: len(word_count.words(text))),
}


def by_python(text: str, reader: frozenset[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "template_words", None)
        return templates.words(text, reader)


def test_they_are_in_use() -> None:
    for name in TWINS:
        assert getattr(in_use, name) is getattr(core, name)
    assert templates.template_words is core.template_words


@pytest.mark.parametrize(("native", "twin"), TWINS.values(), ids=TWINS)
@settings(max_examples=500)
@given(TEXTS)
def test_they_are_equal_on_everything(
    native: Callable[[str], object], twin: Callable[[str], object], text: str
) -> None:
    assert native(text) == twin(text)


@settings(max_examples=2_000)
@given(TEXTS, READERS)
@example("i m a v1agra a11b a1$1b", frozenset())
@example("a!b a!!b a!!!b $a1b$ 2a1b a1b2", frozenset())
@example("a b c d ef", frozenset({"abcd"}))
def test_template_words_are_equal_or_left_to_python(text: str, reader: frozenset[str]) -> None:
    for each in (text, normalise(text)):
        found = core.template_words(each, reader)
        assert found is None or found == by_python(each, reader)


def test_what_is_left_to_python() -> None:
    for hard in ("ж б ж", "a\u3000b", "a\x01b", "\ud800", "a\tb"):
        assert core.template_words(hard, frozenset()) is None
    for plain in ("", "a b c", "жук и кот", "\u2019tis", "ж б"):
        assert core.template_words(plain, frozenset()) == by_python(plain, frozenset())


@pytest.mark.parametrize(
    "piece", ["a ", "a", " ", "1", "a1a", "a@b ", "://", ".", "w", "é", "ж ", "\U0001f600", "\n"]
)
def test_huge_texts_are_read_as_python_does(piece: str) -> None:
    text = piece * 100_000
    for native, twin in TWINS.values():
        assert native(text) == twin(text)
    found = core.template_words(text, frozenset())
    assert found is None or found == by_python(text, frozenset())


WRONG: dict[str, Callable[[], object]] = {
    **{f"octets for {name}": lambda native=native: native(b"a") for name, (native, _) in TWINS.items()},
    "octets for words": lambda: core.template_words(b"a", frozenset()),
    "a list for the reader": lambda: core.template_words("a", ["a"]),
    "too few": lambda: core.template_words("a"),
}  # fmt: skip


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_what_is_wrong_raises(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        call()


def test_they_keep_nothing() -> None:
    def work() -> None:
        for _ in range(2_000):
            for text in ("A  b.c\x00 v1agra http://x", "é ж б\u3000", "ж б ж", "\ud800"):
                for native, _ in TWINS.values():
                    native(text)
                core.template_words(text, frozenset({"b"}))
            for call in WRONG.values():
                with pytest.raises(TypeError):
                    call()

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 50_000, "2,000 rounds, and less than an octet of each call"
