"""What a sender wrote himself: quotations, signatures and footers go.

What is nothing else stays.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.unquoted_text import TAIL_WORDS, unquoted_text

FOOTER = (
    "_______________________________________________\nRazor-users mailing list\nUnsubscribe here"
)
YAHOO = (
    "------------------------ Yahoo! Groups Sponsor ---------------------~-->\n4 DVDs "
    "Free\n---------~->\nYour use is subject to terms"
)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("one\ntwo", "one\ntwo"),
        ("one\n> two\n>three\nfour", "one\nfour"),
        ("On Monday, Bob wrote:\n> ok?\nyes", "yes"),
        ("Bob schrieb:\n> ok?\nja", "ja"),
        ("JM> ok?\nyes", "yes"),
        ("| ok?\nyes", "yes"),
        ("yes\n-- \nAnn\nhttp://a.example", "yes"),
        ("yes\n--\nAnn", "yes"),
        (f"yes\n{FOOTER}", "yes"),
        (f"yes\n{YAHOO}", "yes"),
        ("yes\n-----Original Message-----\nFrom: Bob\nok?", "yes"),
        ("yes\n--- Forwarded by Bob ---\nok?", "yes"),
        ("да\n----- Исходное сообщение -----\nok?", "да"),
        ("1 > 2 is wrong", "1 > 2 is wrong"),
        ("a - b\n-- not a signature", "a - b\n-- not a signature"),
        ("", ""),
    ],
)
def test_what_is_cut(text: str, own: str) -> None:
    assert unquoted_text(text) == own


def test_a_long_tail_is_no_footer() -> None:
    """Else a campaign would hide behind a line of dashes."""
    text = "hi\n" + "-" * 20 + "\n" + "spam " * (TAIL_WORDS + 1)
    assert unquoted_text(text) == text


@pytest.mark.parametrize(
    "text", ["> all\n> of it", "\n\n-- \nAnn", "-----Original Message-----\nFrom: Bob", "=" * 30]
)
def test_a_text_that_would_vanish_stays(text: str) -> None:
    assert unquoted_text(text) == text


@given(
    st.lists(
        st.sampled_from(
            ["word", "> quoted", "-- ", "=" * 12, "Bob wrote:", "", "-----Original Message-----"]
        )
    )
)
def test_lines_are_only_taken_away_and_never_all(lines: list[str]) -> None:
    text = "\n".join(lines)
    own = unquoted_text(text)
    assert own == text or [line for line in own.split("\n") if line not in lines] == []
    assert bool(own.strip()) == bool(text.strip())


@given(st.text(max_size=2000))
def test_any_text_is_taken(text: str) -> None:
    assert len(unquoted_text(text)) <= len(text)
