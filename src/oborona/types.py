"""The words every package shares: stages, verdicts, shingles, what a bucket counts.

Nothing here does anything; the packages that do import it, never the other way.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

import msgspec


class Stage(StrEnum):
    """The four points where a mail server asks, cheapest first.

    And a look at a message that it has passed on.
    """

    CONNECT = "connect"  # client address and name
    SENDER = "sender"  # HELO, MAIL FROM
    RECIPIENT = "recipient"  # each RCPT TO
    CONTENT = "content"  # headers and body
    RECHECK = "recheck"  # what is known later

    @property
    def order(self) -> int:
        """0 for connect to 4 for recheck: what is known at a stage is known at all later ones."""
        return _ORDER[self]


_ORDER = {stage: order for order, stage in enumerate(Stage)}


class Action(StrEnum):
    """What a verdict does with a message."""

    ACCEPT = "accept"  # to the inbox
    SPAM = "spam"  # to the spam folder
    REJECT = "reject"  # refused, 550
    TEMPFAIL = "tempfail"  # refused for now, 451


class CounterPrefix(StrEnum):
    """The service a counter belongs to."""

    IN = "in"  # mail to our people
    OUT = "out"  # mail from our people, to whomever
    GREY = "grey"  # mail that was put off
    REFUSED = "refused"  # what was refused before its content; counts towards no judgement
    FIRST = "first"  # mail to somebody who had had none from this sender for two weeks
    DELETED = "deleted"  # mail that its reader deleted without having read it
    RECIPIENTS = "recipients"  # recipients of outgoing mail, each time one is written to
    OCTETS = "octets"  # octets of outgoing mail, once for each message
    SENT = "sent"  # outgoing mail that was taken, by whoever sent it
    NEW_RECIPIENTS = "new-recipients"  # whom an account had not written to for two weeks
    FLOW_PACKETS = "flow-packets"  # packets of SMTP that a machine of ours sent, by its router
    FLOW_OCTETS = "flow-octets"  # octets of these packets
    FLOW_STREAMS = "flow-streams"  # TCP streams of SMTP, and destinations


class Shingle(NamedTuple):
    """Hash of one normalised piece of a message."""

    type: int  # 1..79, `oborona.message.shingles.Type`
    hash: int  # unsigned 64 bits, keyed by the site's secret


PAIR_BITS: Final = 12
PAIR_MASK: Final = (1 << PAIR_BITS) - 1 << 64 - PAIR_BITS


class UniquePair(NamedTuple):
    """A unique pair: `distinct` grows only when `both` is zero in the current day.

    The hashes of both begin with the same PAIR_BITS bits: by these a cluster keeps them in one
    place.
    """

    both: Shingle  # P = hash(a, b)
    distinct: Shingle  # U = hash(a): counts distinct b per a


class CountedPieces(msgspec.Struct, frozen=True, kw_only=True):
    """What one message counts under."""

    shingles: tuple[Shingle, ...]  # distinct; counted once each per message
    pairs: tuple[UniquePair, ...]  # decided by the store
    # of those the `both` that tell whether a recipient knows the sender
    contacts: tuple[Shingle, ...] = ()
    # what counts the known authors who write from the client's address
    vouched: tuple[Shingle, ...] = ()
    # what counts mail of the account from the client's address, beside the message's own pieces
    place: tuple[Shingle, ...] = ()


class Metric(IntEnum):
    """What a bucket stores; `ham` is what was seen and is not spam."""

    SEEN = 0
    SPAM = 1
    COMPLAINTS = 2
    PARDONS = 3
    READS = 4
    TRAPS = 5


class Amounts(NamedTuple):
    """How much to add of each metric, in `Metric` order, each 0..2^63-1."""

    seen: int = 0
    spam: int = 0
    complaints: int = 0
    pardons: int = 0
    reads: int = 0
    traps: int = 0


class Window(IntEnum):
    """The totals that a read gives: the last N buckets, the current one included."""

    RECENT = 0  # 1 bucket of 10 minutes
    HOUR = 1  # 6 buckets of 10 minutes
    DAY = 2  # 144 buckets of 10 minutes
    FORTNIGHT = 3  # 14 buckets of a day


class RuleWindow(IntEnum):
    """The windows that rules ask for: those of a read, and what is left of two weeks without the
    last 24 hours.

    A message, its copies and the flood of the last minutes lie in `DAY`; what was before them, and
    nothing else, speaks for a sender.
    """

    RECENT = Window.RECENT
    HOUR = Window.HOUR
    DAY = Window.DAY
    FORTNIGHT = Window.FORTNIGHT
    EARLIER = 4  # FORTNIGHT less DAY


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The SMTP client as the mail server saw it."""

    ip: str = ""  # canonical text, no brackets; empty when the server did not say (unix socket)
    name: str = ""  # verified rDNS name, lower case; empty = none
    port: int = 0
    login: str = ""  # SASL login, where a protocol tells it together with the client
    # nobody can tell who it is: without an address, and none of ours for that
    unknown: bool = False


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """Where an address is, by the site's databases; what they do not know is empty."""

    country: str = ""  # ISO 3166-1, two capital letters
    as_number: int = 0  # of the autonomous system that announces it; 0 = unknown
    as_name: str = ""  # whose that is, printable and cut


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a message beside its bytes."""

    client: Client = Client()
    helo: str = ""
    sender: str = ""  # MAIL FROM without <>; empty = bounce
    recipients: tuple[str, ...] = ()  # accepted RCPT TO without <>
    traps: tuple[str, ...] = ()  # those of them that no person uses
    login: str = ""  # SASL login; empty = not authenticated
    own: bool = False  # the client is in a network of the site, or came by a submission port
    queue_id: str = ""
    server: str = ""  # what the mail server that asks calls itself; empty = it did not say
    holds: bool = True  # it has a place for what is held; who has none refuses it


class ProvedIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a message, as far as it was proved; empty where it was not.

    Lower case, domains in A-labels.
    """

    author: str = ""  # address in From
    author_domain: str = ""  # its registrable domain
    sender: str = ""  # MAIL FROM
    account: str = ""  # login of one of our own people


class Finding(msgspec.Struct, frozen=True):
    """One named fact with its evidence; it never decides."""

    name: str  # kebab-case, e.g. hidden-text
    evidence: str = ""  # short, printable; peer bytes are quoted and cut


class RuleMode(StrEnum):
    """Whether a rule counts."""

    LIVE = "live"
    SHADOW = "shadow"  # explained and counted, scores nothing


class RuleHit(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that fired."""

    name: str
    score: float
    say: str = ""  # the rule's own words with the facts filled in
    mode: RuleMode = RuleMode.LIVE


class ShadowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict would have been, had everything that is in shadow mode been live."""

    action: Action
    score: float
    line: float
    decided_by: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is done with a message, and why."""

    action: Action
    score: float
    line: float  # the score this one was held to: reject_score if it was reached, else spam_score
    decided_by: str  # rule name, or a slug such as below-threshold
    rules: tuple[RuleHit, ...] = ()  # heaviest first, shadow rules last
    findings: tuple[Finding, ...] = ()
    would: ShadowVerdict | None = None  # where it would have been another action
