"""The health of DNS servers: those that did not answer lately are asked last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.config import ResolverAddress

SILENT: Final = 3  # questions in a row without an answer, and a server is asked last
LAST_S: Final = 5.0  # for so long


class ServerHealth:
    """Which servers answer.

    Args:
        servers: in the order in which they are asked.
    """

    def __init__(self, servers: Sequence[ResolverAddress]) -> None:
        self._servers = tuple(servers)
        self._silent = dict.fromkeys(self._servers, 0)
        self._last_until = dict.fromkeys(self._servers, 0.0)

    def order(self, now: float) -> list[ResolverAddress]:
        """Return all servers, those that were silent of late behind the others."""
        return sorted(self._servers, key=lambda server: self._last_until[server] > now)

    def answered(self, server: ResolverAddress) -> None:
        """Note that it said something."""
        self._silent[server] = 0
        self._last_until[server] = 0.0

    def silent(self, server: ResolverAddress, now: float) -> None:
        """Note that it said nothing in the time it was given."""
        self._silent[server] += 1
        if self._silent[server] >= SILENT:
            self._last_until[server] = now + LAST_S
