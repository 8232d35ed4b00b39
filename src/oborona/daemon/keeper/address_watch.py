"""The keeper asks DNS lists about all addresses of the site, evenly over some hours, and tells
people what is new.

    round of a list → questions that are due → answers → what has changed
    suspected, or no answer → asked once more    → alert, incident of the account, log

A list that went wrong a moment ago lists the whole world.  So what it says is believed when it says
so twice, and was right about its test points in between.  A list that is sick is not asked, and
what it has said stays.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.accounts.addresses.list_round import LOOK_S, ListRound, due, gone_on, next_due
from oborona.accounts.addresses.listing import (
    AGAIN_S,
    ListingChange,
    ListingState,
    changed,
)
from oborona.accounts.addresses.own_addresses import OwnAddresses
from oborona.accounts.addresses.store import AddressStore
from oborona.daemon.keeper.listing_report import ListingReport
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.dns import DnsAsker, DnsType
from oborona.errors import StoreError
from oborona.metrics import Gauge
from oborona.reputation.dnsbl import (
    DnsblHealth,
    DnsblInputs,
    DnsblQuestion,
    DnsList,
    questions,
    read,
)
from oborona.reputation.networks import NOWHERE, Network
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

REFRESH_S: Final = 60.0  # between looks at policy and accounts, and notes of how far rounds are
AT_ONCE: Final = 50  # doubtful addresses of a list
HOUR_S: Final = 3600.0

LISTED: Final = Gauge("oborona_own_listed", "Own addresses that a DNS list has.", ("list",))
WATCHED: Final = Gauge(
    "oborona_own_addresses", "Own addresses that DNS lists are asked about, round after round.", ()
)

log = logging.getLogger("oborona.accounts")


class AddressWatch:
    """The watch of one keeper.

    Args:
        state: state folder.
        networks: of the site; those of its accounts come with them.
        every_hours: that a round takes.
        policy: whose DNS lists are asked.
        asker: of the DNS, without a budget.
        report: tells what is new.
        clock: Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        networks: Iterable[Network],
        *,
        every_hours: float,
        policy: PolicyInForce,
        asker: DnsAsker,
        report: ListingReport,
        clock: Callable[[], float],
    ) -> None:
        self._accounts_file = state / state_files.ACCOUNTS
        self._networks = tuple(networks)
        self._every_s = every_hours * HOUR_S
        self._policy = policy
        self._asker = asker
        self._report = report
        self._clock = clock
        self._health = DnsblHealth()
        self._store = AddressStore(state / state_files.ADDRESSES)
        self._rounds = self._store.rounds()
        self._accounts = AccountNetworks(())
        self._own = OwnAddresses(())
        self._lists: tuple[DnsList, ...] = ()
        self._refreshed = -math.inf
        self._trouble = TroubleNotice(
            "own addresses are not looked after", "own addresses are looked after again"
        )
        self._read()
        WATCHED.set_function(lambda: {(): self._own.total})
        LISTED.set_function(self._by_list)

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            pause_s = await self.step()
            await asyncio.sleep(pause_s)

    async def step(self) -> float:
        """Ask what is due now; return how long nothing is, seconds. What is wrong is said once."""
        with self._trouble.noted():
            await self._step()
        if self._trouble.now:
            return REFRESH_S
        next_ones = [
            *(next_due(one, self._own.total, self._every_s) for one in self._rounds.values()),
            *(one.asked + AGAIN_S for one in self._doubtful),
        ]
        return max(LOOK_S, min([REFRESH_S, *(at - self._clock() for at in next_ones)]))

    def close(self) -> None:
        """Note how far it came, and let the store go."""
        try:
            self._store.note(rounds=self._rounds.values())
        except StoreError as error:
            event(log, logging.WARNING, "how far own addresses were asked is lost", error=error)
        self._store.close()

    async def _step(self) -> None:
        now = self._clock()
        if not 0 <= now - self._refreshed < REFRESH_S:
            await asyncio.to_thread(self._refresh, now)
        points = self._health.due(now)
        answers = await asyncio.gather(*(self._asker.ask(one.name, DnsType.A) for one in points))
        for point, answer in zip(points, answers, strict=True):
            self._health.heard(point, answer, now)
        for dns_list in self._lists:
            if self._health.asks(dns_list):
                await self._ask(dns_list, now)

    def _refresh(self, now: float) -> None:
        """Take the lists and networks of now, and note how far rounds are."""
        lists = tuple(
            one for one in self._policy.latest().dns_lists if one.enabled and one.of_addresses
        )
        if lists != self._lists:
            self._lists = lists
            self._health.follow(lists)
            self._store.keep([one.name for one in lists])
            self._rounds = {
                one.name: self._rounds.get(one.name) or ListRound(list=one.name, begun=now)
                for one in lists
            }
        self._accounts = AccountNetworks.of(self._accounts_file)
        self._own = OwnAddresses([*self._networks, *self._accounts.networks])
        ours_no_more = [key for key in self._kept if not self._own.has(key[0])]
        self._store.note(rounds=self._rounds.values(), drop=ours_no_more)
        self._read()
        self._refreshed = now

    def _read(self) -> None:
        """Read what is kept: some hundred rows at most, on a site that is well."""
        rows = self._store.listings()
        self._kept = {(one.address, one.list): one for one in rows}
        self._doubtful = [one for one in rows if one.state is not ListingState.LISTED]

    async def _ask(self, dns_list: DnsList, now: float) -> None:
        """Ask one list about the addresses that are due."""
        before = self._rounds[dns_list.name]
        wanted = due(before, self._own.total, self._every_s, now)
        addresses = self._own.after(before.last, wanted) if wanted else []
        again = [
            one.address
            for one in self._doubtful
            if one.list == dns_list.name and one.asked + AGAIN_S <= now
        ][:AT_ONCE]
        if not wanted and not again:
            return
        to_ask = [
            question
            for address in dict.fromkeys([*again, *addresses])
            for question in questions(
                [dns_list], DnsblInputs(client=address), NOWHERE, lambda _: True
            )
        ]
        answers = await asyncio.gather(*(self._asker.ask(one.name, DnsType.A) for one in to_ask))
        changes = list[ListingChange]()
        for question, answer in zip(to_ask, answers, strict=True):
            self._health.heard(question, answer, now)
            known = self._kept.get((question.subject, dns_list.name))
            said = read(question, answer)
            changes.append(changed(known, question.subject, dns_list.name, said, now))
        if wanted:
            self._rounds[dns_list.name] = gone_on(before, addresses, wanted, self._every_s, now)
        await self._take(dns_list.name, to_ask, changes, now)

    async def _take(
        self,
        name: str,
        asked: Sequence[DnsblQuestion],
        changes: Sequence[ListingChange],
        now: float,
    ) -> None:
        """Write down what was heard, and tell what is new."""
        keys = [(question.subject, name) for question in asked]
        put = [one.now for one in changes if one.now is not None]
        drop = [
            key
            for key, one in zip(keys, changes, strict=True)
            if one.now is None and key in self._kept
        ]
        if not put and not drop:
            return
        self._store.note(rounds=[self._rounds[name]], put=put, drop=drop)
        over = [self._kept[key] for key, one in zip(keys, changes, strict=True) if one.delisted]
        self._read()
        new = [one.now for one in changes if one.listed and one.now is not None]
        if new:
            await self._report.listed(new, self._accounts, now)
        if over:
            left = [
                one.address
                for one in self._kept.values()
                if one.list == name and one.state is ListingState.LISTED
            ]
            await asyncio.to_thread(self._report.delisted, over, left, self._accounts, now)

    def _by_list(self) -> dict[tuple[str], int]:
        counts = {(one.name,): 0 for one in self._lists}
        for one in self._kept.values():
            if one.state is ListingState.LISTED and (one.list,) in counts:
                counts[one.list,] += 1
        return counts
