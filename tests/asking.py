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

from oborona.dns import Answer, Asker, Kind, Outcome, Record
from oborona.reputation.networks import NOWHERE
from oborona.session.dnsbl import Lists
from oborona.session.inquiry import Inquirer, Means
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
        self.asked: list[tuple[str, Kind]] = []

    async def ask(self, name: str, kind: Kind) -> Answer:
        self.asked.append((name, kind))
        if not {("*", "*"), (name.lower(), kind.name)}.isdisjoint(self.broken):
            return Answer(outcome=Outcome.TEMPERROR, why="timeout")
        try:
            question = dns.message.make_query(name, kind.name)
        except dns.exception.DNSException:
            return Answer(outcome=Outcome.NO_NAME)
        response = self.zones.answer(question)
        if response.rcode() == dns.rcode.NXDOMAIN:
            return Answer(outcome=Outcome.NO_NAME, ttl=TTL)
        found = [
            rrset for rrset in response.answer if rrset.rdtype == dns.rdatatype.from_text(kind.name)
        ]
        if not found:
            return Answer(outcome=Outcome.NO_DATA, ttl=TTL)
        return Answer(
            outcome=Outcome.FOUND,
            records=tuple(_record(one) for rrset in found for one in rrset),
            ttl=TTL,
        )


def means(asker: Asker, *, now: float | None = None) -> Means:
    """Return what inquirers work with who ask this asker."""
    wall = time.time if now is None else lambda: now
    return Means(
        asker=lambda: asker,
        lists=Lists(asker, NOWHERE, time.monotonic, wall),
        receiver="mx.test",
        sample=lambda: 0.0,
        clock=wall,
    )


def inquirer(asker: Asker | None = None, *, now: float | None = None) -> Inquirer:
    """Return an inquirer who asks this asker; without one, nothing exists."""
    return Inquirer(means(asker or Table(), now=now))


def _record(rdata: Any) -> Record:
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
