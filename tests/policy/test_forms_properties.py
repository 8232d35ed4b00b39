"""Patterns in other forms, against Python's own matcher: bringing one into a form loses no hit, and
borders of words are exactly where Python has them.
"""

# ruff: noqa: RUF001 - Russian is Russian

import re
from contextlib import suppress

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.patterns import MAX_MADE, compile_pattern, pattern_for
from tests.policy.written import fires, letter

LETTERS = "abcxoABCXO" + "абвжоуяАБВЖОУЯёЁ" + "αβωΑΩ" + "漢字" + "12_"
OTHERS = " -.,!«»"
WORDS = st.text(alphabet=LETTERS + "ßẞ½ⅧｆｕＬ№éÉїї™", min_size=1, max_size=12)
TEXTS = st.text(alphabet=LETTERS + OTHERS, min_size=1, max_size=14).map(
    lambda text: re.sub(" +", " ", text).strip() or "a"
)

_ONE = st.sampled_from([*LETTERS, " ", "-", "\\.", ",", "!"])
_CLASSES = st.sampled_from(
    [
        "[abc]",
        "[а-я]",
        "[А-Яа-яЁё]",
        "[a-zа-я0-9]",
        "[ а]",
        "[жЖ\\d]",
        "[\\w-]",
        "\\w",
        "\\d",
        "\\s",
        "[α-ω]",
        "[漢a]",
    ]
)
_BORDERS = st.sampled_from(["\\b", "\\B", "^", "$"])
_NEGATED = st.sampled_from(["[^a]", "[^а-я]", "\\W", "\\S", "\\D", ".", "[^\\w ]", "[\\W_]"])


def patterns(*more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return small patterns that Python and RE2 take alike."""
    atoms = st.one_of(_ONE, _ONE, _CLASSES, _BORDERS, *more)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        rows = st.lists(inner, min_size=1, max_size=4).map("".join)
        either = st.lists(rows, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})")
        many = st.tuples(rows, st.sampled_from(["?", "*", "+", "{2}", "{1,2}", "{0,3}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
        return st.one_of(rows, either, many)

    return st.recursive(atoms, larger, max_leaves=8)


def is_found(pattern: str, text: str, form: TextForm) -> bool:
    """Tell whether a pattern, brought into a form, is found in a text of that form.

    One with too many cases is passed over.
    """
    try:
        made = pattern_for(pattern, form)
    except PatternError as fault:
        assume("too many cases" not in str(fault))
        if "is never found" in str(fault):
            return False
        raise
    return compile_pattern(made.text, most=MAX_MADE).search(form.whole(text).encode()) is not None


@settings(max_examples=150, deadline=None)
@given(
    word=WORDS,
    before=st.sampled_from(["", "x ", "«", "Да, "]),
    behind=st.sampled_from(["", " y", "!", ", да"]),
)
def test_a_word_is_found_in_every_text_that_has_it(word: str, before: str, behind: str) -> None:
    facts = letter(text=f"{before}{word}{behind}", subject=f"{before}{word}{behind}")
    for fact in ("text", "subject", "text.raw", "subject.raw"):
        assert fires(f"contains({fact}, {word!r})", facts), fact
        assert fires(f"matches({fact}, {'(?i)' + re.escape(word)!r})", facts), fact


@settings(max_examples=1500, deadline=None)
@given(pattern=patterns(), text=TEXTS)
@example(r"\bа\b", "a")
@example(r"(?:\b|а)я", "я")
@example(r"(?:\bа\b ?)+я", "а яя")
def test_no_form_loses_a_hit(pattern: str, text: str) -> None:
    if re.search(pattern, text, re.IGNORECASE) is None:
        return
    for form in (TextForm.FOLDED, TextForm.SMALL):
        assert is_found(pattern, text, form)


@settings(max_examples=1500, deadline=None)
@given(pattern=patterns(_NEGATED), text=TEXTS)
@example(r"\Bа", "аа")
@example(r".*\b.*\b.*", "а-а")
def test_borders_are_where_python_has_them(pattern: str, text: str) -> None:
    expected = re.search(pattern, text) is not None
    assert is_found(pattern, text, TextForm.SENT) is expected


_PIECES = st.sampled_from(
    [*"()[]{}|*+?.^$\\-:!<>,", "(?", "(?i)", "(?P<a>", "\\p{", "\\pL", "\\x{", "\\Q", "\\E", "[^", "[:", ":]", "\\b", "{1000}", "{2,", "а", "ß", "\x00", "\u0301",
     "\udc80", "\U0010ffff", "[а-я]", "[[:alpha:]]", "\\x{10ffff}", "\\8", "\\012", "9"]
)  # fmt: skip


@settings(max_examples=2500, deadline=None)
@given(st.lists(_PIECES, max_size=30).map("".join))
@example("(" * 240 + ")" * 240)
@example("[\\x{0}-\\x{10ffff}]")
@example("((((a{9}){9}){9}){9})")
@example("(?:" * 35 + "\\b.*" + ")*" * 35)
@example("\\b.?" * 100)
@example("[" + "а-я" * 100 + "]")
@example("x" * 501)
def test_hostile_patterns_are_refused_or_taken(pattern: str) -> None:
    for form in TextForm:
        with suppress(PatternError):
            compile_pattern(pattern_for(pattern, form).text, most=MAX_MADE)


@pytest.mark.parametrize(
    "pattern", [r"\b(?:казино|бонус)\b.{1,40}\b(?:депозит|вращени)", r"(?i)\bскидк\w+\b"]
)
def test_every_beginning_of_a_pattern_is_refused_or_taken(pattern: str) -> None:
    for end in range(len(pattern)):
        for form in TextForm:
            with suppress(PatternError):
                pattern_for(pattern[:end], form)
