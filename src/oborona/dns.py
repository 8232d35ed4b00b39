"""What everybody who asks the DNS says and hears: kinds of question, answers, and the one call.

Packages get an `DnsAsker` as an argument; what stands behind it (`oborona.resolver`) is no business
of theirs.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Protocol

import msgspec


class DnsType(IntEnum):
    """Types of records that we ask for, by their numbers (RFC 1035 section 3.2.2)."""

    A = 1
    NS = 2
    CNAME = 5
    SOA = 6
    PTR = 12
    MX = 15
    TXT = 16
    AAAA = 28


class DnsOutcome(StrEnum):
    """What became of a question."""

    FOUND = "found"  # there are records
    NO_DATA = "nodata"  # the name exists, without records of this kind
    NO_NAME = "nxdomain"  # the name does not exist, or can be no name at all
    # nobody knows: time-out, SERVFAIL, refused, nonsense; evidence of nothing
    TEMPERROR = "temperror"


DnsRecord = str | bytes | tuple[int, str]
"""A, AAAA: canonical address. NS, CNAME, PTR: name. MX: preference and name.

TXT: its strings joined. SOA: its fields with spaces between. Names are lower case, without final
dot.
"""


class DnsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one question."""

    outcome: DnsOutcome
    records: tuple[DnsRecord, ...] = ()  # empty unless FOUND; CNAMEs are followed
    ttl: int = 0  # seconds that it may be kept, 0 for TEMPERROR
    why: str = ""  # of TEMPERROR, for people: timeout, servfail, refused, budget, ...
    again: bool = False  # it was given before, or to an equal question at the same time

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The records of a TXT question."""
        return tuple(record for record in self.records if isinstance(record, bytes))

    @property
    def names(self) -> tuple[str, ...]:
        """Addresses of an A or AAAA question, names of a PTR, NS or CNAME question."""
        return tuple(record for record in self.records if isinstance(record, str))

    @property
    def exchanges(self) -> tuple[tuple[int, str], ...]:
        """The records of an MX question."""
        return tuple(record for record in self.records if isinstance(record, tuple))


class DnsAsker(Protocol):
    """Somebody who can be asked."""

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        """Return the answer to one question, within a deadline; never raises.

        Args:
            name: with or without final dot, any case; "." is the root; what can be no name (empty
                label, over 63 or 253 octets) does not exist.
            kind: of record.
        """
        ...
