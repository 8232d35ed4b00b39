"""A hasher that remembers what it hashed, for showing a message; the daemon has the plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from oborona.message.hashing import Hasher
from oborona.message.piece_hasher import join_pair
from oborona.types import Shingle, UniquePair


class RecordingHasher(Hasher):
    """Hashes as `Hasher` does under the same key, and keeps the piece behind every shingle and
    every P of a unique pair.
    """

    __slots__ = ("sources",)

    sources: dict[Shingle, bytes]

    def __new__(cls, key: bytes) -> Self:
        """Prepare as `Hasher` does.

        Raises:
            ValueError: the key is too short to be one.

        """
        made = super().__new__(cls, key)
        made.sources = {}
        return made

    def shingle(self, kind: int, text: str) -> Shingle:
        """Return the shingle of a normalised piece."""
        return self.octets(kind, text.encode("utf-8", "surrogatepass"))

    def octets(self, kind: int, octets: bytes) -> Shingle:
        """Return the shingle of a piece that is octets already."""
        hashed = super().octets(kind, octets)
        self.sources[hashed] = octets
        return hashed

    def each(self, kind: int, pieces: Sequence[bytes]) -> list[Shingle]:
        """Return the shingles of pieces that are octets already."""
        hashed = super().each(kind, pieces)
        self.sources.update(zip(hashed, pieces, strict=True))
        return hashed

    def pairs(
        self, pair_type: int, distinct: int, each_a: Sequence[bytes], each_b: Sequence[bytes]
    ) -> list[UniquePair]:
        """Return the unique pairs of each a with each b, all of them octets already."""
        hashed = super().pairs(pair_type, distinct, each_a, each_b)
        pieces = [join_pair(a, b) for a in each_a for b in each_b]
        self.sources.update(zip((pair.both for pair in hashed), pieces, strict=True))
        return hashed
