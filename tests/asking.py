"""Askers without a network, for what needs no server, above all for thousands of hostile records.

And inquirers who ask them.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

from oborona.dns import DnsAnswer, DnsAsker, DnsOutcome, DnsRecord, DnsType
from oborona.reputation.networks import NOWHERE
from oborona.session.dnsbl import DnsblClient
from oborona.session.inquiry import Inquirer, InquiryServices
from tests.peers.dns import TTL, Records, Zones


class Table:
    """Answers as `tests.peers.dns.Zones` does, with its records at hand.

    Args:
        records: as there.
        broken: names and kinds that end in a temporary error; ("*", "*") is all.
    """

    def __init__(
        self, records: Records | None = None, *, broken: Collection[tuple[str, str]] = ()
    ) -> None:
        self.zones = Zones(records or {})  # never started; `add` and `remove` change the records
        self.broken = set(broken)
        self.asked: list[tuple[str, DnsType]] = []

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        self.asked.append((name, kind))
        if not {("*", "*"), (name.lower(), kind.name)}.isdisjoint(self.broken):
            return DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="timeout")
        try:
            question = dns.message.make_query(name, kind.name)
        except dns.exception.DNSException:
            return DnsAnswer(outcome=DnsOutcome.NO_NAME)
        response = self.zones.answer(question)
        if response.rcode() == dns.rcode.NXDOMAIN:
            return DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=TTL)
        found = [
            rrset for rrset in response.answer if rrset.rdtype == dns.rdatatype.from_text(kind.name)
        ]
        if not found:
            return DnsAnswer(outcome=DnsOutcome.NO_DATA, ttl=TTL)
        return DnsAnswer(
            outcome=DnsOutcome.FOUND,
            records=tuple(_record(one) for rrset in found for one in rrset),
            ttl=TTL,
        )


def means(asker: DnsAsker, *, now: float | None = None) -> InquiryServices:
    """Return what inquirers work with who ask this asker."""
    wall = time.time if now is None else lambda: now
    return InquiryServices(
        asker=lambda: asker,
        lists=DnsblClient(asker, NOWHERE, time.monotonic, wall),
        receiver="mx.test",
        sample=lambda: 0.0,
        clock=wall,
    )


def inquirer(asker: DnsAsker | None = None, *, now: float | None = None) -> Inquirer:
    """Return an inquirer who asks this asker; without one, nothing exists."""
    return Inquirer(means(asker or Table(), now=now))


def _record(rdata: Any) -> DnsRecord:
    match dns.rdatatype.to_text(rdata.rdtype):
        case "TXT":
            return b"".join(rdata.strings)
        case "MX":
            return rdata.preference, _plain(rdata.exchange)
        case "A" | "AAAA":
            return str(rdata.address)
        case _:
            return _plain(rdata.target)


def _plain(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower()
