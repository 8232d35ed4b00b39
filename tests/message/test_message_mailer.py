"""The program that wrote a message, and the order of its fields: what real programs say, and
whatever else is said.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.model import HeaderField, Message
from oborona.message.normalise import normalise
from oborona.message.sender_pieces import COMPOSED, MAX_FIELDS, MIN_FIELDS, order, program


def said(value: str, name: str = "x-mailer") -> str:
    return program(Message(raw=b"", headers=(HeaderField(name, b"", value),)))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("Microsoft Outlook Express 6.00.2800.1106", "microsoft outlook express 6"),
        ("Microsoft Outlook, Build 10.0.2627", "microsoft outlook 10"),
        ("QUALCOMM Windows Eudora Version 5.1", "qualcomm windows eudora 5"),
        ("The Bat! (v2.00.2) Personal", "the bat! personal"),
        ("Internet Mail Service (5.5.2653.19)", "internet mail service"),
        ("iPhone Mail (16G77)", "iphone mail"),
        ("Apple Mail (2.3445.104.11)", "apple mail"),
        ("Evolution 3.44.4-0ubuntu2", "evolution 3"),
        ("Roundcube Webmail/1.4.15", "roundcube webmail/1"),
        ("PHPMailer 6.5.0 (https://github.com/PHPMailer/PHPMailer)", "phpmailer 6"),
        ("exmh version 2.5 07/13/2001 with nmh-1.0.4", "exmh 2 with nmh-1"),
        ("ELM [version 2.4ME+ PL60 (25)]", "elm"),
        ("Mozilla/5.0 (X11; U; Linux i686; en-US; rv:1.4) Gecko/20030624", "mozilla/5 gecko"),
        ("Письма 7", normalise("Письма 7")),
        ("a8f3c9d1e0", ""),
        ("12345678", ""),
        ("6.0", ""),
        ("()", ""),
    ],
)
def test_programs(value: str, wanted: str) -> None:
    assert said(value) == wanted


def test_x_mailer_comes_before_user_agent_and_an_empty_one_does_not() -> None:
    both = (HeaderField("user-agent", b"", "Mutt/1.5"), HeaderField("x-mailer", b"", "KMail 1.4"))
    assert program(Message(raw=b"", headers=both)) == "kmail 1"
    assert (
        program(Message(raw=b"", headers=(both[0], HeaderField("x-mailer", b"", "")))) == "mutt/1"
    )
    assert program(Message(raw=b"")) == ""


@given(st.text(max_size=300) | st.text(alphabet="v1.-_/()[] a", max_size=300))
def test_a_program_is_normal_and_a_name_or_nothing(value: str) -> None:
    found = said(value)
    assert normalise(found) == found
    assert not found or sum(map(str.isalpha, found)) >= 3


@pytest.mark.parametrize("unit", ["v", "1", "(", "[(", "1.", "1.1_", "a1", "/:", "1/", ". ", "a"])
def test_no_value_takes_long(unit: str) -> None:
    value = unit * (1000 // len(unit))
    said(value)
    before = time.process_time()
    for _ in range(20):
        said(value)
    assert (time.process_time() - before) / 20 < 0.002  # the slowest takes a tenth of that


@given(
    st.lists(
        st.sampled_from([*sorted(COMPOSED), "received", "x-qzw7", "cc", "dkim-signature"]),
        max_size=60,
    )
)
def test_an_order_holds_the_fields_that_count_in_their_order(names: list[str]) -> None:
    found = order(tuple(HeaderField(name, b"", "") for name in names)).split()
    counted = [name for name in names if name in COMPOSED]
    assert found == (counted[:MAX_FIELDS] if len(counted) >= MIN_FIELDS else [])
