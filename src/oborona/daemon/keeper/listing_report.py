"""Whom the keeper tells that DNS lists have own addresses, or have them no more: people, the
account whose address it is, the log.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.accounts.addresses.listing import OwnListing
from oborona.accounts.excess import LISTED, Excess, ExcessSink
from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.errors import StoreError
from oborona.telemetry.alert import Alert, AlertKind
from oborona.telemetry.log import event

NAMED: Final = 20  # addresses in one alert
WATCH: Final = "address watch"  # who closes an incident that is over

log = logging.getLogger("oborona.accounts")


class ListingReport:
    """Tells listings.

    Args:
        accounts: the file of accounts; it need not be there.
        alarm: tells people.
        excesses: on the way to the inspector.
    """

    def __init__(self, accounts: Path, alarm: AlertDispatcher, excesses: ExcessSink) -> None:
        self._accounts = accounts
        self._alarm = alarm
        self._excesses = excesses

    async def listed(self, new: Sequence[OwnListing], holders: AccountNetworks, now: float) -> None:
        """Tell people; an account that has such an address has an incident, and nothing is done to
        it: whose fault it is, a person finds out.
        """
        for one in new:
            account = holders.holder(one.address)
            event(
                log,
                logging.WARNING,
                "own address is listed",
                address=one.address,
                list=one.list,
                says=one.say,
                account=account,
            )
            if account:
                excess = Excess(
                    account=account,
                    limit=one.list,
                    metric=LISTED,
                    window="fortnight",
                    value=1.0,
                    most=0.0,
                    at=now,
                    address=one.address,
                    shadow=True,
                    evidence={"list": one.list, "says": one.say},
                )
                self._excesses.take(excess)
        await self._alarm.raise_(alert_of(new, holders, now))

    def delisted(
        self,
        over: Sequence[OwnListing],
        left: Collection[str],
        holders: AccountNetworks,
        now: float,
    ) -> None:
        """Close the incidents of accounts that have no address on the list any more.

        Args:
            over: of one list.
            left: addresses that the list still has.
            holders: who has which address.
            now: Unix seconds.
        """
        for one in over:
            event(
                log, logging.INFO, "own address is off a list", address=one.address, list=one.list
            )
        still = {holders.holder(address) for address in left}
        free = {holders.holder(one.address) for one in over} - still - {""}
        if not free or not self._accounts.exists():
            return
        try:
            with IncidentStore(self._accounts, make=False) as store:
                for account in free:
                    for incident in store.incidents(account=account, closed=False):
                        if (incident.metric, incident.limit) == (LISTED, over[0].list):
                            store.close_incident(
                                incident.id,
                                IncidentVerdict.OVER,
                                by=WATCH,
                                note="the list has the address no more",
                                now=now,
                            )
        except StoreError as error:
            event(log, logging.ERROR, "an incident that is over stays open", error=error)


def alert_of(new: Sequence[OwnListing], holders: AccountNetworks, now: float) -> Alert:
    """Return what people are told of new listings, with the command that shows more."""
    named = [(one, holders.holder(one.address)) for one in new[:NAMED]]
    lines = [
        f"{one.address}{f' of {account}' if account else ''} is on {one.list}: {one.say}"
        for one, account in named
    ]
    if len(new) > NAMED:
        lines.append(f"and {len(new) - NAMED} more")
    first = new[0]
    many = f"{len(new)} own addresses are on {first.list}"
    return Alert(
        kind=AlertKind.LISTED,
        title=f"{first.address} is on {first.list}" if len(new) == 1 else many,
        text="\n".join([*lines, "", f"oborona address {first.address}", ""]),
        time=now,
        evidence={
            "listed": [
                {"address": one.address, "list": one.list, "says": one.say, "account": account}
                for one, account in named
            ]
        },
    )
