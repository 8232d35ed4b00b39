"""The act by which an address is given to somebody: whether it may be is looked up first, and that
it was asked for stands in the audit log.
"""

from __future__ import annotations

from oborona.accounts.addresses.address_report import AddressView
from oborona.desk.asks.addresses import IpAddress, address_view
from oborona.desk.call import ActOrder, act
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class AddressOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An IP address that is to be given to somebody."""

    address: IpAddress


@act("addresses.assign", Right.ACCOUNT, about=("address",))
def assign_address(site: Site, _caller: Caller, asked: AddressOrder) -> AddressView:
    """Return what is known of an address that somebody is to get: where `clean` is false it is
    listed or an incident is open, where it is null that is not known.

    Raises:
        UnusableValueError: it is no address.
        PolicyError: the policy, which names the lists, can't be used.
        StoreError: a file can't be read.
    """
    return address_view(site, asked.address)
