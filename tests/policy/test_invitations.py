"""Events that strangers put into calendars."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.checks import CHECKS
from oborona.policy.checks.context import CheckContext
from oborona.types import Client, Envelope

EVENT = """BEGIN:VCALENDAR
METHOD:{method}
BEGIN:VEVENT
ORGANIZER:mailto:a@b.example
SUMMARY:{summary}
DESCRIPTION:{description}
END:VEVENT
END:VCALENDAR
"""


def invitation(
    *,
    summary: str = "Receipt 4711",
    description: str = "Total USD 360.41. Questions? Call +1 555 0100",
    header: str = "text/calendar; charset=utf-8; method=REQUEST",
    method: str = "REQUEST",
) -> bytes:
    event = EVENT.format(summary=summary, description=description, method=method)
    return (
        "From: a@b.example\nSubject: Invitation\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\n'
        f"An event\n--b\nContent-Type: {header}\nContent-Transfer-Encoding: base64\n\n"
        f"{base64.b64encode(event.encode('utf-8', 'replace')).decode()}\n--b--\n"
    ).encode("utf-8", "replace")


def found(raw: bytes) -> dict[str, str]:
    context = CheckContext(
        message=parse(raw),
        envelope=Envelope(client=Client(ip="198.51.100.7", name="")),
        site="mx.example",
        now=1_795_170_000.0,
    )
    findings = (check(context) for check in CHECKS)
    return {
        finding.name: finding.evidence
        for finding in findings
        if finding is not None and finding.name.startswith("invitation")
    }


def test_a_bill_in_a_calendar() -> None:
    assert found(invitation()) == {"invitation": "", "invitation-of-payment": "USD 360.41"}
    for summary in ("$489.99 will be paid", "489,99 €", "£ 20"):
        assert "invitation-of-payment" in found(invitation(summary=summary, description="x"))


@pytest.mark.parametrize(
    "place",
    ["https://us06web.zoom.us/j/1", "https://meet.google.com/abc", "https://firm.webex.com/x"],
)
def test_who_meets_on_the_network_may_name_a_fee(place: str) -> None:
    assert found(invitation(description=f"The fee is $20. {place}")) == {"invitation": ""}


@pytest.mark.parametrize(
    "header",
    [
        "text/calendar; charset=utf-8",
        "text/calendar; method=PUBLISH",
        "text/calendar; method=REPLY",
        "text/calendar; name=request.ics",
        "text/plain; method=REQUEST",
        "application/ics; method=REQUEST",
    ],
)
def test_what_asks_nobody_is_no_invitation(header: str) -> None:
    assert found(invitation(header=header)) == {}


def test_an_invitation_without_a_sum() -> None:
    assert found(invitation(description="Lunch at noon")) == {"invitation": ""}
    header = 'text/calendar; METHOD = "request"'
    assert found(invitation(description="Lunch", header=header)) == {"invitation": ""}


def test_the_message_itself_may_be_the_event() -> None:
    alone = b"From: a@b.example\nContent-Type: text/calendar; method=REQUEST\n\nBEGIN:VEVENT\n"
    assert found(alone) == {"invitation": ""}


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_event_is_one_or_none(summary: str, description: str) -> None:
    names = found(invitation(summary=summary, description=description))
    assert set(names) <= {"invitation", "invitation-of-payment"}
    assert "invitation" in names
