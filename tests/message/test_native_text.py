"""The native core reads texts as its twins in Python do, whatever they are."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oborona.message import core as in_use
from oborona.message import (
    defanged_links,
    entities,
    handles,
    html_breaks,
    line_marks,
    phones,
    templates,
    text_form,
    wallets,
    word_count,
)
from oborona.message.entities import Hint
from oborona.message.findings import Findings
from oborona.message.normalise import normalise

core: Any = pytest.importorskip("oborona._core")

PIECES = st.sampled_from(
    [
        *" .@:/-_'a!$", *"0123456789", "\t", "\n", "\x00", "\x1c", "\x7f", "\x85", "\xa0", "\xad", "\u2003", "\u2028", "\u3000", "\u1680",
        "> ", "ab>", "abcd|", "   ", "From:", "De:", "d", "--", "__", "://", "www.", "a b c ", "i'm a ", "ж д ж ", "\u0301", "é", "ж", "日", "\U0001f600", "\ud800", "v1agra", "ca$h", "a@b", "a@b.", "a@b.c",
        "m@" + "n" * 19 + " ", "m@" + "n" * 21 + " ", "A", "Z", "word", "a.b", ".a", "a.", "http://x",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60)
READERS = st.frozensets(st.sampled_from(["a", "word", "abc", "ждж", "x"]), max_size=3)
TWINS: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
    "fold_ascii": (core.fold_ascii, text_form.fold_ascii),
    "fold_lines": (core.fold_lines, text_form.fold_lines),
    "linked_words": (core.linked_words, text_form.linked_words),
    "count_words": (core.count_words, lambda text: len(word_count.words_by_python(text))),
    "said_words": (core.said_words, word_count.words_by_python),
    "marked_lines": (
        lambda text: core.marked_lines(text, 5),
        lambda text: line_marks.marked_lines(text, 5),
    ),
}
by_python = templates.words_by_python


def test_they_are_in_use() -> None:
    for name in ("fold_ascii", "fold_lines", "linked_words", "count_words", "said_words"):
        assert getattr(in_use, name) is getattr(core, name)
    assert in_use.template_words is core.template_words
    assert in_use.marked_lines is core.marked_lines
    assert in_use.native_broken_source is core.broken_source
    assert isinstance(entities._NATIVE, core.Hints)


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
    for hard in ("A", "ж д ж", "a\u3000b", "a\x01b", "\ud800", "a\tb"):
        assert core.template_words(hard, frozenset()) is None
    for plain in ("", "a b c", "жук и кот", "\u2019tis", "ж д"):
        assert core.template_words(plain, frozenset()) == by_python(plain, frozenset())


NAMES = [
    "p", "pre", "div", "dl", "dt", "br", "blockquote", "tr", "table", "title", "li", "ul", "ol", "option", "h1", "h6", "h7", "h", "hr", "header",
    "form", "footer", "figure", "figcaption", "section", "address", "aside", "main", "nav", "td", "th", "tdx", "b", "span", "sectionx",
    "l\u0130", "bloc\u212aquote", "a\u017fide", "opt\u0131on",
]  # fmt: skip
SOURCES = st.lists(
    st.sampled_from(
        [*(f"<{name}" for name in NAMES), *(f"</{name}" for name in NAMES), *(f"<{name.upper()}>" for name in NAMES),
         *" >/<t\n\f\0\xa0\ud800\x1cé\u0130"]
    ),
    max_size=20,
).map("".join)  # fmt: skip


@settings(max_examples=2_000)
@given(SOURCES)
@example("<td<p>")
@example("<td</P\xa0")
def test_breaks_of_pages_are_equal_or_left_to_python(source: str) -> None:
    assert core.broken_source(source) in (None, html_breaks.broken_source(source))


def test_pages_that_are_left_to_python() -> None:
    assert core.broken_source("<l\u0130>") is None
    assert core.broken_source("\u0130\u0131\u017f\u212a <li>") == "\u0130\u0131\u017f\u212a \n<li>"


EXPRESSIONS = {
    Hint.DISGUISE: defanged_links.HINT,
    Hint.NAME: handles.HINT,
    Hint.SPELLED: phones.WORDS_HINT,
    Hint.DIALLED: phones.HINT,
    Hint.TOKEN: wallets.HINT,
}
HINTED = st.lists(
    st.sampled_from(
        [*"0123456789 ,.-()*_~+[]{}<>@:oliuqef", *phones.SPELLED, *handles.WORDS, *defanged_links.MARKS, *defanged_links.BRACKETED,
         "00", "é", "ж", "日", "\U0001f600", "a" * 25, "ab-" * 15, "eq", "uf", "one ", "two-", "3 ", "four five six seven 8"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@settings(max_examples=2_000)
@given(HINTED)
def test_hints_are_those_of_the_expressions(text: str) -> None:
    held = entities.hints(text)
    octets = text.encode()
    for hint, expression in EXPRESSIONS.items():
        found = re2.search(expression.encode(), octets) is not None
        assert bool(held & hint) == found, hint
    if not held & (Hint.SPELLED_NUMBER | Hint.DIALLED):
        assert phones.in_text(text, (), Findings()) == []


@pytest.mark.parametrize(
    "words", [[b""], [b"a" * 49], ["a"], 5, [b"%02d" % number + b"a" * 44 for number in range(100)]]
)
def test_words_of_hints_that_are_none_are_refused(words: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        core.Hints(words, [], [], [])


@pytest.mark.parametrize(
    "piece",
    [
        "a ",
        "a",
        " ",
        "1",
        "a1a",
        "<td",
        "<p>",
        "> a\n",
        "one",
        "a@b ",
        "://",
        ".",
        "w",
        "é",
        "ж ",
        "\U0001f600",
        "\n",
    ],
)
def test_huge_texts_are_read_as_python_does(piece: str) -> None:
    text = piece * 100_000
    for native, twin in TWINS.values():
        assert native(text) == twin(text)
    found = core.template_words(text, frozenset())
    assert found is None or found == by_python(text, frozenset())
    assert core.broken_source(text) in (None, html_breaks.broken_source(text))


WRONG: dict[str, Callable[[], object]] = {
    **{f"octets for {name}": partial(cast(Any, native), b"a") for name, (native, _) in TWINS.items()},
    "octets for words": lambda: core.template_words(b"a", frozenset()),
    "a list for the reader": lambda: core.template_words("a", ["a"]),
    "octets for a page": lambda: core.broken_source(b"a"),
    "octets for hints": lambda: core.Hints([], [], [], []).held(b"a"),
    "too few": lambda: core.template_words("a"),
}  # fmt: skip


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_what_is_wrong_raises(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        call()


def test_they_keep_nothing() -> None:
    def work() -> None:
        for _ in range(2_000):
            for text in ("A  b.c\x00 v1agra http://x", "é ж д\u3000", "ж д ж", "\ud800"):
                for native, _ in TWINS.values():
                    native(text)
                core.template_words(text, frozenset({"b"}))
                core.broken_source(text)
                core.broken_source(f"<p>{text}<l\u0130>")
                entities.hints(text)
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
