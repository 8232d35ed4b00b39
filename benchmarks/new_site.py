"""A site that has never seen a message, and a client that it knows nothing of: for benchmarks that
judge each message alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.fact_table import SCHEMA
from oborona.policy.models.ports import FinalModel, NoModels
from oborona.policy.scan import ScanSite
from oborona.policy.signatures import LiveSignatures
from oborona.stores.final_model import SHIPPED_FILE, FollowedFinalModel
from oborona.types import Client, Envelope

STRANGER: Final = Client(ip="192.0.2.1", name="mail.example")
READER: Final = "reader@example.test"
NOBODY: Final = "nobody@sender.example"


def new_site(signatures: LiveSignatures, final: FinalModel | None = None) -> ScanSite:
    """Return a site whose counters are empty.

    Args:
        signatures: of the policy that it judges by.
        final: the final models that it asks; None = the rules decide alone.
    """
    return ScanSite(
        name="mx.example.test",
        hasher=Hasher(b"k" * 32),
        counters=MemoryCounters(),
        signatures=signatures,
        final=final or NoModels(),
    )


def shipped_final() -> FinalModel:
    """Return the final models of a new site: the one that comes with Oborona.

    Raises:
        OboronaError: it can't be used.
    """
    models = FollowedFinalModel(Path("none"), SCHEMA, shipped=(SHIPPED_FILE,))
    models.look()
    if models.error is not None:
        raise models.error
    return models


def envelope_of_stranger(sender: str = NOBODY) -> Envelope:
    """Return the envelope of a message of which nobody knows who brought it.

    Args:
        sender: address in MAIL FROM.
    """
    return Envelope(client=STRANGER, helo=STRANGER.name, sender=sender, recipients=(READER,))
