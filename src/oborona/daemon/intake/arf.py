"""Feedback reports in the Abuse Reporting Format: their fields, as the sites that send them write
them.  Pure, never raises.

Fields that may come once and come more often count with their first; values are as written, cut.
What some sites leave out, or blank out for their readers' sake, is empty here: a report is matched
by the message in it (`oborona.daemon.intake.feedback_loops`), and its fields only say who
complained.

Source: RFC 5965; RFC 6430 (not-spam), RFC 6590 (what is blanked out), RFC 6591 and 6650 (what is no
complaint).
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.feedback.events.model import EventKind
from oborona.message import headers as fields
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.model import HeaderField
from oborona.reputation.personal import mail_address

MOST_BYTES: Final = 64 * 1024  # of the report's fields that are read
MOST_TEXT: Final = 200  # characters of a value
MOST_PERSONS: Final = 20  # Original-Rcpt-To may come once for each
LIMITS: Final = ParserLimits(headers=200)

SAYS: Final = {
    "abuse": EventKind.COMPLAINT,
    "fraud": EventKind.COMPLAINT,
    "virus": EventKind.COMPLAINT,
    "not-spam": EventKind.PARDON,
}
"""What a feedback type says of a message.  Others are no report of it: opt-out asks for no more
mail, auth-failure tells of DKIM or DMARC.
"""


class ArfReport(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of one report."""

    kind: str  # Feedback-Type, lower case; empty = there is none
    says: EventKind | None  # None: it is no word on the message
    agent: str = ""  # User-Agent: who wrote it
    persons: tuple[str, ...] = ()  # Original-Rcpt-To and Removal-Recipient, in normal form
    source_ip: str = ""
    domain: str = ""  # Reported-Domain


def arf_report(body: bytes) -> ArfReport:
    """Return the fields of a feedback report.

    Args:
        body: of the part message/feedback-report; line ends are LF.
    """
    data = body[:MOST_BYTES].lstrip(b"\n")
    headers, _ = fields.split(data, 0, len(data), LIMITS, Findings())
    kind = _value(headers, "feedback-type").lower()
    persons = [
        mail_address(header.value.strip("<> "))
        for header in headers
        if header.name in ("original-rcpt-to", "removal-recipient")
    ]
    return ArfReport(
        kind=kind,
        says=SAYS.get(kind),
        agent=_value(headers, "user-agent"),
        persons=tuple(dict.fromkeys(person for person in persons[:MOST_PERSONS] if person)),
        source_ip=_value(headers, "source-ip"),
        domain=_value(headers, "reported-domain").lower(),
    )


def _value(headers: tuple[HeaderField, ...], name: str) -> str:
    field = fields.first(headers, name)
    return field.value[:MOST_TEXT].strip() if field else ""
