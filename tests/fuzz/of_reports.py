"""What must hold of reports that come by mail, whatever octets they are."""

from __future__ import annotations

from oborona.daemon.intake.arf import MOST_PERSONS, arf_report
from oborona.doors.delivery import header_marks
from oborona.feedback.events.message_reference import read_reference
from oborona.message.delivery_status import MOST_RECIPIENTS, MOST_TEXT, failed_recipients
from oborona.message.report_mail import MOST_MESSAGES, report_mail

KEY = b"f" * 32


def letter(octets: bytes) -> None:
    """A mail is opened into messages that are no more than came.

    None of them has an id that we did not sign.
    """
    mail = report_mail(octets)
    assert len(mail.messages) <= MOST_MESSAGES
    assert sum(len(one.raw) for one in mail.messages) <= len(octets)
    for one in mail.messages:
        name = read_reference(one.raw, KEY)
        assert name.ident is None, "nobody but us has the key"
        name.message_id.encode()
    header_marks.read_marks(octets)
    if mail.feedback is not None:
        found = arf_report(mail.feedback)
        assert len(found.persons) <= MOST_PERSONS
        assert all(one.count("@") == 1 for one in found.persons)
        f"{found.kind}{found.agent}{found.source_ip}{found.domain}".encode()
    if mail.delivery is not None:
        failed = failed_recipients(mail.delivery)
        assert len({one.address for one in failed}) == len(failed) <= MOST_RECIPIENTS
        assert all(one.address.isprintable() and len(one.address) <= MOST_TEXT for one in failed)
        "".join(one.address for one in failed).encode()
