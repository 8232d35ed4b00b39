"""Test points of DNS lists: what must be listed, and what no list may have (RFC 5782 section 5)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from oborona.reputation.dnsbl.model import (
    DnsblFailure,
    DnsblFault,
    DnsblQuestion,
    DnsList,
    EmailHash,
)
from oborona.reputation.dnsbl.names import hash_label, of_address, of_mailbox, query_name
from oborona.reputation.networks import plain


def probes(dns_list: DnsList) -> tuple[DnsblQuestion, ...]:
    """Return a list's test points.

    Source: RFC 5782 section 5: 127.0.0.2 or ::FFFF:7F00:2 and TEST must be listed, 127.0.0.1 or
        ::FFFF:7F00:1 and INVALID must not.
    """
    points: dict[str, tuple[bool, str]] = {}
    if dns_list.of_addresses:
        listed, never = (
            (IPv4Address("127.0.0.2"), IPv4Address("127.0.0.1"))
            if dns_list.ipv4
            else (IPv6Address("::ffff:127.0.0.2"), IPv6Address("::ffff:127.0.0.1"))
        )
        if dns_list.probe is None:
            points[of_address(listed)] = True, str(listed)
        points[of_address(never)] = False, str(never)
    if dns_list.of_domains:
        if dns_list.probe is None:
            points["test"] = True, "test"
        points["invalid"] = False, "invalid"
    if dns_list.probe:
        points[point(dns_list, dns_list.probe)] = True, dns_list.probe
    of = dns_list.of[0]
    return tuple(
        DnsblQuestion(
            list=dns_list,
            name=query_name(label, dns_list.zone),
            subject=subject,
            of=of,
            probe=listed,
        )
        for label, (listed, subject) in points.items()
    )


def point(dns_list: DnsList, probe: str) -> str:
    """Return what stands before the zone for a test point of the list's own.

    Args:
        dns_list: the list.
        probe: an address, a name, or a mail address for a list of hashes.
    """
    if dns_list.hash is not EmailHash.NONE:
        return hash_label(of_mailbox(probe), dns_list.hash)
    address = plain(probe) if dns_list.of_addresses or dns_list.ips else None
    return of_address(address) if address else probe.lower()


def probe_error(question: DnsblQuestion) -> DnsblFailure:
    """Return what is wrong with a list whose answer to a test point was not the right one."""
    dns_list = question.list
    if question.probe:
        why = (
            f"does not list its test point {question.subject}: empty, dead, or it does not "
            f"answer us"
        )
        return DnsblFailure(name=dns_list.name, fault=DnsblFault.NOT_LISTED, why=why)
    why = f"lists {question.subject}, which no list may: it lists the whole world"
    return DnsblFailure(name=dns_list.name, fault=DnsblFault.LISTED, why=why)
