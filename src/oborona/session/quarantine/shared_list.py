"""The list of quarantined messages in shared memory: the supervisor writes it, and its workers read
it a moment later.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

from oborona.session.quarantine import suspect_store
from oborona.session.quarantine.in_flight import IDENTITY_BYTES

_COUNT: Final = struct.Struct("<Q")


class QuarantineList:
    """The quarantined messages, in memory that a supervisor writes and its workers read."""

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, (suspect_store.MOST + 1) * IDENTITY_BYTES)

    def __contains__(self, identity: bytes) -> bool:
        (count,) = _COUNT.unpack_from(self._memory)
        if not count:  # as good as always
            return False
        at, end = IDENTITY_BYTES, (min(count, suspect_store.MOST) + 1) * IDENTITY_BYTES
        return any(
            self._memory[place : place + IDENTITY_BYTES] == identity
            for place in range(at, end, IDENTITY_BYTES)
        )

    def write(self, identities: list[bytes]) -> None:
        """Put these there, and no others; the first `kept.MOST` of them."""
        some = identities[: suspect_store.MOST]
        _COUNT.pack_into(self._memory, 0, 0)
        for place, identity in enumerate(some, 1):
            self._memory[place * IDENTITY_BYTES : (place + 1) * IDENTITY_BYTES] = identity
        _COUNT.pack_into(self._memory, 0, len(some))
