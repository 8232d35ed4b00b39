"""Messages that a mail holds as attachments: what somebody forwards to say that it is spam, or is
none, and what a mail server returns.  Pure, never raises.

A message is attached as message/rfc822, as its header alone (text/rfc822-headers), or as a file
NAME.eml of any type; decoded where it was encoded.  What an attached message itself holds is its
own.

Limits: `LIMITS` of parts and depth; `MOST_MESSAGES` of one mail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from oborona.message import mime, transfer_encoding
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.mime import MimeEntity
from oborona.message.model import HeaderField

LIMITS: Final = ParserLimits(
    parts=300, depth=12
)  # who forwards a folder sends some dozens of messages
MOST_MESSAGES: Final = 100
WHOLE: Final = frozenset({"message/rfc822", "message/global", "message/news"})
HEADERS: Final = frozenset(
    {
        "text/rfc822-headers",
        "text/rfc822-header",
        "message/rfc822-headers",
        "message/global-headers",
    }
)
FEEDBACK: Final = "message/feedback-report"  # RFC 5965 s2
DELIVERY: Final = frozenset(
    {"message/delivery-status", "message/global-delivery-status"}  # RFC 3464 s2, RFC 6533 s3
)


class AttachedMessage(msgspec.Struct, frozen=True):
    """One message in another."""

    raw: bytes  # line ends are LF
    whole: bool  # False: its header alone


class ReportMail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail with what is attached to it."""

    headers: tuple[HeaderField, ...]
    messages: tuple[AttachedMessage, ...]  # in their order
    more: int  # messages beyond `MOST_MESSAGES`
    feedback: bytes | None = None  # body of the first feedback report; None = it is none
    delivery: bytes | None = None  # the same of the first delivery status

    def get(self, name: str) -> str:
        """Return the value of the first field called `name` (lower case); empty = there is none."""
        return next((header.value for header in self.headers if header.name == name), "")


def report_mail(raw: bytes) -> ReportMail:
    """Return a mail with the messages attached to it.

    Args:
        raw: whole, or its beginning; line ends CRLF or LF.
    """
    data, findings = raw.replace(b"\r\n", b"\n"), Findings()
    root = mime.split(data, LIMITS, findings)[0]
    messages: list[AttachedMessage] = []
    more, feedback, delivery = 0, None, None
    for part in _leaves(root):
        kind = part.content_type
        if kind == FEEDBACK:
            if feedback is None:
                feedback = _body(data, part, findings)
            continue
        if kind in DELIVERY:
            if delivery is None:
                delivery = _body(data, part, findings)
            continue
        whole = kind in WHOLE or part.name.lower().endswith(".eml")
        if not (whole or kind in HEADERS):
            continue
        if len(messages) < MOST_MESSAGES:
            messages.append(AttachedMessage(_body(data, part, findings), whole))
        else:
            more += 1
    return ReportMail(
        headers=root.headers,
        messages=tuple(messages),
        more=more,
        feedback=feedback,
        delivery=delivery,
    )


def _leaves(root: MimeEntity) -> Iterator[MimeEntity]:
    """Yield the parts of a mail that are no multipart, in their order.

    Attached messages are not looked into.
    """
    stack = [root]
    while stack:
        part = stack.pop()
        if part.content_type.startswith("multipart/") and part.children:
            stack.extend(reversed(part.children))
        else:
            yield part


def _body(data: bytes, part: MimeEntity, findings: Findings) -> bytes:
    """Return what a part holds, decoded."""
    body = transfer_encoding.decode(data[part.start : part.end], part.encoding, findings)
    return body.replace(b"\r\n", b"\n")
