"""What reading took off a text, told beside what was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.normalise import normalise
from oborona.message.respelling import removed_lines, respellings
from oborona.message.unquoted_text import unquoted_text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("vi\u0430gra", "viagra"),  # a Cyrillic letter
        ("vi\u00adagra", "viagra"),  # a soft hyphen
        ("v\u200biagra", "viagra"),
        ("\U0001d42f\U0001d422\U0001d41a\U0001d420\U0001d42b\U0001d41a", "viagra"),  # mathematical
        ("\uff56\uff49\uff41gra", "viagra"),  # full width
        ("v\u0332i\u0332agra", "viagra"),  # lines below
        ("\u1d20\u026aagra", "viagra"),  # small capitals
        ("fr3e", "free"),
        ("ca$h", "cash"),
    ],
)
def test_a_word_in_disguise_is_told(written: str, read: str) -> None:
    assert [(one.written, one.read) for one in respellings(f"Buy {written} now")] == [
        (written, read)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Plain English, it's 12:30 - see http://shop.example/a1b2 or a@b.example",
        "Обычный русский текст, «кавычки», ёлка и йод № 5",
        "Ελληνικό κείμενο",
        "Cr\u00e8me br\u00fbl\u00e9e, na\u00efve, Stra\u00dfe",
        "cre\u0300me",  # the same letter in two characters
        "東京タワーとiPhone用ケース",
        "\u2764\ufe0f \U0001f468\u200d\U0001f469\u200d\U0001f467",  # emoji of several characters
        "COVID-19",
    ],
)
def test_plain_words_are_not(text: str) -> None:
    assert respellings(text) == ()


def test_words_spaced_out_come_last() -> None:
    found = respellings("Get v i a g r a and c.a.s.h ca$h")
    assert [(one.written, one.read) for one in found] == [
        ("ca$h", "cash"),
        ("v i a g r a", "viagra"),
        ("c a s h", "cash"),
    ]


def test_each_word_is_told_once() -> None:
    assert len(respellings("fr3e fr3e\nfr3e")) == 1


def test_lines_that_are_not_the_senders_own() -> None:
    text = "Yes.\nOn Monday Ann wrote:\n> Lunch?\n> At noon?\nYes.\n-- \nBob\nShop Ltd"
    left_out = ("On Monday Ann wrote:", "> Lunch?", "> At noon?", "-- ", "Bob", "Shop Ltd")
    assert removed_lines(text, unquoted_text(text)) == left_out
    assert removed_lines("Yes.\nNo.", "Yes.\nNo.") == ()
    assert removed_lines("Yes. This mail is confidential.", "Yes.") == (
        "Yes. This mail is confidential.",
    )


@given(
    st.lists(
        st.sampled_from(["Yes.", "> no", "Ann wrote:", "-- ", "", "=" * 12]) | st.text(),
        max_size=12,
    )
)
def test_own_words_and_the_rest_are_all_lines(lines: list[str]) -> None:
    """Invariant: what is left out and what is kept are the lines of the text, each once."""
    text = "\n".join(lines)
    own = unquoted_text(text)
    assert sorted([*own.split("\n"), *removed_lines(text, own)]) == sorted(text.split("\n"))


@given(st.text())
def test_whatever_is_told_differs(text: str) -> None:
    """Invariant: never raises, and no word is told that was read as written."""
    for one in respellings(text):
        assert one.written != one.read
        assert one.read == normalise(one.read) or " " in one.read
