"""Who a token is: what the desk's server asks of those who know."""

from __future__ import annotations

from typing import Protocol

from oborona.people.caller import Caller


class Identities(Protocol):
    """Those who know whom a token was given to; plain calls, made on any thread."""

    def caller_of(self, token: str, place: str, agent: str) -> Caller | None:
        """Return whose token it is; None = it is nobody's, or no longer.

        Args:
            token: of a session, or an API key.
            place: address of the client.
            agent: what its program calls itself.

        Raises:
            StoreError: that can't be told now.
        """
        ...
