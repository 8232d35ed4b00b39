"""DNS lists, what they are asked, and what they said."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from oborona.reputation.dnslists.codes import Codes, Span
from oborona.reputation.subject import MAILBOXES, Subject
from oborona.types import Mode, RuleHit, Stage


class Hash(StrEnum):
    """How a list of mail addresses hides them, in hexadecimal.

    SHA-256 would not fit into a label of the DNS.
    """

    NONE = "none"  # it lists no mail addresses
    MD5 = "md5"
    SHA1 = "sha1"


class DnsList(msgspec.Struct, frozen=True, kw_only=True):
    """One DNS list (RFC 5782) as the policy describes it."""

    name: str
    # lower case, without final dot; may hold the key of an account: for nobody but the DNS
    zone: str
    of: tuple[Subject, ...]
    codes: Codes
    refused: tuple[Span, ...] = ()  # codes that mean "not for you", beside 127.255.255.0/24
    hash: Hash = Hash.NONE  # it lists mail addresses, hashed
    whole: bool = False  # host names as they are, not their registrable domains
    ips: bool = False  # addresses among links and HELO names, too
    ipv4: bool = True
    ipv6: bool = False
    # what is always listed; None: what RFC 5782 section 5 says; "": nothing is
    probe: str | None = None
    say: str = "{subject} ({code})"
    url: str = ""  # where the refused find out why
    enabled: bool = True
    mode: Mode = Mode.LIVE
    why: str = ""
    terms: str = ""  # of use

    @property
    def of_addresses(self) -> bool:
        """Whether it lists IP addresses."""
        return Subject.CLIENT in self.of

    @property
    def of_domains(self) -> bool:
        """Whether it lists names."""
        return self.hash is Hash.NONE and any(of is not Subject.CLIENT for of in self.of)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question for an address record."""

    list: DnsList
    name: str  # to ask the DNS for; holds the zone
    subject: str  # what it is about, without the zone
    of: Subject
    probe: bool | None = None  # of a probe: must it be listed


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A list has something on its list."""

    name: str  # of the list
    of: Subject
    asked: str  # the address, name or mail address
    codes: tuple[str, ...]  # as answered, those that count, weightiest first
    score: float
    say: str
    mode: Mode = Mode.LIVE

    @property
    def stage(self) -> Stage:
        """The stage at which it could be known."""
        return self.of.stage

    @property
    def hit(self) -> RuleHit:
        """The same as a rule that fired."""
        return RuleHit(name=self.name, score=self.score, say=self.say, mode=self.mode)


class Fault(StrEnum):
    """Why a list is of no use."""

    TEMPERROR = "temperror"  # no answer
    REFUSED = "refused"  # it does not answer us
    MADE_UP = "made-up"  # an answer that no list gives
    NOT_LISTED = "not-listed"  # its test point is not listed: an empty or dead list
    LISTED = "listed"  # what must never be listed is: a list of the whole world


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A list gave no answer that can be used."""

    name: str  # of the list
    fault: Fault
    why: str  # for people, without the zone


ASKABLE = tuple(subject for subject in Subject if subject is not Subject.RECIPIENT)
"""What DNS lists can be about."""

HASHABLE = MAILBOXES - {Subject.RECIPIENT}
"""What lists of hashed mail addresses can be about."""
