"""Who has or had an own address, and what it was complained of for, by the file of accounts."""

from __future__ import annotations

from ipaddress import ip_network

import msgspec

from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.store import IncidentStore
from oborona.reputation.networks import plain


class AddressHolder(msgspec.Struct, frozen=True, kw_only=True):
    """An account that has or had a network around an address."""

    account: str
    customer: str  # id; "" = not known
    network: str
    begun: float  # Unix seconds, when it was first told
    ended: float  # Unix seconds, when it was told no more; 0 = it has it now


def holders(store: IncidentStore, address: str) -> list[AddressHolder]:
    """Return the accounts of an address, the latest first.

    Args:
        store: the file of accounts.
        address: canonical text.
    """
    at = plain(address)
    rows = store.rows(
        "SELECT t.account, ifnull(a.customer, ''), t.network, t.begun, t.ended FROM network_time t"
        " LEFT JOIN account a ON a.id = t.account ORDER BY t.ended > 0, t.begun DESC",
        (),
    )
    return [
        AddressHolder(**dict(zip(AddressHolder.__struct_fields__, row, strict=True)))
        for row in rows
        if at is not None and at in ip_network(row[2])
    ]


def incidents_at(store: IncidentStore, address: str, most: int) -> list[Incident]:
    """Return incidents at an address, or of accounts that have it now: those that are open first,
    then the latest.

    Args:
        store: the file of accounts.
        address: canonical text.
        most: at most so many.
    """
    own = {one.account for one in holders(store, address) if not one.ended}
    found = [
        one
        for one in store.incidents()
        if one.address == address or (one.account in own and not one.address)
    ]
    return sorted(found, key=lambda one: one.verdict is not None)[:most]
