"""A site that has never seen a message, and a client that it knows nothing of: for benchmarks that
judge each message alone.
"""

from __future__ import annotations

from typing import Final

from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.scan import ScanSite
from oborona.policy.signatures import LiveSignatures
from oborona.types import Client, Envelope

STRANGER: Final = Client(ip="192.0.2.1", name="mail.example")
READER: Final = "reader@example.test"
NOBODY: Final = "nobody@sender.example"


def new_site(signatures: LiveSignatures) -> ScanSite:
    """Return a site whose counters are empty.

    Args:
        signatures: of the policy that it judges by.
    """
    return ScanSite(
        name="mx.example.test",
        hasher=Hasher(b"k" * 32),
        counters=MemoryCounters(),
        signatures=signatures,
    )


def envelope_of_stranger(sender: str = NOBODY) -> Envelope:
    """Return the envelope of a message of which nobody knows who brought it.

    Args:
        sender: address in MAIL FROM.
    """
    return Envelope(client=STRANGER, helo=STRANGER.name, sender=sender, recipients=(READER,))
