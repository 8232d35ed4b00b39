"""What `oborona doctor` says of the clients: are they who they seem, or is there something between
them and the mail server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Final

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.local_clients import is_local

LOOKED_AT: Final = 100  # messages
ENOUGH: Final = 10  # of one private address, before it is told
STRANGERS: Final = 5  # domains of their senders: an application of ours writes in the name of few


def clients(context: Site) -> Iterator[CheckReport]:
    """Tell where strangers come from a private address, which counts as one of our own.

    Behind a router that rewrites addresses, or a container's port that does, the mail server sees
    one private client for all the world: no DNS list, SPF or reputation is asked about it.

    Args:
        context: the settings.
    """
    path = context.state / state_files.JOURNAL
    if not path.exists():
        return
    try:
        entries = asyncio.run(_recent(context))
    except StoreError:
        return  # another report says so
    hidden = _between(entries)
    if hidden:
        yield CheckReport(
            "clients",
            CheckState.WARN,
            (
                f"{hidden} hands in mail of many domains without a login; as a private "
                f"address it counts as one of our own, and is asked about nowhere"
            ),
            (
                "is it a router or a container's proxy that rewrites addresses? Let it keep "
                "them, or have it tell them (PROXY protocol, XCLIENT)"
            ),
        )


async def _recent(context: Site) -> Sequence[JournalEntry]:
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        return await journal.recent(LOOKED_AT)


def _between(entries: Sequence[JournalEntry]) -> str:
    """Return the private address that strangers seem to come from; empty where there is none."""
    domains: dict[str, list[str]] = {}
    for entry in entries:
        if entry.client_ip and not entry.login and is_local(entry.client_ip):
            domains.setdefault(entry.client_ip, []).append(entry.sender.rpartition("@")[2].lower())
    for address, theirs in domains.items():
        if ip_address(address).is_loopback:
            continue  # programs of this machine, a mailing list among them
        if len(theirs) >= ENOUGH and len({domain for domain in theirs if domain}) >= STRANGERS:
            return address
    return ""
