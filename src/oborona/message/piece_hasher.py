"""Hashes of pieces in Python: the twin of the native core's, which tests hold it to, and what
hashes where that can't be built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol, Self

from oborona.types import Shingle, UniquePair

# Past NamedTuple's own constructor, which costs as much as the hash.
_new: Final = tuple.__new__
_number: Final = int.from_bytes
_ALL: Final = (1 << 64) - 1
TYPES: Final = 80  # numbers from 0 on


class _KeyedState(Protocol):
    def update(self, octets: bytes, /) -> None: ...

    def digest(self) -> bytes: ...

    def copy(self) -> Self: ...


def join_pair(a: bytes, b: bytes) -> bytes:
    """Return what a unique pair of a and b is hashed over: a's length keeps ("ab", "c") and ("a",
    "bc") apart.
    """
    return b"%b%b%b" % (len(a).to_bytes(4, "big"), a, b)


class PieceHasher:
    """Hashes pieces under one key.

    Args:
        key: 1 to 64 octets.
        shingle: type of what is returned, made of a type's number and a hash.
        pair: the same of unique pairs, made of two shingles.
        mask: of a pair's hash: what it takes from its U's.

    Raises:
        ValueError: the key has no octets, or too many.
    """

    __slots__ = ("_mask", "_pair", "_shingle", "_types")

    _mask: int
    _pair: type[UniquePair]
    _shingle: type[Shingle]
    _types: list[tuple[int, Callable[[], _KeyedState]]]

    def __new__(cls, key: bytes, shingle: type[Shingle], pair: type[UniquePair], mask: int) -> Self:
        """Prepare one hash state for each type."""
        if not 1 <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
            raise ValueError(f"a key has 1 to {hashlib.blake2b.MAX_KEY_SIZE} octets")
        self = super().__new__(cls)
        self._shingle, self._pair, self._mask = shingle, pair, mask
        # Indexed by number: an enum member hashes its name, in Python, at each look-up of a dict.
        self._types = [
            (number, hashlib.blake2b(bytes((number,)), digest_size=8, key=key).copy)
            for number in range(TYPES)
        ]
        return self

    def shingle(self, kind: int, text: str) -> Shingle:
        """Return the shingle of a normalised piece."""
        return self.octets(kind, text.encode("utf-8", "surrogatepass"))

    def octets(self, kind: int, octets: bytes) -> Shingle:
        """Return the shingle of a piece that is octets already."""
        number, prepared = self._types[kind]
        state = prepared()
        state.update(octets)
        return _new(self._shingle, (number, _number(state.digest(), "big")))

    def each(self, kind: int, pieces: Sequence[bytes]) -> list[Shingle]:
        """Return the shingles of pieces that are octets already, each as `octets` does, in less
        time.
        """
        number, prepared = self._types[kind]
        hashes = []
        for octets in pieces:
            state = prepared()
            state.update(octets)
            hashes.append(_new(self._shingle, (number, _number(state.digest(), "big"))))
        return hashes

    def pairs(
        self, pair_type: int, distinct: int, each_a: Sequence[bytes], each_b: Sequence[bytes]
    ) -> list[UniquePair]:
        """Return the unique pairs of each a with each b, all of them octets already.

        P is a shingle of the type `pair_type`, over a's length, a and b; U one of the type
        `distinct`, over a. The hash of P takes its first PAIR_BITS from U's, so that a cluster
        finds both in one place.
        """
        number, prepared = self._types[pair_type]
        hashes = []
        for a, unique in zip(each_a, self.each(distinct, each_a), strict=True):
            place = unique[1] & self._mask
            for b in each_b:
                state = prepared()
                state.update(join_pair(a, b))
                own = _number(state.digest(), "big") & ~self._mask & _ALL
                hashes.append(
                    _new(self._pair, (_new(self._shingle, (number, place | own)), unique))
                )
        return hashes

    def pair_hashes(
        self, pair_type: int, distinct: int, a: bytes, each_b: Sequence[bytes]
    ) -> tuple[list[int], int]:
        """Return the hashes of the unique pairs of one a with many b, those of P and that of U, as
        `pairs` has them: in half the time, for what a has in it is hashed once.
        """
        unique = self.octets(distinct, a)[1]
        place = unique & self._mask
        begun = self._types[pair_type][1]()
        begun.update(join_pair(a, b""))
        prepared = begun.copy
        hashes = []
        for b in each_b:
            state = prepared()
            state.update(b)
            hashes.append(place | _number(state.digest(), "big") & ~self._mask & _ALL)
        return hashes, unique
