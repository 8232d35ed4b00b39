"""Mail with messages attached, and feedback reports: what is read of them, and that nothing else
can happen.
"""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.daemon.intake.arf import arf_report
from oborona.feedback.events.model import EventKind
from oborona.message.report_mail import MOST_MESSAGES, report_mail
from tests.daemon.intake.letters import ABUSE, BOUNDARY, arf, forwarded, spam


def test_each_attached_message_is_found_as_it_is() -> None:
    one, two = spam(1), spam(2)
    mail = report_mail(forwarded(one, two))
    assert [part.raw for part in mail.messages] == [
        each.replace(b"\r\n", b"\n") for each in (one, two)
    ]
    assert all(part.whole for part in mail.messages)
    assert mail.feedback is None
    assert mail.get("subject") == "Fwd: Pills"


@pytest.mark.parametrize(
    "kind",
    [
        b"message/rfc822",
        b"message/rfc822\r\nContent-Transfer-Encoding: 8bit",
        b"message/global",
        b'application/octet-stream; name="Pills.EML"',
    ],
)
def test_messages_are_attached_in_many_ways(kind: bytes) -> None:
    (found,) = report_mail(forwarded(spam(), kind=kind)).messages
    assert found.raw == spam().replace(b"\r\n", b"\n")


@pytest.mark.parametrize("kind", [b"message/rfc822", b'application/octet-stream; name="pills.eml"'])
def test_a_message_may_be_encoded(kind: bytes) -> None:
    encoded = base64.encodebytes(spam())
    (found,) = report_mail(
        forwarded(encoded, kind=kind + b"\r\nContent-Transfer-Encoding: base64")
    ).messages
    assert found.raw == spam().replace(b"\r\n", b"\n")


def test_what_an_attached_message_holds_is_its_own() -> None:
    inner = forwarded(spam(1)).replace(BOUNDARY, b"inner")
    (found,) = report_mail(forwarded(inner)).messages
    assert found.raw == inner.replace(b"\r\n", b"\n")


def test_a_header_alone_is_known_as_one() -> None:
    header = spam().partition(b"\r\n\r\n")[0] + b"\r\n"
    (found,) = report_mail(arf(header, *ABUSE, kind=b"text/rfc822-headers")).messages
    assert not found.whole
    assert b"X-Mras-Id:" in found.raw


def test_ten_thousand_attached_messages_are_a_hundred() -> None:
    began = time.process_time()
    mail = report_mail(forwarded(*[spam(number) for number in range(10_000)]))
    assert len(mail.messages) == MOST_MESSAGES
    assert mail.more > 0
    assert time.process_time() - began < 10


def test_a_mail_may_be_nothing_but_a_message() -> None:
    assert report_mail(spam()).messages == ()
    assert report_mail(b"").messages == ()
    (found,) = report_mail(b"Content-Type: message/rfc822\r\n\r\n" + spam()).messages
    assert found.raw == spam().replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (("Feedback-Type: abuse",), EventKind.COMPLAINT),
        (("feedback-type:   FRAUD  ",), EventKind.COMPLAINT),
        (("Feedback-Type: virus",), EventKind.COMPLAINT),
        (("Feedback-Type: not-spam",), EventKind.PARDON),
        (("Feedback-Type: opt-out",), None),
        (("Feedback-Type: auth-failure",), None),
        (("Feedback-Type: other",), None),
        (("Feedback-Type: abuse", "Feedback-Type: not-spam"), EventKind.COMPLAINT),
        (("User-Agent: x",), None),
        ((), None),
    ],
)
def test_what_a_report_says(fields: tuple[str, ...], says: EventKind | None) -> None:
    mail = report_mail(arf(spam(), *fields))
    assert mail.feedback is not None
    assert arf_report(mail.feedback).says is says


def test_the_fields_of_a_report() -> None:
    """As large sites write them: RFC 5965 appendix B.2, and a recipient in brackets."""
    mail = report_mail(
        arf(
            spam(),
            *ABUSE,
            "Original-Mail-From: <bounce@b.example>",
            "Original-Rcpt-To: <User@Yahoo.example>",
            "Original-Rcpt-To: redacted",
            "Removal-Recipient: other@yahoo.example",
            "Arrival-Date: Thu, 8 Mar 2005 14:00:00 EDT",
            "Reporting-MTA: dns; mail.yahoo.example",
            "Source-IP: 192.0.2.1",
            "Reported-Domain: B.example",
            "Reported-Uri: http://b.example/earn_money.html",
            "Incidents: 3",
        )
    )
    assert mail.feedback is not None
    found = arf_report(mail.feedback)
    assert found.persons == ("user@yahoo.example", "other@yahoo.example")
    assert (found.kind, found.agent) == ("abuse", "Yahoo!-Mail-Feedback/2.0")
    assert (found.source_ip, found.domain) == ("192.0.2.1", "b.example")


_PIECES = st.sampled_from(
    [
        b"--=_part\r\n", b"--=_part--\r\n", b"Content-Type: message/rfc822\r\n", b"Content-Type: message/feedback-report\r\n",
        b"Content-Type: multipart/mixed; boundary==_part\r\n", b"Content-Transfer-Encoding: base64\r\n", b"\r\n", b"\n", b"Feedback-Type: abuse\r\n",
        b"X-Mras-Id: 0000000000007.", b"name=a.eml", b"QUJD", b"\0", b"\xff", b"Original-Rcpt-To: a@b\r\n",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES | st.binary(max_size=20), max_size=40).map(b"".join))
def test_any_octets_are_a_mail(octets: bytes) -> None:
    """Whatever comes is read without an error, and what is found was in it, or decoded from it:
    never more than came.
    """
    mail = report_mail(octets)
    assert len(mail.messages) <= MOST_MESSAGES
    assert sum(len(one.raw) for one in mail.messages) <= len(octets)
    if mail.feedback is not None:
        found = arf_report(mail.feedback)
        assert found.says in (None, EventKind.COMPLAINT, EventKind.PARDON)
        assert all("@" in one for one in found.persons)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2000))
def test_a_report_that_is_cut_is_read_as_far_as_it_goes(length: int) -> None:
    whole = arf(spam(), *ABUSE)
    for one in report_mail(whole[:length]).messages:
        assert one.raw in whole[:length].replace(b"\r\n", b"\n")
