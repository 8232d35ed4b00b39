"""Is an address clean: what lists say of it, who has and had it, its incidents and its mail."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.accounts.addresses.holders import AddressHolder, holders, incidents_at
from oborona.accounts.addresses.list_words import AddressState, ListWord
from oborona.accounts.addresses.listing import ListingState
from oborona.accounts.addresses.store import AddressStore
from oborona.accounts.flows.store import DAY_S, FlowStore
from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.incident_view import IncidentView, customer_view, staff_view
from oborona.accounts.incidents.store import IncidentStore
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.ports import CounterReader
from oborona.types import CounterPrefix, Metric, Window

INCIDENTS: Final = 10
FORTNIGHT_S: Final = 14 * DAY_S


class StoredAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What files know of an address."""

    listed_since: dict[str, float]  # by list, Unix seconds, as the watch knows
    holders: list[AddressHolder]
    incidents: list[Incident]
    streams: int | None  # of SMTP within a day; None: no flows are counted

    def is_of(self, customer: str) -> bool:
        """Tell whether an account of a customer has the address now."""
        return any(one.customer == customer and not one.ended for one in self.holders)


class AddressView(msgspec.Struct, frozen=True, kw_only=True):
    """An address as programs are told of it."""

    address: str
    clean: bool | None  # may it be given away? null: that is not known
    lists: list[ListWord]  # what they say now
    listed_since: Mapping[str, float]  # by list, Unix seconds, as the watch knows
    holders: list[AddressHolder]
    incidents: list[IncidentView]
    counted: Mapping[str, int]  # of its messages in two weeks, by metric; empty: not known
    streams: int | None  # of SMTP within a day; null: not known


class AddressReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of an address."""

    address: str
    lists: list[ListWord]
    stored: StoredAddress
    counted: dict[str, int]

    @property
    def clean(self) -> bool | None:
        """Whether no list has it and no incident is open.

        None: no list was asked, or one of them gave no answer.
        """
        if any(word.state is AddressState.LISTED for word in self.lists) or any(
            incident.verdict is None for incident in self.stored.incidents
        ):
            return False
        known = self.lists and all(w.state is not AddressState.UNKNOWN for w in self.lists)
        return True if known else None

    def of_customer(self, customer: str, now: float) -> AddressReport:
        """Return what a customer may know whose account has the address at Unix time `now`.

        What was counted is left out where it may be of who had the address before.
        """
        own = [one for one in self.stored.holders if one.customer == customer]
        names = {one.account for one in own}
        had_s = now - min((one.begun for one in own if not one.ended), default=now)
        return AddressReport(
            address=self.address,
            lists=self.lists,
            stored=StoredAddress(
                listed_since=self.stored.listed_since,
                holders=own,
                incidents=[one for one in self.stored.incidents if one.account in names],
                streams=self.stored.streams if had_s >= DAY_S else None,
            ),
            counted=self.counted if had_s >= FORTNIGHT_S else {},
        )

    def view(self, *, staff: bool = True) -> AddressView:
        """Return it as programs are told of it: incidents whole to staff, less to a customer."""
        shown = staff_view if staff else customer_view
        return AddressView(
            address=self.address,
            clean=self.clean,
            lists=self.lists,
            listed_since=self.stored.listed_since,
            holders=self.stored.holders,
            incidents=[shown(one) for one in self.stored.incidents],
            counted=self.counted,
            streams=self.stored.streams,
        )


def stored_address(state: Path, address: str) -> StoredAddress:
    """Return what the files of a state folder know of an address; those that are not there know
    nothing.

    Args:
        state: the folder.
        address: canonical text.

    Raises:
        StoreError: one of them can't be read.
    """
    listed_since: dict[str, float] = {}
    have: Sequence[AddressHolder] = ()
    incidents: Sequence[Incident] = ()
    streams = None
    if (state / state_files.ADDRESSES).exists():
        with AddressStore(state / state_files.ADDRESSES, make=False) as store:
            listed_since = {
                one.list: one.since
                for one in store.listings(address)
                if one.state is ListingState.LISTED
            }
    if (state / state_files.ACCOUNTS).exists():
        with IncidentStore(state / state_files.ACCOUNTS, make=False) as accounts:
            have = holders(accounts, address)
            incidents = incidents_at(accounts, address, INCIDENTS)
    if (state / state_files.FLOWS).exists():
        with FlowStore(state / state_files.FLOWS, make=False) as flows:
            streams = flows.streams_of(address, int(time.time() - DAY_S))
    return StoredAddress(
        listed_since=listed_since, holders=list(have), incidents=list(incidents), streams=streams
    )


async def count_address(
    counters: CounterReader, hasher: Hasher, address: str, now: float
) -> dict[str, int]:
    """Return what was counted of an address's messages, in and out, in two weeks, by metric.

    Args:
        counters: of the site.
        hasher: with its secret.
        address: canonical text.
        now: Unix seconds.

    Raises:
        StoreError: they can't be read.
    """
    shingle = hasher.shingle(ShingleType.CLIENT_IP, address)
    total = dict[str, int]()
    for prefix in (CounterPrefix.IN, CounterPrefix.OUT):
        ((*windows,),) = await counters.read([shingle], now, prefix)
        for metric in Metric:
            name = metric.name.lower()
            total[name] = total.get(name, 0) + windows[Window.FORTNIGHT][metric]
    return total
