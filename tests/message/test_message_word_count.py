# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""How many words a text has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message import boilerplate
from oborona.message.parse import parse
from oborona.message.word_count import count

CHINESE = "本公司代开各类发票，价格优惠，欢迎来电咨询，联系人李先生，先验证后付款"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("one, two - three!", 3),
        ("\u200c \u034f \u00ad \u2800 --- ***", 0),
        ("Привет, мир", 2),
        ("谢谢", 1),
        ("感谢您的来信", 3),
        ("ขอแสดงความนับถือ", 4),
        ("안녕 하세요", 2),
    ],
)
def test_words(text: str, words: int) -> None:
    assert count(text) == words


@given(st.text())
def test_there_are_never_more_words_than_characters(text: str) -> None:
    assert 0 <= count(text) <= len(text)


def test_a_chinese_letter_is_no_few_words() -> None:
    message = parse(f"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n{CHINESE}".encode())
    assert message.words >= 12


def test_a_chinese_letter_above_a_footer_is_not_bare() -> None:
    head = "Subject: x\nContent-Type: text/plain; charset=utf-8\n\n"
    assert not boilerplate.bare(parse(f"{head}{CHINESE}\n\nSent from my iPhone".encode()))
    assert boilerplate.bare(parse(f"{head}谢谢\n\nSent from my iPhone".encode()))
