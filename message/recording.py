"""A hasher that remembers what it hashed, for showing a message; the daemon has the plain one."""

from __future__ import annotations

from oborona.message.hashing import Hasher
from oborona.types import Pair, Shingle


class Recorder(Hasher):
    """Hashes as `Hasher` does under the same key, and keeps the piece behind every shingle and every P of a unique pair."""

    __slots__ = ("sources",)

    def __init__(self, key: bytes) -> None:
        """Prepare as `Hasher` does.

        Raises:
            ValueError: the key is too short to be one.

        """
        super().__init__(key)
        self.sources: dict[Shingle, bytes] = {}

    def shingle(self, kind: int, text: str) -> Shingle:
        """Return the shingle of a normalised piece."""
        return self.octets(kind, text.encode("utf-8", "surrogatepass"))

    def octets(self, kind: int, octets: bytes) -> Shingle:
        """Return the shingle of a piece that is octets already."""
        found = super().octets(kind, octets)
        self.sources[found] = octets
        return found

    def pair(self, kind: int, octets: bytes, distinct: Shingle) -> Pair:
        """Return the unique pair of P, a piece that is octets already, and its U."""
        found = super().pair(kind, octets, distinct)
        self.sources[found.both] = octets
        return found
