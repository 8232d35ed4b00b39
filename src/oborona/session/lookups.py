"""The DNS clients of a process, made from its settings: one resolver, the DNS lists, and an
inquirer for each session.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from oborona.config import Settings
from oborona.dns import DnsAsker
from oborona.policy.load import Policy
from oborona.reputation.networks import networks, plain
from oborona.resolver import BudgetedAsker, FollowedServers, open_resolver
from oborona.session.dnsbl import AT_START_S, DnsblClient
from oborona.session.inquiry import Inquirer, InquiryServices


class DnsLookups:
    """What asks, in one event loop.

    Args:
        settings: of the site.
        name: ours, authserv-id.
    """

    def __init__(self, settings: Settings, name: str) -> None:
        self._dns = settings.dns
        self._own = networks(settings.site.networks)
        self._ports = frozenset(settings.site.submission_ports.split())
        self.resolver = open_resolver(settings.dns)
        self.resolver.stats.tell()
        self.servers = FollowedServers(self.resolver, follows=not settings.dns.servers)
        self.lists = DnsblClient(self.resolver, self._own, time.monotonic, time.time)
        self._means = InquiryServices(
            asker=self.asker,
            lists=self.lists,
            receiver=name,
            sample=lambda: random.random() * 100,  # noqa: S311 - which messages a domain's pct takes is nobody's secret
            clock=time.time,
        )

    def asker(self) -> DnsAsker:
        """Return an asker with the budget of one connection or message."""
        return BudgetedAsker(
            self.resolver,
            questions=self._dns.message_questions,
            seconds=self._dns.message_s,
            clock=time.monotonic,
        )

    def inquirer(self) -> Inquirer:
        """Return an inquirer for one session."""
        return Inquirer(self._means)

    def is_own(self, ip: str, port: str) -> bool:
        """Tell whether a client is in a network of the site, or came by a submission port.

        Args:
            ip: its address, empty for none.
            port: that it came to, empty where the mail server does not say.
        """
        address: IPv4Address | IPv6Address | None = plain(ip) if ip else None
        return port in self._ports or (address is not None and address in self._own)

    async def begin(self, policy: Policy) -> None:
        """Probe the lists for the first time, within `AT_START_S`.

        Until a list is known to be well it counts nothing.
        """
        try:
            async with asyncio.timeout(AT_START_S):
                await self.lists.probe(policy.dns_lists)
        except TimeoutError:
            return  # they are probed again by the clock

    async def watch(self, policy: Callable[[], Policy]) -> None:
        """Probe the lists of the policy in use by the clock, and follow the system's resolvers, for
        ever.
        """
        async with asyncio.TaskGroup() as chores:
            chores.create_task(self.lists.watch(lambda: policy().dns_lists))
            chores.create_task(self.servers.watch())

    async def close(self) -> None:
        """End all questions."""
        await self.resolver.close()
