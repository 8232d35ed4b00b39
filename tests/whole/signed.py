"""A domain that does everything right, published in a test's DNS, and mail signed for it as dkimpy
signs.
"""

from __future__ import annotations

from typing import Final

import dkim

from tests.authentication.signing import rsa
from tests.peers.dns import Zones

SENDS: Final = "9.1.0.0/16"  # where its mail comes from
SIGNED: Final = (b"from", b"to", b"subject", b"date", b"message-id")


def publish(zones: Zones, domain: str, *, policy: str = "reject") -> None:
    """Publish SPF, a key and a DMARC policy."""
    zones.add(
        {
            domain: {"TXT": f"v=spf1 ip4:{SENDS} -all"},
            f"s1._domainkey.{domain}": {"TXT": rsa(2048).record},
            f"_dmarc.{domain}": {"TXT": f"v=DMARC1; p={policy}"},
        }
    )


def letter(domain: str, extra: bytes = b"") -> bytes:
    """Return a letter from Ann at a domain, unsigned."""
    return (
        b"%bFrom: Ann <ann@%b>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nDate: Fri, 20 Nov "
        b"2026 10:00:00 +0000\r\n"
        b"Message-ID: <1@%b>\r\n\r\nAt noon?\r\n"
    ) % (extra, domain.encode(), domain.encode())


def signed(raw: bytes, domain: str) -> bytes:
    """Return a message with the domain's signature on top."""
    field: bytes = dkim.sign(raw, b"s1", domain.encode(), rsa(2048).pem, include_headers=SIGNED)
    return field + raw
