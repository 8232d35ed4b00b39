"""The store of signatures opened for a call, and a signature as it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from oborona import state_files
from oborona.desk.refusals import UnknownNameError
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.policy.signatures import Signature
from oborona.stores.signatures.rows import SignatureHits
from oborona.stores.signatures.store import SignatureStore


@contextmanager
def open_signatures(site: Site) -> Iterator[SignatureStore]:
    """The store of the site; begun where there is none.

    Raises:
        StoreError: it can't be used.
        UnknownNameError: no signature has the id that was asked for.
    """
    with open_store(site, SignatureStore, state_files.SIGNATURES, make=True) as store:
        try:
            yield store
        except KeyError as unknown:
            raise UnknownNameError(f"no signature {str(unknown)[:60]}") from None


class ShownHits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a signature was found: in all, today, and when last, Unix seconds."""

    total: int
    today: int
    last: float


class ShownSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature.

    Args:
        signature: itself.
        state: of the store; `file` = it stands in a file of the policy.
        expired: it is over.
        hits: how often it was found.
        decided: when its state was last changed, Unix seconds; 0 = never.
        decided_by: who did it.
        evidence: of a proposal.
    """

    signature: Signature
    state: str
    expired: bool
    hits: ShownHits
    decided: float = 0.0
    decided_by: str = ""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


def shown_hits(hits: SignatureHits) -> ShownHits:
    """Return how often a signature was found, as it is shown."""
    return ShownHits(total=hits.total, today=hits.today, last=hits.last)
