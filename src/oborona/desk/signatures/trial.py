"""Signatures looked for in messages; nothing is counted, and pictures are not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from oborona.message.parse import parse
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureBook,
    SignatureFinder,
    check_signature,
)


def checked_signature(signature: Signature) -> Signature:
    """Return a signature that can be used.

    Raises:
        UnusableValueError: it can't; the text says why.
    """
    try:
        return check_signature(signature)
    except BrokenSignature as fault:
        raise UnusableValueError(str(fault)) from None


def found_signatures(
    site: Site, signatures: SignatureFinder, messages: Iterable[bytes], now: float
) -> Iterator[list[str]]:
    """Yield, for each message, the ids of the signatures that it has."""
    regions = tuple(site.loaded.settings.site.regions.split())
    for raw in messages:
        found = signatures.find(parse(raw, regions=regions), now).signatures
        yield [signature.id for signature in found]


def count_having(site: Site, signature: Signature, messages: Iterable[bytes]) -> tuple[int, int]:
    """Return how many of some messages have a signature, and how many there are."""
    hits = total = 0
    for names in found_signatures(site, SignatureBook.of([signature]), messages, 0.0):
        total += 1
        hits += bool(names)
    return hits, total
