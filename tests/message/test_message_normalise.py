# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""One form: idempotent, ASCII by itself, look-alikes to ASCII, and nothing else lost."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message.normalise import normalise


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
