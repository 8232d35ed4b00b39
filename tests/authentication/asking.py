"""An asker that reads a table: for what needs no server, above all for thousands of hostile records."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

from oborona.dns import Answer, Kind, Outcome, Record
from tests.peers.dns import TTL, Records, Zones


class Table:
    """Answers as `tests.peers.dns.Zones` does, without a network.

    Args:
        records: as there.
        broken: names and kinds that end in a temporary error; ("*", "*") is all.
    """

    def __init__(self, records: Records | None = None, *, broken: Collection[tuple[str, str]] = ()) -> None:
        self._zones = Zones(records or {})
        self._broken = broken
        self.asked: list[tuple[str, Kind]] = []

    async def ask(self, name: str, kind: Kind) -> Answer:
        self.asked.append((name, kind))
        if not {("*", "*"), (name.lower(), kind.name)}.isdisjoint(self._broken):
            return Answer(outcome=Outcome.TEMPERROR, why="timeout")
        try:
            question = dns.message.make_query(name, kind.name)
        except dns.exception.DNSException:
            return Answer(outcome=Outcome.NO_NAME)
        response = self._zones.answer(question)
        if response.rcode() == dns.rcode.NXDOMAIN:
            return Answer(outcome=Outcome.NO_NAME, ttl=TTL)
        found = [rrset for rrset in response.answer if rrset.rdtype == dns.rdatatype.from_text(kind.name)]
        if not found:
            return Answer(outcome=Outcome.NO_DATA, ttl=TTL)
        return Answer(
            outcome=Outcome.FOUND, records=tuple(_record(one) for rrset in found for one in rrset), ttl=TTL
        )


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
