# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""One form: idempotent, ASCII by itself, look-alikes to ASCII, and nothing else lost."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message.normalise import (
    MAX_GROWTH,
    MAX_MARKS,
    few_marks,
    normalise,
    normalised_letters,
)

BOUND_S = 2.0  # of CPU for 256 Ki characters: they take 0.05; the square of them took a minute


@settings(max_examples=500, deadline=None)
@given(st.text())
def test_idempotent_and_folded(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert once == " ".join(once.split())


def test_idempotent_for_every_character() -> None:
    for start in range(0, sys.maxunicode + 1, 4096):
        once = normalise(" ".join(map(chr, range(start, start + 4096))))
        assert normalise(once) == once, hex(start)


def every_character() -> Iterator[str]:
    return (chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)


def test_no_character_becomes_more_than_four_nor_four_times_its_octets() -> None:
    characters = list(every_character())
    worst = 0.0
    for character, form in zip(characters, normalised_letters(characters), strict=True):
        assert len(form) <= MAX_GROWTH, hex(ord(character))
        worst = max(worst, len(form.encode()) / len(character.encode()))
    assert worst <= MAX_GROWTH


@settings(max_examples=500, deadline=None)
@given(
    st.text(
        st.sampled_from(
            "\ufdfa\ufdfb\u3316\u33af\u0344\u0f73\u0390\u1e9ea "
            "\u0316\u0301\u0f71\u200b\u1112\u1161\u337f"
        )
    )
)
def test_no_text_becomes_more_than_four_times_as_long(text: str) -> None:
    form = normalise(text)
    assert len(form) <= MAX_GROWTH * len(text)
    assert len(form.encode()) <= MAX_GROWTH * len(text.encode())
    assert normalise(form) == form


def test_what_stands_for_a_phrase_is_read_as_its_first_letters() -> None:
    assert normalise("\ufdfa") == normalise("\u0635\u0644\u0649")
    assert normalise("\u3316") == normalise("\u30ad\u30ed\u30e1\u30fc")
    # four letters are not too many
    assert normalise("\u337f") == normalise("\u682a\u5f0f\u4f1a\u793e")


def test_of_every_mark_no_letter_keeps_more_than_thirty() -> None:
    """Also of the characters that are no marks but are taken apart into some."""
    for character in every_character():
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            assert few_marks(f"a{character * (2 * MAX_MARKS)}b") == f"a{character * MAX_MARKS}b", (
                hex(ord(character))
            )


def test_marks_that_a_language_writes_and_rows_of_dashes_stay() -> None:
    for text in (
        "\u0e01\u0e34\u0e49" * 40,
        "\u2014" * 100,
        "\u0915\u094d\u0937\u093f" * 40,
        "e\u0301\u0323" * 99,
        "a" + "\u0301" * 30,
    ):
        assert few_marks(text) == text


@pytest.mark.parametrize(
    "marks",
    [
        ("\u0301", "\u0316"),
        ("\u0301", "\u200d", "\u0316"),
        ("\u0f72", "\u0f71"),
        ("\u0344", "\u0316"),
        ("\U0001d165", "\u0334"),
    ],
)
def test_marks_in_a_wrong_order_take_no_square_of_their_number(marks: tuple[str, ...]) -> None:
    many = (256 << 10) // len(marks)
    for text in ("a" + "".join(mark * many for mark in marks), "a" + "".join(marks) * many):
        began = time.process_time()
        normalise(text)
        assert time.process_time() - began < BOUND_S


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_ascii_only_loses_case_and_space(text: str) -> None:
    assert normalise(text) == " ".join(text.lower().split())


@pytest.mark.parametrize(
    "written",
    [
        "VIAGRA",
        "v\u00adi\u200ba\u200dg\u2060r\ufeffa",  # invisible inside
        "V\u0406\u0410G\u0413\u0410".replace("\u0413", "R"),  # Cyrillic capitals
        "vi\u0430gr\u0430",  # Cyrillic small letters
        "\uff36\uff29\uff21\uff27\uff32\uff21",  # full width
        "\U0001d4e5\U0001d4f2\U0001d4ea\U0001d4f0\U0001d4fb\U0001d4ea",  # mathematical script
        "v\u0301i\u0302a\u0336g\u0323r\u0308a\u20dd",  # marks on top
        "v\u00ed\u00e2gr\u00e4",  # letters with marks
        "\u202evia\u202cgra",  # direction overrides
        "v\x00i\x08agra\x7f",  # controls
        "\u24e5\u24d8\u24d0\u24d6\u24e1\u24d0",  # circled
    ],
)
def test_disguises_of_one_word(written: str) -> None:
    assert normalise(written) == "viagra"


def test_russian_and_greek_stay_words() -> None:
    words = [
        "привет",
        "прибег",
        "ведро",
        "бедро",
        "мышь",
        "мыш",
        "мошь",
        "был",
        "бил",
        "бел",
        "вол",
        "соль",
        "сон",
        "он",
        "юла",
        "лола",
        "λόγος",
        "λόγο",
    ]
    assert len({normalise(word) for word in words}) == len(words)
    assert normalise("ПРИВЕТ") == normalise("Привет") == normalise("привет")
    assert normalise("при\u200bвет") == normalise("привет")
    assert normalise("привeт") == normalise("привет")  # with a Latin e
    assert normalise("ёлка") == normalise("елка")
    assert normalise("\u0438\u0306") == normalise("\u0439") != normalise("\u0438")
    assert normalise("λόγος") == normalise("ΛΌΓΟΣ")


def test_other_scripts_are_kept() -> None:
    for text in ("你好世界", "こんにちは", "안녕하세요", "مرحبا", "שלום", "नमस्ते"):
        assert unicodedata.normalize("NFKC", normalise(text)) == normalise(text)
        assert not normalise(text).isascii()


def test_punctuation_and_digits() -> None:
    assert normalise("\u201cquoted\u201d \u2014 it\u2019s") == '"quoted" - it\'s'
    assert normalise("\u0661\u0662\u0663 \u0967\u0968 \u2460") == "123 12 1"
    assert normalise("a\u00a0\u3000b\u2028c\u0085d") == "a b c d"


def test_lone_surrogates_do_not_stop_it() -> None:
    assert normalise("a\ud800B") == "a\ud800b"


def test_a_megabyte_of_one_run() -> None:
    assert normalise("\u0430" * (1 << 20)) == "a" * (1 << 20)
