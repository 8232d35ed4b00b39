"""The DNS lists that are free for a site, by what it says of its size and trade."""

from __future__ import annotations

from typing import NamedTuple

from oborona.desk.policy_files import place
from oborona.policy.free_lists import FREE_LISTS, FreeListsTable, obstacle
from oborona.policy.load import Policy
from oborona.reputation.dnsbl import DnsList


class OfferedLists(NamedTuple):
    """The DNS lists of a policy, as a site's answers divide them."""

    on: list[DnsList]
    off: list[tuple[DnsList, str]]  # with the reason

    @classmethod
    def of(cls, policy: Policy, answers: FreeListsTable) -> OfferedLists:
        """Divide the lists that no file of the site switches by itself."""
        on, off = [], []
        for dns_list in policy.dns_lists:
            if f"dns_list.{dns_list.name}.enabled" in policy.lists or dns_list.free_to is None:
                continue
            if why := obstacle(dns_list, answers):
                off.append((dns_list, why))
            else:
                on.append(dns_list)
        return cls(on, off)


def in_force(policy: Policy) -> str:
    """Return which DNS lists are on, and what says so, in one line."""
    names = [dns_list.name for dns_list in policy.dns_lists if dns_list.enabled]
    words = f"{len(names)} of {len(policy.dns_lists)} are on" if names else "none is on"
    where = policy.origins.get(f"{FREE_LISTS}.enabled")
    if where is None:
        return words
    table = policy.free_lists
    trade = "with paying customers" if table.commercial else "of its own mail"
    size = f"on for {table.messages_a_day:,} messages a day {trade}" if table.enabled else "off"
    return f"{words}; [{FREE_LISTS}] is {size} ({place(policy.folders, where)})"
