"""Delivery status notifications: of which recipients a mail server says that a message failed.
Pure, never raises.

    fields of the message, a blank line, and a group of fields for each recipient

A recipient counts with what the sender had called it (Original-Recipient), or else with what its
last server did.  **Unknown** is one that has no mailbox, or none any more: that is what tells a
list of bad addresses from a server that is full, down or suspicious.

Source: RFC 3464, RFC 6533 (utf-8 addresses), RFC 3463 and the registry of enhanced status codes,
RFC 7505 (5.1.10).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.message import headers as fields
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.model import HeaderField

MOST_BYTES: Final = 256 * 1024  # of a status that are read
MOST_RECIPIENTS: Final = 1000
MOST_TEXT: Final = 320  # characters of an address: 64, an @ and 255
LIMITS: Final = ParserLimits(headers=50)

FAILED: Final = "failed"  # RFC 3464 s2.3.3; delayed, delivered, relayed and expanded have not
UNKNOWN: Final = frozenset({"5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"})
"""Status codes by which there is no mailbox, no domain, or none any more (RFC 3463 s3.2, 3.3)."""
_STATUS: Final = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.])")
# Exchange Online refuses who is in no directory of it so, with a code that means another thing.
_NOT_IN_DIRECTORY: Final = re.compile(
    r"5\.4\.1\b.{0,40}recipient address rejected", re.IGNORECASE | re.DOTALL
)
_ADDRESS_TYPES: Final = frozenset({"rfc822", "utf-8"})


class FailedRecipient(msgspec.Struct, frozen=True):
    """A recipient that a message did not reach."""

    address: str  # lower case; empty where it is none of mail
    status: str  # such as 5.1.1; empty where there is none
    unknown: bool  # there is no such mailbox


def failed_recipients(body: bytes) -> tuple[FailedRecipient, ...]:
    """Return the recipients that a delivery status says a message failed for, each once.

    Args:
        body: of the part message/delivery-status; line ends are LF.
    """
    found: dict[str, FailedRecipient] = {}
    data = body[:MOST_BYTES].lstrip(b"\n")
    for group in re.split(rb"\n[ \t]*\n+", data)[: MOST_RECIPIENTS + 1]:
        headers, _ = fields.split(group, 0, len(group), LIMITS, Findings())
        if _value(headers, "action").lower() != FAILED:
            continue
        address = _address(_value(headers, "original-recipient")) or _address(
            _value(headers, "final-recipient")
        )
        said = _value(headers, "diagnostic-code")
        status = _status(_value(headers, "status"))
        if not status or status.endswith(".0.0"):  # Exim says no more than that
            status = _status(said) or status
        unknown = status in UNKNOWN or _NOT_IN_DIRECTORY.search(said) is not None
        found.setdefault(address, FailedRecipient(address, status, unknown))
    return tuple(found.values())[:MOST_RECIPIENTS]  # without fields of the message, one more


def _value(headers: tuple[HeaderField, ...], name: str) -> str:
    field = fields.first(headers, name)
    return field.value[: 2 * MOST_TEXT].strip() if field else ""


def _address(value: str) -> str:
    """Return the address of `rfc822; ann@example.org`, in lower case; empty: it is none."""
    kind, _, address = value.partition(";")
    address = address.strip().strip("<>").lower()
    if kind.strip().lower() not in _ADDRESS_TYPES or "@" not in address:
        return ""
    return address if len(address) <= MOST_TEXT and address.isprintable() else ""


def _status(text: str) -> str:
    """Return the first enhanced status code in a text."""
    found = _STATUS.search(text)
    return found[0] if found else ""
