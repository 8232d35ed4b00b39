"""The DNS tree walk of DMARC: which organisation a name belongs to, and whose record speaks for it.

RFC 9989 section 4.10.

From a name upwards records are asked for at each name. The organisation is the name whose record
says `psd=n`; else what lies below a record that says `psd=y`, but for one at the name itself; else
the shortest name with a record. At most `MAX_QUESTIONS` names are asked for, of a longer one the
lowest and the seven highest labels.

Two things beside the RFC (ADR 50). Names above the one that was registered, by the Public Suffix
List, are asked for only where that has no record: whatever stood there, what it would say of two
names below is what the list says already, namely that they are one organisation. And where there is
no record at all, the organisation is what was registered; who asks for nothing loses nothing by it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from oborona.authentication.dmarc_record import (
    DmarcRecord,
    UnusableDmarcRecord,
    is_dmarc_record,
    parse_dmarc_record,
)
from oborona.dns import DnsAsker, DnsOutcome, DnsType
from oborona.domains import registrable

MAX_QUESTIONS: Final = 8  # RFC 9989 s4.10: a sender chooses how many labels there are


class DnsUnanswered(Exception):  # noqa: N818 - reads as what happened
    """The DNS gave no answer; the text says to which question."""


class DmarcTreeWalk(NamedTuple):
    """The DMARC records at a name and above it."""

    domain: str  # where it began
    records: tuple[
        tuple[str, DmarcRecord | UnusableDmarcRecord], ...
    ]  # by name, from the longest on
    doubled: str = ""  # the first name with several records, which count as none

    @property
    def organisation(self) -> str:
        """The organisational domain, RFC 9989 section 4.10.2."""
        for place, record in self.records:
            if isinstance(record, DmarcRecord) and record.suffix is not None:
                if not record.suffix:
                    return place
                if place != self.domain:
                    return ".".join(self.domain.split(".")[-(place.count(".") + 2) :])
        return self.records[-1][0] if self.records else registrable(self.domain)

    @property
    def policy(self) -> tuple[str, DmarcRecord | UnusableDmarcRecord] | None:
        """The record that holds for the domain, and where: its own, its organisation's, or that of
        the public suffix above.
        """
        for name in (self.domain, self.organisation):
            for place, record in self.records:
                if place == name:
                    return place, record
        last = self.records[-1] if self.records else None
        return last if last and isinstance(last[1], DmarcRecord) and last[1].suffix else None


@lru_cache(maxsize=1024)
def tree_walk_names(domain: str) -> tuple[str, ...]:
    """Return the names of a walk from a domain up to the top-level domain, at most
    `MAX_QUESTIONS`.
    """
    labels = domain.split(".")[1:][-(MAX_QUESTIONS - 1) :]
    return (domain, *(".".join(labels[first:]) for first in range(len(labels))))


async def walk_dmarc_tree(domain: str, asker: DnsAsker, *, whole: bool = True) -> DmarcTreeWalk:
    """Ask for the records at a domain and above it.

    Args:
        domain: a name, as `fqdn` gives it.
        asker: for the DNS.
        whole: False = a record at the domain itself is enough, for it is the policy; what
            organisation that is can be asked later.

    Raises:
        Unanswered: some name's answer is not known.
    """
    records: list[tuple[str, DmarcRecord | UnusableDmarcRecord]] = []
    doubled = ""
    registered = registrable(domain)
    for place in tree_walk_names(domain):
        if len(place) < len(registered) and records and records[-1][0] == registered:
            break
        answer = await asker.ask(f"_dmarc.{place}", DnsType.TXT)
        if answer.outcome is DnsOutcome.TEMPERROR:
            raise DnsUnanswered(f"DNS {answer.why}: TXT _dmarc.{place}")
        texts = [text for text in answer.texts if is_dmarc_record(text)]
        if len(texts) > 1:
            doubled = doubled or place
        if len(texts) != 1:
            continue
        try:
            record: DmarcRecord | UnusableDmarcRecord = parse_dmarc_record(texts[0])
        except UnusableDmarcRecord as error:
            record = error
        records.append((place, record))
        if (place == domain and not whole) or (
            isinstance(record, DmarcRecord) and record.suffix is not None
        ):
            break
    return DmarcTreeWalk(domain, tuple(records), doubled)
