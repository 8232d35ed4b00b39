"""Signatures that are proposed from what people complain of.

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
                one
                for one in candidates
                if Rarity(support=one.support, **counted.get(one.signature.id, {})).rare
            ]

        found = propose_signatures(messages, checked_by_ham=False, allowed=allowed, most=MOST)
        if not found:
            return []
        rows = [
            msgspec.structs.replace(
                one.signature, owner=OWNER, author=OWNER, reason=reason, created=now
            )
            for one in found
        ]
        evidence = [{"support": one.support, "of": one.of, "fresh": one.fresh} for one in found]
        with SignatureStore(self._state / state_files.SIGNATURES) as store:
            names = store.add(rows, now=now, state=SignatureState.PROPOSED, evidence=evidence)
        return [name for name, new in names if new]

    def _counted(
        self, candidates: Sequence[SignatureProposal], now: float
    ) -> dict[str, dict[str, int]]:
        """Return what the counters remember of entities, by the signature's id.

        Nothing where they do not answer.
        """
        entities = [one.signature for one in candidates if one.signature.kind in COUNTED]
        shingles = []
        for one in entities:
            kind, value = entity(one)
            octets = (
                bytes.fromhex(value) if len(value) == 64 and kind == "checksum" else value.encode()
            )
            shingles.append(self._hasher.octets(COUNTED[one.kind], octets))
        try:
            with open_readonly(self._settings, self._state) as store:
                rows = asyncio.run(store.read(shingles, now)) if shingles else []
        except StoreError:
            return {}
        return {
            one.id: {
                "seen": row[Window.FORTNIGHT][Metric.SEEN],
                "spam": row[Window.FORTNIGHT][Metric.SPAM],
                "pardons": row[Window.FORTNIGHT][Metric.PARDONS],
            }
            for one, row in zip(entities, rows, strict=True)
        }
