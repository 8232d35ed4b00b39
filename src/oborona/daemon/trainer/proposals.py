"""Signatures that are proposed from complaints.

They wait for a person (`oborona signature proposals`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.config import Settings
from oborona.errors import StoreError
from oborona.message.hashing import Hasher
from oborona.message.parse import parse
from oborona.policy.signatures.check import entity
from oborona.policy.signatures.mining import SignatureProposal, propose_signatures
from oborona.policy.signatures.rarity import COUNTED, Rarity
from oborona.stores.counters import open_readonly
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.types import Metric, Window

MOST: Final = 5  # of one campaign: a few cover it, and a person reads them
OWNER: Final = "feedback"


class SignatureProposer:
    """Proposes signatures of campaigns.

    Args:
        settings: of the site.
        state: the state folder.
        hasher: holds the site's secret.
    """

    def __init__(self, settings: Settings, state: Path, hasher: Hasher) -> None:
        self._settings = settings
        self._state = state
        self._hasher = hasher
        self._regions = tuple(settings.site.regions.split())

    def propose(self, spam: Sequence[bytes], reason: str, now: float) -> list[str]:
        """Propose signatures that messages have in common, and the counters of good mail have not.

        Return the names of those that are new.

        Raises:
            StoreError: the book of signatures can't be written.
        """
        messages = [parse(raw, regions=self._regions) for raw in spam]

        def allowed(candidates: Sequence[SignatureProposal]) -> Iterable[SignatureProposal]:
            counted = self._counted(candidates, now)
            return [
                candidate
                for candidate in candidates
                if Rarity(support=candidate.support, **counted.get(candidate.signature.id, {})).rare
            ]

        candidates_found = propose_signatures(
            messages, checked_by_ham=False, allowed=allowed, most=MOST
        )
        if not candidates_found:
            return []
        rows = [
            msgspec.structs.replace(
                candidate.signature, owner=OWNER, author=OWNER, reason=reason, created=now
            )
            for candidate in candidates_found
        ]
        evidence = [
            {"support": candidate.support, "of": candidate.of, "fresh": candidate.fresh}
            for candidate in candidates_found
        ]
        with SignatureStore(self._state / state_files.SIGNATURES) as store:
            names = store.add(rows, now=now, state=SignatureState.PROPOSED, evidence=evidence)
        return [name for name, new in names if new]

    def _counted(
        self, candidates: Sequence[SignatureProposal], now: float
    ) -> dict[str, dict[str, int]]:
        """Return what the counters remember of entities, by the signature's id.

        Nothing where they do not answer.
        """
        entities = [
            candidate.signature for candidate in candidates if candidate.signature.kind in COUNTED
        ]
        shingles = []
        for signature in entities:
            kind, value = entity(signature)
            octets = (
                bytes.fromhex(value) if len(value) == 64 and kind == "checksum" else value.encode()
            )
            shingles.append(self._hasher.octets(COUNTED[signature.kind], octets))
        try:
            with open_readonly(self._settings, self._state) as store:
                rows = asyncio.run(store.read(shingles, now)) if shingles else []
        except StoreError:
            return {}
        return {
            signature.id: {
                "seen": row[Window.FORTNIGHT][Metric.SEEN],
                "spam": row[Window.FORTNIGHT][Metric.SPAM],
                "pardons": row[Window.FORTNIGHT][Metric.PARDONS],
            }
            for signature, row in zip(entities, rows, strict=True)
        }
