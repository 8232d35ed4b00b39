"""Quoted letters of the recipient's own domain that no header bears out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.checks import forged_thread
from oborona.policy.checks.context import CheckContext
from oborona.types import Client, Envelope

QUOTED = "Please pay.\n\nFrom: Boss <boss@firm.example>\nSent: Monday\nTo: Clerk\n\nApproved.\n"


def found(
    text: str, head: str = "", sender: str = "a@b.example", to: str = "clerk@firm.example"
) -> str:
    raw = (
        f"From: {sender}\nSubject: Re: invoice\n{head}"
        f"Content-Type: text/plain; charset=utf-8\n\n{text}"
    )
    context = CheckContext(
        message=parse(raw.encode("utf-8", "replace")),
        envelope=Envelope(
            client=Client(ip="198.51.100.7", name=""), recipients=(to,) if to else ()
        ),
        site="mx.firm.example",
        now=1_795_170_000.0,
    )
    finding = forged_thread.check(context)
    return "" if finding is None else finding.evidence


@pytest.mark.parametrize(
    "text",
    [
        QUOTED,
        "> *Von:* Chef <boss@firm.example>\n> *Gesendet:* Montag\n",
        "On Mon, 3 Mar 2026, Boss <boss@firm.example> wrote:\n> approved\n",
        "Le lundi, Chef <boss@firm.example> a \u00e9crit :\n> oui\n",
        "Am Mo., 3. M\u00e4rz 2026 um 10:00 Uhr schrieb Chef <boss@firm.example>:\n> ja\n",
        "From: boss@mail.firm.example\n",
        "\u0412\u0442, Boss <boss@firm.example> \u043f\u0438\u0448\u0435\u0442:\n> ok\n",
    ],
)
def test_a_letter_of_ours_that_was_never_answered(text: str) -> None:
    assert found(text).startswith("boss@")
    assert found(text, head="In-Reply-To: <1@firm.example>\n") == ""
    assert found(text, head="References: <1@firm.example>\n") == ""
    assert found(text, sender="boss@firm.example") == ""
    assert found(text, to="x@other.example") == ""
    assert found(text, to="") == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Write to boss@firm.example for more.",
        "To: boss@firm.example\n",
        "From: boss@firm.example.test\n",
        "From: boss@notfirm.example\n",
        "She wrote to boss@firm.example about it.",
        "from the desk of boss@firm.example",
    ],
)
def test_an_address_alone_is_no_quotation(text: str) -> None:
    assert found(text) == ""


def test_what_is_returned_is_quoted_whole() -> None:
    report = "MIME-Version: 1.0\nContent-Type: multipart/report; boundary=b\n"
    assert found(f"--b\n\n{QUOTED}\n--b--\n", head=report) == ""


@given(st.text(max_size=300), st.text(max_size=60))
def test_any_text_and_any_recipient(text: str, domain: str) -> None:
    shown = found(f"From: a@firm.example\n{text}", to=f"x@{domain}")
    assert shown == "" or "@" in shown


ADDRESS = re.compile(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){0,4}a\.example(?![\w-]|\.\w)", re.IGNORECASE)


@given(
    st.lists(
        st.sampled_from(
            ("@", "@a.example", "A.EXAMPLE", "@b.", ".", "+", "-", "b", "é", " ", "\n", "x" * 70, "a.b.c.d.e.f.")
        ),
        max_size=14,
    ).map("".join)
)  # fmt: skip
def test_addresses_are_those_of_the_plain_pattern(text: str) -> None:
    spans = list(forged_thread._addresses(text, "a.example"))
    assert spans == [match.span() for match in ADDRESS.finditer(text)]
