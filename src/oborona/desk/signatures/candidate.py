"""Signatures out of spam: what it has in common, and good mail and the counters of good mail have
not.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.signatures import Signature, SignatureBook
from oborona.policy.signatures.check import entity
from oborona.policy.signatures.mining import MAX_MESSAGES, SignatureProposal, propose_signatures
from oborona.policy.signatures.rarity import COUNTED, Rarity
from oborona.stores.counters import open_readonly
from oborona.types import Metric, Window


class SignatureCandidate(NamedTuple):
    """A signature that might be proposed.

    Args:
        signature: itself, without an id.
        evidence: what speaks for it.
    """

    signature: Signature
    evidence: dict[str, Any]


def mined_candidates(
    site: Site,
    spam: Iterable[bytes],
    ham: Iterable[bytes] | None,
    *,
    owner: str,
    author: str,
    reason: str,
    most: int,
) -> list[SignatureCandidate]:
    """Return what spam has in common, and others have not.

    Args:
        site: whose counters are asked.
        spam: messages; the first `MAX_MESSAGES` are looked at, with a notice.
        ham: good mail to compare with; None = there is none.
        owner: who will answer for them.
        author: who looks for them.
        reason: why; empty = how many messages they are from.
        most: candidates at most.
    """
    regions = tuple(site.loaded.settings.site.regions.split())
    parsed_spam = list[Message]()
    for message in _parsed(spam, regions):
        if len(parsed_spam) == MAX_MESSAGES:
            site.notice(f"more than {MAX_MESSAGES} messages of spam; the first are looked at")
            break
        parsed_spam.append(message)
    rarities: dict[str, Rarity] = {}

    def allowed(candidates: Sequence[SignatureProposal]) -> Iterable[SignatureProposal]:
        rarities.update(_rarities(site, candidates, _parsed(ham or (), regions)))
        return [candidate for candidate in candidates if rarities[candidate.signature.id].rare]

    mined = propose_signatures(
        parsed_spam, checked_by_ham=ham is not None, allowed=allowed, most=most
    )
    now = time.time()
    return [
        SignatureCandidate(
            msgspec.structs.replace(
                proposal.signature,
                owner=owner,
                author=author,
                reason=reason or f"in {proposal.support} of {proposal.of} spam messages",
                created=now,
            ),
            _evidence(proposal, rarities[proposal.signature.id]),
        )
        for proposal in mined
    ]


def _parsed(messages: Iterable[bytes], regions: tuple[str, ...]) -> Iterator[Message]:
    return (parse(raw, regions=regions) for raw in messages)


def _rarities(
    site: Site, candidates: Sequence[SignatureProposal], ham: Iterable[Message]
) -> dict[str, Rarity]:
    """Return what good mail and the counters say of each candidate, by its id."""
    book, having, total = (
        SignatureBook.of([candidate.signature for candidate in candidates]),
        Counter[str](),
        0,
    )
    for message in ham:
        total += 1
        having.update(signature.id for signature in book.find(message, 0.0).signatures)
    counted = _counts_of(site, [candidate.signature for candidate in candidates])
    return {
        candidate.signature.id: Rarity(
            support=candidate.support,
            ham=having[candidate.signature.id],
            ham_of=total,
            **counted.get(candidate.signature.id, {}),
        )
        for candidate in candidates
    }


def _counts_of(site: Site, signatures: Sequence[Signature]) -> dict[str, dict[str, int]]:
    """Return what the counters remember of entities, by the signature's id.

    Nothing without a store.
    """
    entities = [signature for signature in signatures if signature.kind in COUNTED]
    hasher = Hasher(site.keys().shingles)
    shingles = []
    for signature in entities:
        kind, value = entity(signature)
        piece = bytes.fromhex(value) if len(value) == 64 and kind == "checksum" else value.encode()
        shingles.append(hasher.octets(COUNTED[kind], piece))
    try:
        with open_readonly(site.loaded.settings, site.state) as store:
            rows = asyncio.run(store.read(shingles, time.time())) if shingles else []
    except StoreError as error:
        site.notice(f"{error}; the counters are not asked")
        return {}
    return {
        entity.id: {
            "seen": row[Window.FORTNIGHT][Metric.SEEN],
            "spam": row[Window.FORTNIGHT][Metric.SPAM],
            "pardons": row[Window.FORTNIGHT][Metric.PARDONS],
        }
        for entity, row in zip(entities, rows, strict=True)
    }


def _evidence(proposal: SignatureProposal, rarity: Rarity) -> dict[str, Any]:
    return {
        "support": proposal.support,
        "of": proposal.of,
        "fresh": proposal.fresh,
        "good_mail": rarity.words(),
        "expected_share_of_good_mail": rarity.share,
    }
