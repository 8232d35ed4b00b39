"""Addresses of recent clients, read from the journal: counters keep hashes, from which no address
can be recovered.

Clients that are refused before the content are not in the journal.  So an address is kept for a day
from its last message on, which is how long a bad past weighs in full.
"""

from __future__ import annotations

from typing import Final

from oborona import ident
from oborona.journal.queries import JournalReader

KEPT_S: Final = 86_400.0
MOST: Final = 20_000  # addresses: each is looked up in the counters at every round
AT_START: Final = 100_000  # messages that are looked through, the latest
AT_ONCE: Final = 2_000
LATE_S: Final = 60.0  # an entry may be written so long after its id was given


class RecentClients:
    """The clients of the last day: the `MOST` that were seen last."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}  # address → Unix seconds of its last message
        self._looked = 0.0  # Unix seconds

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses, in no order."""
        return tuple(self._seen)

    async def look(self, journal: JournalReader, now: float) -> None:
        """Take what has come since the last look, and forget what is too old.

        Raises:
            StoreError: the journal can't be read.
        """
        since = max(now - KEPT_S, self._looked - LATE_S)
        after, before, left = (
            ident.first_id_at(since) - 1,
            ident.first_id_at(now + LATE_S),
            AT_START,
        )
        while left > 0 and (clients := await journal.clients(after, before, AT_ONCE)):
            for number, address in clients:
                at = ident.time_of_id(number)
                if address and at > self._seen.get(address, 0.0):
                    self._seen[address] = at
            before = clients[-1][0]
            left -= len(clients)
        self._looked = now
        latest = sorted(
            (client for client in self._seen.items() if client[1] > now - KEPT_S),
            key=lambda client: client[1],
            reverse=True,
        )
        self._seen = dict(latest[:MOST])
