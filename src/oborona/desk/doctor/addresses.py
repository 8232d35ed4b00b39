"""What `oborona doctor` says of the watch over own addresses: does it go round, and over what."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.accounts.addresses.listing import ListingState
from oborona.accounts.addresses.own_addresses import OwnAddresses
from oborona.accounts.addresses.store import AddressStore
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.doctor.traffic import ago
from oborona.desk.site import Site
from oborona.reputation.networks import network

HOUR_S, DAY_S = 3600.0, 86_400.0
SUBJECT: Final = "own addresses"
LATE: Final = 2.0  # times the length of a round


def addresses(context: Site) -> Iterator[CheckReport]:
    """Look at the watch; nothing where it is off."""
    settings = context.loaded.settings
    if not settings.addresses.listings:
        return
    lists = [one.name for one in context.policy().dns_lists if one.enabled and one.of_addresses]
    own = OwnAddresses(
        [
            *map(network, settings.site.networks.split()),
            *AccountNetworks.of(context.state / state_files.ACCOUNTS).networks,
        ]
    )
    if own.left_out:
        words = f"too large to be asked about, address by address: {', '.join(own.left_out[:5])}"
        yield CheckReport(SUBJECT, CheckState.WARN, words, "name the parts that send")
    if not lists or not own.total:
        missing = "no DNS list of addresses is on" if own.total else "there are none"
        hint = "docs/senders/dns-lists.md" if own.total else "site.networks, or accounts' networks"
        yield CheckReport(SUBJECT, CheckState.WARN, missing, hint)
        return
    every_s = settings.addresses.every_hours * HOUR_S
    a_day = own.total * len(lists) * DAY_S / every_s
    words = f"{own.total:,} at {len(lists)} lists: {a_day:,.0f} questions a day"
    if not (context.state / state_files.ADDRESSES).exists():
        yield CheckReport(
            SUBJECT, CheckState.WARN, f"{words}; none was asked yet", "the keeper does"
        )
        return
    now = time.time()
    with AddressStore(context.state / state_files.ADDRESSES, make=False) as store:
        rounds, rows = store.rounds(), store.listings()
    listed = sum(one.state is ListingState.LISTED for one in rows)
    late = [
        name
        for name in lists
        # a round that has begun in time is in time
        if (of := rounds.get(name)) is None or now - max(of.finished, of.begun) > LATE * every_s
    ]
    if late:
        words += f"; no whole round of {', '.join(late)} within {ago(LATE * every_s)}"
        hint = "is the list well? see the lines on DNS lists, and the keeper's log"
        yield CheckReport(SUBJECT, CheckState.WARN, words, hint)
    else:
        yield CheckReport(SUBJECT, CheckState.OK, f"{words}; {listed} listings")
