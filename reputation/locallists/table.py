"""The entries of one file or one policy table, ready to be looked up.

Names and mail addresses are kept as sorted 64-bit hashes of their normal form: eight octets each,
whatever their length.  The hash is Python's own of texts, SipHash with a key that every process
draws for itself: nobody can find a name that is taken for another, and of names that nobody chose
one in 10^13 is, against a million entries.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from oborona.reputation.networks import Address, NetworkSet


class ListEntryType(StrEnum):
    """Sorts of entries, as errors call them."""

    NETWORK = "an address or network"
    NAME = "a name"
    MAILBOX = "a mail address"


class ListTable:
    """Entries for look-ups.

    Args:
        networks: those that are networks.
        hashes: `hash` of the normal form of all others; any order, duplicates allowed; the table's
            own from now on.
        first: the line where the first entry of each sort stands; a sort that is missing has no
            entry.
    """

    def __init__(
        self,
        networks: NetworkSet,
        hashes: npt.NDArray[np.int64],
        first: Mapping[ListEntryType, int],
    ) -> None:
        self._networks = networks
        hashes.sort()
        first_of_equal = np.ones(len(hashes), bool)
        np.not_equal(hashes[1:], hashes[:-1], out=first_of_equal[1:])
        self._hashes = (hashes if first_of_equal.all() else hashes[first_of_equal]).data
        self.first = first

    def __len__(self) -> int:
        return len(self._networks) + len(self._hashes)

    @property
    def nbytes(self) -> int:
        """Memory that the entries take, in octets."""
        return self._networks.nbytes + self._hashes.nbytes

    def address(self, address: Address) -> tuple[int, str]:
        """Return length and text of the narrowest network around an address.

        -1 where there is none.
        """
        if ListEntryType.NETWORK not in self.first:
            return -1, ""
        narrowest = self._networks.find(address)
        return (-1, "") if narrowest is None else (narrowest.prefixlen, _shown(narrowest))

    def text(self, forms: Iterator[tuple[int, str]]) -> tuple[int, str]:
        """Return the first of some forms that is an entry, with its narrowness.

        -1 where none is.
        """
        if self._hashes:
            for narrow, form in forms:
                digest = hash(form)
                at = bisect_left(self._hashes, digest)
                if at < len(self._hashes) and self._hashes[at] == digest:
                    return narrow, form
        return -1, ""


def _shown(network: object) -> str:
    return str(network).removesuffix("/32" if ":" not in str(network) else "/128")
