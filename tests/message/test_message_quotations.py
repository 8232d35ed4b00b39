"""What HTML marks as a quotation is not its sender's own, in an answer.

Elsewhere it is a text like any other.
"""

from __future__ import annotations

import pytest

from oborona.message.findings import Findings
from oborona.message.hypertext import read
from oborona.message.parse import parse

OWN = "Yes, let us begin on Monday."
OLD = "Shall we begin, or wait for the others?"
ANSWER = "In-Reply-To: <1@b.example>\n"
QUOTING = {
    "Gmail": f"<div dir=ltr>{OWN}</div><br><div class=gmail_quote><div class=gmail_attr>On Mon, "
        f"Bob &lt;b@b.example&gt; wrote:<br></div>"
    f"<blockquote class=gmail_quote>{OLD}</blockquote></div>",
    "Apple Mail": (f"<div>{OWN}</div><div><blockquote type=cite><div>On 1 Jun 2026, at 10:00, Bob "
        f"wrote:</div><div>{OLD}</div></blockquote></div>"),
    "Thunderbird": (f"<p>{OWN}</p><div class=moz-cite-prefix>Am 01.06.26 um 10:00 schrieb "
        f"Bob:<br></div><blockquote type=cite cite='mid:1@b.example'>{OLD}</blockquote>"),
    "Yandex": (f'<div>{OWN}</div><div>01.06.2026, 10:00, "Боб" '
        f'писал:</div><blockquote><p>{OLD}</p></blockquote>'),
    "Yahoo": (f"<div>{OWN}</div><div class=yahoo_quoted><div>On Monday, Bob "
        f"wrote:</div><div>{OLD}</div></div>"),
    "Outlook": f"<div><p class=MsoNormal>{OWN}</p></div><div "
        f"style='border-top:solid'><p><b>From:</b> Bob<br><b>Sent:</b> Monday<br><b>To:</b> "
        f"Ann<br>"
    f"<b>Subject:</b> start</p></div><p>{OLD}</p>",
    "Outlook, Russian": (f"<p>{OWN}</p><hr><div id=divRplyFwdMsg><b>От:</b> "
        f"Боб<br><b>Отправлено:</b> 1 "
        f"июня<br><b>Кому:</b> Анна<br><b>Тема:</b> начало</div><p>{OLD}</p>"),
    "Outlook, German": (f"<p>{OWN}</p><div>Von: Bob<br>Gesendet: Montag<br>An: Ann<br>Betreff: "
        f"Anfang</div><p>{OLD}</p>"),
    "one in another": f"<div>{OWN}</div><blockquote>{OLD}<blockquote>older</blockquote>and more</blockquote>",
}  # fmt: skip


def own(page: str, head: str = ANSWER) -> str:
    raw = (
        f"From: a@b.example\n{head}Content-Type: text/html; "
        f"charset=utf-8\n\n<html><body>{page}</body></html>"
    )
    message = parse(raw.encode())
    assert OLD in message.text  # a reader sees it
    return message.own_text


@pytest.mark.parametrize("name", QUOTING)
def test_quotations_of_mail_programs(name: str) -> None:
    assert own(QUOTING[name]).strip() == OWN


def test_what_stands_below_a_quotation_stays() -> None:
    page = f"<blockquote type=cite>{OLD}</blockquote><p>{OWN}</p>"
    assert own(page).strip() == OWN


def test_what_answers_nothing_quotes_nothing() -> None:
    """Else any text could be put where no reader sees a difference."""
    assert OLD in own(f"<p>{OWN}</p><blockquote type=cite>{OLD}</blockquote>", head="")


def test_a_text_that_is_a_quotation_stays() -> None:
    assert OLD in own(f"<blockquote type=cite>{OLD}</blockquote>")


def test_hidden_text_stays_hidden_inside_a_quotation() -> None:
    page = f"<p>{OWN}</p><blockquote>{OLD}<span style='display:none'>secret</span></blockquote>"
    found = read(page, 10, Findings(), answers=True)
    assert (found.hidden, "secret" in found.text) == ("secret", False)
    assert found.own is not None
    assert OLD not in found.own


@pytest.mark.parametrize(
    "text", ["From: here to eternity", "Von: hier\nund weiter", "Date: today\nFrom: me"]
)
def test_a_line_with_a_colon_is_no_head(text: str) -> None:
    raw = f"From: a@b.example\n\n{OWN}\n{text}\nmore"
    assert parse(raw.encode()).own_text.endswith("more")
