"""Mailings of one layout share a skeleton; plain letters have none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.html_skeleton import MIN_KINDS, MIN_PIECES, skeleton

OUTLOOK = (
    (
        '<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style>p.MsoNormal '
        '{margin:0}</style></head><body lang=EN-US><div class="WordSection1">'
    )
    + '<p class="MsoNormal"><span style="font-size:11pt">A line<o:p></o:p></span></p>' * 40
    + (
        '<table class="MsoNormalTable"><tr><td><p class=MsoNormal><a '
        'href="http://firm.example"><img '
        'src="cid:logo"></a></p></td></tr></table></div></body></html>'
    )
)
GMAIL = (
    '<div dir="ltr"><div class="gmail_default">A line</div>' + "<div><br></div><div>Another</div>" * 40
    + ('<div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">Ann '
        'wrote</div><blockquote class="gmail_quote">')
    + "<div>old</div>" * 20 + '</blockquote></div><a href="http://a.example">a</a></div>'
)  # fmt: skip
APPLE = (
    '<html><body style="word-wrap: break-word;" class=""><div class="Apple-style-span">' + '<div class=""><br class=""></div>' * 40
    + ('<blockquote type="cite"><span '
        'class="Apple-converted-space">x</span></blockquote><img '
        'src="cid:1"></div></body></html>')
)  # fmt: skip


def mailing(words: str, host: str, *, row: str = "") -> str:
    rows = "".join(
        f'<tr><td class="cell item{number}"><a href="http://{host}/{number}"><img '
        f'src="http://{host}/{number}.png"></a>'
        f"<h2>{words}</h2><p><b>{words}</b><br></td></tr>{row}"
        for number in range(6)
    )
    return f"<html><body><TABLE WIDTH=600><tr><td><center>{rows}</table><hr></body></html>"


@pytest.mark.parametrize(
    "letter",
    [OUTLOOK, GMAIL, APPLE, "", "<p>Hello</p>" * 100, "a < b > c" * 100],
    ids=["Outlook", "Gmail", "Apple Mail", "empty", "paragraphs", "no tags"],
)
def test_a_plain_letter_has_none(letter: str) -> None:
    assert skeleton(letter) == ""


def test_words_links_formatting_and_numbers_are_no_part_of_it() -> None:
    one = skeleton(mailing("Pills", "a.example"))
    assert one
    assert one == skeleton(
        mailing("<i>Watches</i> <font size=2>at</font> half the price", "b.example").replace(
            "item", "ITEM"
        )
    )
    assert one == skeleton(
        mailing("Pills", "a.example")
        .replace('class="cell item', "class='cell item1")
        .replace('"><a', "'><a")
    )
    assert one != skeleton(mailing("Pills", "a.example", row="<tr><td>new</td></tr>"))
    assert one != skeleton(mailing("Pills", "a.example").replace("cell", "box"))


def test_minimum() -> None:
    kinds = ["<table>", "<tr>", "<td>", "<img>", "<hr>"]
    assert len(kinds) == MIN_KINDS
    assert skeleton("".join(kinds) * (MIN_PIECES // MIN_KINDS))
    assert skeleton("".join(kinds) * (MIN_PIECES // MIN_KINDS - 1)) == ""
    assert skeleton("".join(kinds[1:]) * MIN_PIECES) == ""


@given(st.text(alphabet="<>=/ '\"abclsti\n0", max_size=400))
def test_it_never_fails_and_says_the_same_again(source: str) -> None:
    """Invariant: every source has a skeleton of the pieces that count, or none."""
    found = skeleton(source * 8)
    assert found == skeleton((source * 8).upper())
    assert not found or len(found.split()) >= MIN_PIECES


@pytest.mark.parametrize(
    "hostile", ["<a class=", "<a class='", "class=" * 3, "<a ", "< ", "class   ", "<table class=x>"]
)
@pytest.mark.timeout(2)
def test_hostile_pages_take_no_time(hostile: str) -> None:
    assert isinstance(skeleton(hostile * (256 * 1024 // len(hostile))), str)
