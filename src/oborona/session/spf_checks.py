"""SPF of the senders of one connection: each identity is evaluated once while the connection lasts.

Records may be large and full of terms; a client that says MAIL and RSET in turn would have them
evaluated without end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from oborona.authentication.model import AuthResult, Spf
from oborona.authentication.spf import check_helo, check_spf
from oborona.dns import DnsAsker
from oborona.types import Envelope

KEPT: Final = 8  # results: of HELO, and of the senders of the last messages


class SpfChecks:
    """SPF for one client after the other; what was not answered in time is asked again.

    Args:
        receiver: our name, for the explanations of domains.
    """

    def __init__(self, receiver: str) -> None:
        self._receiver = receiver
        self._kept: dict[tuple[str, ...], Spf] = {}

    async def mail_from(self, envelope: Envelope, asker: DnsAsker) -> Spf:
        """Return SPF of MAIL FROM."""
        ip, helo, sender = envelope.client.ip, envelope.helo, envelope.sender
        check = partial(
            check_spf, ip=ip, helo=helo, sender=sender, asker=asker, receiver=self._receiver
        )
        return await self._once(("mfrom", ip, helo, sender), check)

    async def helo(self, envelope: Envelope, asker: DnsAsker) -> Spf:
        """Return SPF of the HELO name."""
        ip, helo = envelope.client.ip, envelope.helo
        check = partial(check_helo, ip=ip, helo=helo, asker=asker, receiver=self._receiver)
        return await self._once(("helo", ip, helo), check)

    def forget(self) -> None:
        """Forget all results: the connection is over."""
        self._kept.clear()

    async def _once(self, identity: tuple[str, ...], check: Callable[[], Awaitable[Spf]]) -> Spf:
        spf = self._kept.pop(identity, None)
        if spf is None:
            spf = await check()
        if spf.result is not AuthResult.TEMPERROR:
            self._kept[identity] = spf  # the last to go: HELO comes with every message
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return spf
