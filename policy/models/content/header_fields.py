"""What of a message's header the content model reads: what was written before it came to us.

Left out is what was written after, so that a message looks the same at the door and when a person
complains about it: our own headers, those of delivery and of mailboxes; and the verdicts of other
filters, which would teach theirs instead of people's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oborona.message.model import HeaderField, Message
from oborona.policy.headers import OUR_NAMES

FIELD_OCTETS: Final = 400  # of a field: chains of signatures must not push Subject out
SIGNATURE_OCTETS: Final = 100  # of a signature: version, algorithm, domain; what follows is random
HEAD_OCTETS: Final = 6000  # of all fields

_DELIVERY: Final = frozenset(
    ("return-path", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "x-sieve", "status", "x-status", "x-uid", "x-uidl",
     "x-keywords", "lines", "content-length", "x-folder", "x-label", "x-gmail-labels", "x-gm-thrid", "xref", "replied", "forwarded")
)  # fmt: skip
_AFTERWARDS: Final = re.compile(r"x-(?:evolution|mozilla|imap|dovecot)")
_VERDICT: Final = re.compile(
    r".*(?:spam|bogosity|virus|amavis)|x-(?:mailscanner|barracuda|ironport|proofpoint|pmx|assp|crm114|gmane|ms-exchange-organization)"
)
_HANDED_OVER: Final = re.compile(rb"\bwith LMTP")  # from our mail server to the mailbox
_SIGNATURE: Final = re.compile(
    r"(?:.*dkim-signature|domainkey-signature|arc-|x-gm-message-state|x-me-proxy)"
)


def read_header_fields(message: Message) -> list[tuple[HeaderField, bytes]]:
    """Return the fields that count, in order, each with its octets: name, colon, value, cut to a
    length.

    Returns:
        No more than `HEAD_OCTETS` together, but for the last, with a line end after each; none
        within.
    """
    fields = []
    left = HEAD_OCTETS
    for header in message.headers:
        length = _octets(header.name)
        raw = header.raw
        if length and not (header.name == "received" and _HANDED_OVER.search(raw)):
            if b"=?" in raw:
                raw = header.value.encode("utf-8", "surrogatepass")
            octets = header.name.encode() + b": " + raw[:length].replace(b"\n", b" ")
            fields.append((header, octets))
            left -= len(octets) + 1
            if left <= 0:
                break
    return fields


@lru_cache(maxsize=2048)
def _octets(name: str) -> int:
    """Return how much of a field is read; 0 = it is left out."""
    if (
        name.startswith(OUR_NAMES)
        or name in _DELIVERY
        or _AFTERWARDS.match(name)
        or _VERDICT.match(name)
    ):
        return 0
    return SIGNATURE_OCTETS if _SIGNATURE.match(name) else FIELD_OCTETS
