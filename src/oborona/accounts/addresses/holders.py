"""Who has or had an own address, and what it was complained of for, by the file of accounts."""

from __future__ import annotations

from ipaddress import ip_network

import msgspec

from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.store import INCIDENT_COLUMNS, IncidentStore, incident_of
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
    if at is None:
        return []
    around = [  # networks are told in canonical text: each that may have the address is one
        str(ip_network((at, bits), strict=False)) for bits in range(at.max_prefixlen + 1)
    ]
    rows = store.rows(
        "SELECT t.account, ifnull(a.customer, ''), t.network, t.begun, t.ended FROM network_time t"
        " LEFT JOIN account a ON a.id = t.account"
        " WHERE t.network IN (SELECT value FROM json_each(?))"
        " ORDER BY t.ended > 0, t.begun DESC",
        (msgspec.json.encode(around).decode(),),
    )
    return [
        AddressHolder(**dict(zip(AddressHolder.__struct_fields__, row, strict=True)))
        for row in rows
    ]


def incidents_at(store: IncidentStore, address: str, most: int) -> list[Incident]:
    """Return incidents at an address, or of accounts that have it now: those that are open first,
    then the latest.

    Args:
        store: the file of accounts.
        address: canonical text.
        most: at most so many.
    """
    own = [one.account for one in holders(store, address) if not one.ended]
    rows = store.rows(
        f"SELECT {INCIDENT_COLUMNS} FROM incident WHERE address = ?1 OR (address = '' AND"  # noqa: S608 - names of columns
        " account IN (SELECT value FROM json_each(?2))) ORDER BY verdict <> '', id DESC LIMIT ?3",
        (address, msgspec.json.encode(own).decode(), most),
    )
    return [incident_of(row) for row in rows]
