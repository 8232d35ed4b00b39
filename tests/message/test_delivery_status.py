"""Delivery status notifications of several servers: who was not reached, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.delivery_status import (
    MOST_RECIPIENTS,
    MOST_TEXT,
    FailedRecipient,
    failed_recipients,
)
from tests.message.delivery_statuses import EXCHANGE, EXIM, FULL, GOOGLE, POSTFIX


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (POSTFIX, ("bob@alias.example", "5.1.1", True)),
        (EXIM, ("nobody@b.example", "5.1.1", True)),
        (GOOGLE, ("gone@gmail.com", "5.2.1", True)),
        (EXCHANGE, ("nobody@firm.example", "5.4.1", True)),
        (FULL, ("jörg@b.example", "5.2.2", False)),
        (EXIM.replace(b"550 5.1.1 No such", b"550 no such"), ("nobody@b.example", "5.0.0", False)),
        (EXCHANGE.replace(b"Recipient address", b"Relay address"), ("nobody@firm.example", "5.4.1", False)),
        (EXIM.replace(b"rfc822;nobody@b.example", b"x400; nobody"), ("", "5.1.1", True)),
        (EXIM.replace(b"5.0.0", b""), ("nobody@b.example", "5.1.1", True)),
        (EXIM.replace(b"5.1.1", b"15.1.10.3").replace(b"5.0.0", b"x"), ("nobody@b.example", "", False)),
    ],
)  # fmt: skip
def test_each_server_has_its_way(body: bytes, found: tuple[str, str, bool]) -> None:
    assert failed_recipients(body) == (FailedRecipient(*found),)


def test_what_has_not_failed_is_none() -> None:
    assert failed_recipients(POSTFIX.replace(b"Action: failed", b"Action: delivered")) == ()
    assert failed_recipients(b"") == ()
    assert failed_recipients(b"Action: failed")[0] == FailedRecipient("", "", unknown=False)


def test_a_recipient_counts_once() -> None:
    group = b"\nFinal-Recipient: rfc822; %d@b.example\nAction: failed\nStatus: 5.1.1\n"
    twice = b"Reporting-MTA: dns; x\n" + group % 1 + group % 1
    assert len(failed_recipients(twice)) == 1
    many = b"Reporting-MTA: dns; x\n" + b"".join(group % number for number in range(3000))
    assert len(failed_recipients(many)) == MOST_RECIPIENTS
    assert len(failed_recipients(many.partition(b"\n")[2])) == MOST_RECIPIENTS


def test_an_address_that_is_too_long_or_hostile_is_none() -> None:
    long = b"a" * 400 + b"@b.example"
    for address in (long, b"nul\0@b.example", b"no-at", b"\xff\xfe"):
        body = EXIM.replace(b"nobody@b.example", address)
        assert all("\0" not in one.address for one in failed_recipients(body))
        assert all(len(one.address) <= MOST_TEXT for one in failed_recipients(body))


@given(st.binary(max_size=4000) | st.lists(st.sampled_from([*POSTFIX.splitlines(), b"", b" ", b"\t\t"])).map(b"\n".join))  # fmt: skip
def test_any_octets_are_read(body: bytes) -> None:
    """It never raises, and names addresses once each, that can be printed."""
    found = failed_recipients(body)
    assert len({one.address for one in found}) == len(found)
    assert all(one.address.isprintable() and one.address == one.address.lower() for one in found)
