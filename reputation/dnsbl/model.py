"""DNS lists, what they are asked, and what they said."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from oborona.reputation.dnsbl.codes import CodeRange, CodeWeights
from oborona.reputation.subject import MAILBOXES, ListSubject
from oborona.types import RuleHit, RuleMode, Stage


class EmailHash(StrEnum):
    """How a list of mail addresses hides them, in hexadecimal.

    SHA-256 would not fit into a label of the DNS.
    """

    NONE = "none"  # it lists no mail addresses
    MD5 = "md5"
    SHA1 = "sha1"


class FreeTo(StrEnum):
    """To whom the owner of a DNS list answers free of charge."""

    ANYBODY = "anybody"
    OWN = "own"  # who filters mail of his own, and sells neither mailboxes nor filtering


class DnsList(msgspec.Struct, frozen=True, kw_only=True):
    """One DNS list (RFC 5782) as the policy describes it."""

    name: str
    # lower case, without final dot; may hold the key of an account: for nobody but the DNS
    zone: str
    of: tuple[ListSubject, ...]
    codes: CodeWeights
    refused: tuple[CodeRange, ...] = ()  # codes that mean "not for you", beside 127.255.255.0/24
    hash: EmailHash = EmailHash.NONE  # it lists mail addresses, hashed
    whole: bool = False  # host names as they are, not their registrable domains
    ips: bool = False  # addresses among links and HELO names, too
    ipv4: bool = True
    ipv6: bool = False
    # what is always listed; None: what RFC 5782 section 5 says; "": nothing is
    probe: str | None = None
    say: str = "{subject} ({code})"
    url: str = ""  # where the refused find out why
    enabled: bool = True
    mode: RuleMode = RuleMode.LIVE
    why: str = ""
    terms: str = ""  # of use
    free_to: FreeTo | None = None  # None: it is not said
    free_below: int = 0  # messages a day; 0: however many

    @property
    def of_addresses(self) -> bool:
        """Whether it lists IP addresses."""
        return ListSubject.CLIENT in self.of

    @property
    def of_domains(self) -> bool:
        """Whether it lists names."""
        return self.hash is EmailHash.NONE and any(of is not ListSubject.CLIENT for of in self.of)


class DnsblQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question for an address record."""

    list: DnsList
    name: str  # to ask the DNS for; holds the zone
    subject: str  # what it is about, without the zone
    of: ListSubject
    probe: bool | None = None  # of a probe: must it be listed


class DnsblListing(msgspec.Struct, frozen=True, kw_only=True):
    """A list has something on its list."""

    name: str  # of the list
    of: ListSubject
    asked: str  # the address, name or mail address
    codes: tuple[str, ...]  # as answered, those that count, weightiest first
    score: float
    say: str
    mode: RuleMode = RuleMode.LIVE

    @property
    def stage(self) -> Stage:
        """The stage at which it could be known."""
        return self.of.stage

    @property
    def hit(self) -> RuleHit:
        """The same as a rule that fired."""
        return RuleHit(name=self.name, score=self.score, say=self.say, mode=self.mode)


class DnsblFault(StrEnum):
    """Why a list is of no use."""

    TEMPERROR = "temperror"  # no answer
    REFUSED = "refused"  # it does not answer us
    MADE_UP = "made-up"  # an answer that no list gives
    NOT_LISTED = "not-listed"  # its test point is not listed: an empty or dead list
    LISTED = "listed"  # what must never be listed is: a list of the whole world


class DnsblFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A list gave no answer that can be used."""

    name: str  # of the list
    fault: DnsblFault
    why: str  # for people, without the zone


ASKABLE = tuple(subject for subject in ListSubject if subject is not ListSubject.RECIPIENT)
"""What DNS lists can be about."""

HASHABLE = MAILBOXES - {ListSubject.RECIPIENT}
"""What lists of hashed mail addresses can be about."""
