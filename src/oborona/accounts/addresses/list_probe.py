"""Whether a DNS list can be believed at this moment: asked for its test points."""

from __future__ import annotations

import asyncio

from oborona.dns import DnsAsker, DnsType
from oborona.reputation.dnsbl import DnsblHealth, DnsblStateChange, DnsList


async def probe_list(dns_list: DnsList, asker: DnsAsker) -> DnsblStateChange:
    """Return how a list is; one without test points is trusted until its answers tell otherwise.

    Args:
        dns_list: of the policy, switched on.
        asker: of the DNS.
    """
    health = DnsblHealth([dns_list])
    points = health.due(0.0)
    answers = await asyncio.gather(*(asker.ask(point.name, DnsType.A) for point in points))
    for point, answer in zip(points, answers, strict=True):
        health.heard(point, answer, 0.0)
    (state,) = health.states()
    return state
