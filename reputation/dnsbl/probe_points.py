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


def probes(one: DnsList) -> tuple[DnsblQuestion, ...]:
    """Return a list's test points.

    Source: RFC 5782 section 5: 127.0.0.2 or ::FFFF:7F00:2 and TEST must be listed, 127.0.0.1 or
        ::FFFF:7F00:1 and INVALID must not.
    """
    points: dict[str, tuple[bool, str]] = {}
    if one.of_addresses:
        listed, never = (
            (IPv4Address("127.0.0.2"), IPv4Address("127.0.0.1"))
            if one.ipv4
            else (IPv6Address("::ffff:127.0.0.2"), IPv6Address("::ffff:127.0.0.1"))
        )
        if one.probe is None:
            points[of_address(listed)] = True, str(listed)
        points[of_address(never)] = False, str(never)
    if one.of_domains:
        if one.probe is None:
            points["test"] = True, "test"
        points["invalid"] = False, "invalid"
    if one.probe:
        points[point(one, one.probe)] = True, one.probe
    of = one.of[0]
    return tuple(
        DnsblQuestion(
            list=one, name=query_name(label, one.zone), subject=subject, of=of, probe=listed
        )
        for label, (listed, subject) in points.items()
    )


def point(one: DnsList, probe: str) -> str:
    """Return what stands before the zone for a test point of the list's own.

    Args:
        one: the list.
        probe: an address, a name, or a mail address for a list of hashes.
    """
    if one.hash is not EmailHash.NONE:
        return hash_label(of_mailbox(probe), one.hash)
    address = plain(probe) if one.of_addresses or one.ips else None
    return of_address(address) if address else probe.lower()


def probe_error(question: DnsblQuestion) -> DnsblFailure:
    """Return what is wrong with a list whose answer to a test point was not the right one."""
    one = question.list
    if question.probe:
        why = (
            f"does not list its test point {question.subject}: empty, dead, or it does not "
            f"answer us"
        )
        return DnsblFailure(name=one.name, fault=DnsblFault.NOT_LISTED, why=why)
    why = f"lists {question.subject}, which no list may: it lists the whole world"
    return DnsblFailure(name=one.name, fault=DnsblFault.LISTED, why=why)
