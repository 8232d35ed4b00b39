"""Feedback events: who did what with which message, when, and how it was reported."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

# rule of a report whose person said the opposite later: it is no more
OPPOSITE: Final = "OPPOSITE"
# octets of a message that are kept: what is computed of it looks at no more
MOST_RAW: Final = 1 << 20


class EventKind(StrEnum):
    """The kinds of events: what a person or trap did."""

    COMPLAINT = "complaint"  # a person: this is spam
    PARDON = "pardon"  # a person: this is not spam
    TRAP = "trap"  # it came to an address that no person uses
    READ = "read"  # a person opened it
    DELETED = "deleted"  # a person threw it away unread

    @property
    def report(self) -> str:
        """What people call it."""
        return _REPORTS.get(self, self.value)


_REPORTS: Final = {EventKind.COMPLAINT: "spam report", EventKind.PARDON: "not-spam report"}


class EventChannel(StrEnum):
    """The channel by which an event came."""

    SIEVE = "sieve"  # a move in the mailbox, told by IMAPSieve
    REPORT = "report"  # an abuse report (ARF) of another site
    FORWARD = "forward"  # the message, forwarded as an attachment
    TRAP = "trap"  # mail to a trap
    HTTP = "http"  # POST /feedback
    SPAMD = "spamd"  # TELL: spamc --learntype, spamc --reporttype
    COMMAND = "command"  # `oborona learn`
    MAILBOX = "mailbox"  # the mail store's own events
    CONSOLE = "console"  # a reader's page, or a link of their digest


class FeedbackEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, as a door hands it in."""

    what: EventKind
    way: EventChannel
    time: float  # Unix seconds, when it was done
    person: str = ""  # mail address in normal form; empty = nobody: a trap, the site
    # id in the journal, of an X-Mras-Id that we signed: the door has verified it
    ident: int | None = None
    message_id: str = ""
    raw: bytes = b""  # the message as it was handed in; `MOST_RAW` of it are kept
    mailbox: str = ""  # where it went, as IMAP names it
    source: str = ""  # who handed it in: "dovecot", the domain of a site, the address of a client
    key: bytes = b""  # the same report delivered twice has the same; empty = every event is its own

    def __post_init__(self) -> None:
        """Refuse what no store takes.

        Raises:
            ValueError: the time is no number, or the id none of the journal.
        """
        if not math.isfinite(self.time):
            raise ValueError("the time of an event is no number")
        if self.ident is not None and not 0 <= self.ident < 1 << 63:
            raise ValueError("an id has 63 bits")


class EventReceipt(NamedTuple):
    """The state of an event that was handed in; it survives a power failure."""

    id: int  # of it, or of the one with the same key that came before
    new: bool


class EventSummary(NamedTuple):
    """What a person did with a message."""

    person: str  # empty = nobody: a trap, the site
    what: EventKind
    time: float  # Unix seconds
    believed: bool | None  # None: not decided yet


class StoredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it is kept, without its raw copy."""

    id: int
    what: EventKind
    way: EventChannel
    time: float  # Unix seconds, when it was done
    heard: float  # Unix seconds, when it was written down
    person: str
    ident: int | None
    message_id: str
    mailbox: str
    source: str
    decided: float | None  # Unix seconds; None: not yet
    counts: bool  # it is believed, for all
    own: bool  # it acts on the person's own mail
    weight: float  # 0..1
    rules: tuple[str, ...]  # antifraud rules that fired, by name
    say: str
    message: bytes  # what it is about; empty = unknown
    campaign: int  # 0 = of none
    turn: int  # how often it was decided
    done: int  # the turn whose effects are there
    word: int  # 0 = none follows from it
    effects: tuple[str, ...]  # what followed from it, for people

    @property
    def opinion(self) -> str:
        """What became of it, in a word or two."""
        if self.decided is None:
            return "waits"
        if self.counts:
            return f"accepted {self.weight:.2f}"
        return "own mail alone" if self.own else "refused"


class EventDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about an event."""

    counts: bool  # it is believed, for all
    own: bool  # it acts on the person's own mail
    weight: float = 0.0  # 0..1
    rules: tuple[str, ...] = ()  # antifraud rules that fired, by name
    say: str = ""

    @property
    def word(self) -> str:
        """The decision in a word: believed, own (for the person's own mail alone), refused."""
        return "believed" if self.counts else "own" if self.own else "refused"


class ReplacedDecision(NamedTuple):
    """A decision that was replaced by another."""

    event: int
    turn: int
    time: float  # Unix seconds, when it fell
    counts: bool
    own: bool
    weight: float
    rules: tuple[str, ...]
    say: str
