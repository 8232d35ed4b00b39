"""DNS lists, asked at this moment about one address: their test points first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from oborona.accounts.addresses.list_probe import probe_list
from oborona.dns import DnsAsker, DnsType
from oborona.reputation.dnsbl import (
    DnsblFailure,
    DnsblInputs,
    DnsblListing,
    DnsblState,
    DnsList,
    questions,
    read,
)
from oborona.reputation.networks import NOWHERE


class AddressState(StrEnum):
    """What a list says of an address."""

    LISTED = "listed"
    CLEAN = "clean"
    UNKNOWN = "unknown"


class ListWord(msgspec.Struct, frozen=True, kw_only=True):
    """What one list says of an address now."""

    list: str
    state: AddressState
    say: str = ""  # in its words; why it is unknown


async def ask_lists(asker: DnsAsker, lists: Iterable[DnsList], address: str) -> list[ListWord]:
    """Return what lists of addresses say of one; lists that have none of its family are left out.

    Args:
        asker: of the DNS.
        lists: of the policy; those that are off are not asked.
        address: canonical text, of the Internet.
    """
    of_addresses = [one for one in lists if one.enabled and one.of_addresses]
    words = await asyncio.gather(*(_one(one, address, asker) for one in of_addresses))
    return [word for word in words if word is not None]


async def _one(dns_list: DnsList, address: str, asker: DnsAsker) -> ListWord | None:
    to_ask = questions([dns_list], DnsblInputs(client=address), NOWHERE, lambda _: True)
    if not to_ask:
        return None
    state, answer = await asyncio.gather(
        probe_list(dns_list, asker), asker.ask(to_ask[0].name, DnsType.A)
    )
    if state.state is not DnsblState.HEALTHY:
        return ListWord(list=dns_list.name, state=AddressState.UNKNOWN, say=state.why)
    match read(to_ask[0], answer):
        case DnsblFailure(why=why):
            return ListWord(list=dns_list.name, state=AddressState.UNKNOWN, say=why)
        case DnsblListing(score=score, say=say) if score > 0:
            return ListWord(list=dns_list.name, state=AddressState.LISTED, say=say)
    return ListWord(list=dns_list.name, state=AddressState.CLEAN)
