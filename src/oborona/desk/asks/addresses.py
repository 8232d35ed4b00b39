"""Asks about addresses: which of ours are listed, and what is known of one, of ours or not."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

import msgspec

from oborona import secret, state_files
from oborona.accounts.addresses.address_report import (
    AddressReport,
    AddressView,
    count_address,
    stored_address,
)
from oborona.accounts.addresses.list_words import ListWord, ask_lists
from oborona.accounts.addresses.listing import ListingState, OwnListing
from oborona.accounts.addresses.store import AddressStore
from oborona.desk.call import ask
from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store, require_state
from oborona.errors import StoreError
from oborona.message.hashing import Hasher
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.dnsbl import public
from oborona.reputation.networks import plain
from oborona.resolver import open_resolver
from oborona.stores.counters import open_readonly

IpAddress = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class ListedAddressesQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which of our own addresses are listed."""


class ListedAddresses(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses of ours on DNS lists, as the last rounds found."""

    listings: tuple[OwnListing, ...]


@ask("addresses.list", Right.ACCOUNT_SEE)
def list_listed_addresses(
    site: Site, _caller: Caller, asked: ListedAddressesQuestion
) -> ListedAddresses:
    """Return which of our own addresses are listed.

    Raises:
        StoreError: there is no file of them, or it can't be read.
    """
    with open_store(site, AddressStore, state_files.ADDRESSES) as store:
        return ListedAddresses(listings=tuple(store.listings(state=ListingState.LISTED)))


class AddressQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An IP address, of ours or not."""

    address: IpAddress


@ask("addresses.show", Right.ACCOUNT_SEE)
def show_address(site: Site, _caller: Caller, asked: AddressQuestion) -> AddressView:
    """Return what DNS lists say of an address now, who has and had it, its incidents, what it sent
    and was complained of for.

    Raises:
        UnusableValueError: it is no address.
        PolicyError: the policy, which names the lists, can't be used.
        StoreError: a file can't be read.
    """
    return address_view(site, asked.address)


def address_view(site: Site, text: str) -> AddressView:
    """Return all that is known of an address; errors as of `show_address`."""
    at = plain(text)
    if at is None:
        raise UnusableValueError(f"{text[:100]!r} is no address")
    require_state(site)
    with site.as_owner():
        stored = stored_address(site.state, str(at))
    return AddressReport(
        address=str(at),
        lists=asyncio.run(_ask(site, str(at))) if public(at) else [],
        stored=stored,
        counted=_counted(site, str(at)),
    ).view()


async def _ask(site: Site, address: str) -> list[ListWord]:
    async with open_resolver(site.loaded.settings.dns) as resolver:
        return await ask_lists(resolver, site.policy().dns_lists, address)


def _counted(site: Site, address: str) -> dict[str, int]:
    """Return what was counted of its messages; nothing where none can be read."""
    try:
        hasher = Hasher(secret.load(site.state).shingles)
        with open_readonly(site.loaded.settings, site.state) as store:
            return asyncio.run(count_address(store, hasher, address, time.time()))
    except StoreError as error:
        site.notice(f"{error}; what it sent is not known")
        return {}
