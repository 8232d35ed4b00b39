# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""The language of a text: named where there is enough of it, never an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.language import LOOKED_AT, language
from oborona.message.parse import parse
from tests.message.test_message_charsets import (
    CHINESE,
    FRENCH,
    GERMAN,
    GREEK,
    JAPANESE,
    KOREAN,
    RUSSIAN,
    TAIWANESE,
    UKRAINIAN,
)

TEXTS = {
    "ru": RUSSIAN, "uk": UKRAINIAN, "de": GERMAN, "fr": FRENCH, "el": GREEK, "ja": JAPANESE, "ko": KOREAN,
    "en": ("Dear colleagues, please find the invoice for October attached and check it before "
        "Friday."),
    "tr": "Merhaba, ekim ayının faturasını gönderiyorum, lütfen cumaya kadar kontrol edin.",
    "es": "Hola, le envío la factura de octubre, por favor revísela antes del viernes.",
    "pt": "Olá, estou enviando a fatura de outubro, por favor confira antes de sexta-feira.",
    "pl": "Dzień dobry, przesyłam fakturę za październik, proszę o sprawdzenie do piątku.",
    "he": "שלום, מצורפת החשבונית של אוקטובר, נא לבדוק אותה עד יום שישי, תודה רבה.",
    "ar": "مرحبا، أرسل لكم فاتورة شهر أكتوبر، يرجى مراجعتها قبل يوم الجمعة وشكرا لكم.",
}  # fmt: skip


@pytest.mark.parametrize("code", TEXTS)
def test_languages_are_told(code: str) -> None:
    assert language(TEXTS[code]) == code
    assert language(TEXTS[code].upper()) == code


def test_chinese_is_one_language_in_both_scripts() -> None:
    assert language(CHINESE) == language(TAIWANESE) == "zh"


@pytest.mark.parametrize(
    "text",
    ["", "Thanks, Bob", "Привет!", "12345 67890 " * 20, "https://a.example/some/words/in/a/path ann.b@c.example " * 5, "謝謝", "\U0001f600" * 40],
)  # fmt: skip
def test_too_little_is_no_language(text: str) -> None:
    assert language(text) == ""


def test_links_and_addresses_do_not_count() -> None:
    assert (
        language(
            f"{RUSSIAN} " + "https://shop.example/winter/sale/now?best=offers ann@shop.example " * 2
        )
        == "ru"
    )


def test_only_the_beginning_is_looked_at() -> None:
    assert language(TEXTS["en"] * 5 + RUSSIAN * 50) == "en"
    assert len(TEXTS["en"] * 5) > LOOKED_AT


def test_a_short_text_is_told_by_its_subject_too() -> None:
    raw = (
        "From: a@b.example\nSubject: Счёт за октябрь и договор на подпись\n\nДобрый день!".encode()
    )
    assert parse(raw).language == "ru"


@given(st.text(max_size=500))
def test_any_text_has_a_code_or_none(text: str) -> None:
    found = language(text)
    assert found == "" or (len(found) == 2 and found.isalpha() and found.islower())


@given(
    st.lists(
        st.sampled_from(
            [
                "\0",
                "\x0b",
                "\ufffe",
                "\uffff",
                "\U0010ffff",
                "\u0301",
                "人",
                "Я",
                "a",
                " ",
                "\ud7a3",
                "ß",
            ]
        ),
        max_size=400,
    )
)
def test_characters_that_are_none(pieces: list[str]) -> None:
    assert len(language("".join(pieces))) in {0, 2}
