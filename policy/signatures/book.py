"""All signatures in force, and how they change while mail is judged.

A book is never changed: `with_changes` returns the next one, which shares what is as before.  A
signature that is gone, or is another now, stays in its segment and is no longer believed.  New ones
go into the last segment while it is small, many at once into segments of their own, so that nothing
that is made holds Python's lock for more than some 10 ms; `SignatureBook.of` makes one segment of
all, which is fastest to search, before there is mail. Small segments pile up, so `merged` joins
them when changes have ceased: that holds the lock for some 9 µs a phrase, `LARGE` of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Self

from oborona.message.model import Message
from oborona.policy.signatures.fields import SearchFields
from oborona.policy.signatures.finder import SignatureMatches, in_id_order
from oborona.policy.signatures.model import Signature, SignatureKind
from oborona.policy.signatures.segment import PATTERN_WEIGHT, SignatureSegment

OPEN: Final = 1_000  # weight up to which the last segment is made again with what is new: 4 ms
# weight of a segment that is made at once: 10 ms; each more costs every message some 40 µs
CLOSED: Final = 4_000
# weight of a segment that several are joined to: 150 ms, once in a long while
LARGE: Final = 16_000
FEW: Final = 4  # small segments that are left alone


class SignatureBook:
    """Signatures, prepared for the search.

    Args:
        live: those in force by id.
        segments: that hold them, and maybe some that are gone.
    """

    __slots__ = ("_headers", "live", "segments")

    def __init__(
        self, live: Mapping[str, Signature], segments: Sequence[SignatureSegment] = ()
    ) -> None:
        self.live = live
        self.segments = tuple(segments)
        self._headers = any(segment.headers for segment in self.segments)

    @classmethod
    def of(cls, signatures: Iterable[Signature]) -> Self:
        """Return a book of signatures, in one segment; of two with one id the later holds."""
        live = {signature.id: signature for signature in signatures}
        return cls(live, [SignatureSegment(tuple(live.values()))] if live else [])

    def __len__(self) -> int:
        return len(self.live)

    @property
    def broken(self) -> dict[str, str]:
        """Signatures that can't be used, and why."""
        return {
            name: why
            for segment in self.segments
            for name, why in segment.broken.items()
            if name in self.live
        }

    def under(self, files: Mapping[str, Signature]) -> Self:
        """Return this book, which is of one policy; see `Signatures.under`."""
        return self

    def find(self, message: Message, now: float) -> SignatureMatches:
        """Return those in force that a message has; see `Finder.find`."""
        if not self.segments:
            return _NONE
        fields = SearchFields(message, headers=self._headers)
        signatures_found: dict[str, Signature] = {}
        live = self.live

        def take(some: Iterable[Signature]) -> None:
            for signature in some:
                if (
                    signature.id not in signatures_found
                    and live.get(signature.id) is signature
                    and not signature.expired(now)
                ):
                    signatures_found[signature.id] = signature

        if any(segment.has_phrases for segment in self.segments):
            text, borders = fields.words()
            for segment in self.segments:
                take(segment.in_words(text, borders))
        if any(segment.has_entities for segment in self.segments):
            entities = list(fields.entities())
            for segment in self.segments:
                take(segment.of_entities(entities))
        for segment in self.segments:
            take(segment.in_patterns(fields))
        return (
            SignatureMatches(signatures=in_id_order(signatures_found.values()))
            if signatures_found
            else _NONE
        )

    def with_changes(
        self,
        changed: Iterable[Signature],
        removed: Iterable[str] = (),
        *,
        rest: Callable[[], None] = lambda: None,
    ) -> SignatureBook:
        """Return the book with some signatures new or other than before, and some gone.

        Itself where nothing is.

        Args:
            changed: checked; one that is as before changes nothing.
            removed: ids; unknown ones are passed over.
            rest: called between segments, to let others run.
        """
        live = dict(self.live)
        left_out = [name for name in removed if live.pop(name, None) is not None]
        fresh: dict[str, Signature] = {}
        for signature in changed:
            if live.get(signature.id) != signature:
                live[signature.id] = fresh[signature.id] = signature
        if not fresh and not left_out:
            return self
        segments = list(self.segments)
        waiting = list(fresh.values())
        if waiting and segments:
            last = [
                signature
                for signature in segments[-1].signatures
                if live.get(signature.id) is signature
            ]
            if _weight(last) + _weight(waiting) <= OPEN:
                segments.pop()
                waiting = last + waiting
        for some in _pieces(waiting, CLOSED):
            segments.append(SignatureSegment(some))
            rest()
        return SignatureBook(live, segments)

    def merged(self, now: float, *, rest: Callable[[], None] = lambda: None) -> SignatureBook:
        """Return the book with its small segments joined, without what in them is gone or over.

        Itself while they are few.

        Args:
            now: Unix seconds.
            rest: called between segments, to let others run.
        """
        large = [segment for segment in self.segments if _weight(segment.signatures) > LARGE // 2]
        small = [segment for segment in self.segments if _weight(segment.signatures) <= LARGE // 2]
        if len(small) <= FEW:
            return self
        live = dict(self.live)
        signatures: list[Signature] = []
        for signature in (
            signature
            for segment in small
            for signature in segment.signatures
            if live.get(signature.id) is signature
        ):
            if signature.expired(now):
                del live[signature.id]
            else:
                signatures.append(signature)
        for some in _pieces(signatures, LARGE):
            large.append(SignatureSegment(some))
            rest()
        return SignatureBook(live, large)


_NONE: Final = SignatureMatches()


def _weight(signatures: Sequence[Signature]) -> int:
    return sum(
        PATTERN_WEIGHT if signature.kind is SignatureKind.PATTERN else 1 for signature in signatures
    )


def _pieces(signatures: Sequence[Signature], most: int) -> Iterable[list[Signature]]:
    """Yield signatures in pieces of no more than some weight."""
    piece: list[Signature] = []
    weight = 0
    for signature in signatures:
        adds = _weight([signature])
        if piece and weight + adds > most:
            yield piece
            piece, weight = [], 0
        piece.append(signature)
        weight += adds
    if piece:
        yield piece
