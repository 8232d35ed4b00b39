"""The data of the recheck: causes, candidates, results, and the interfaces that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.recheck.moves import Move, MoveDecision
from oborona.recheck.rejudgement import Rejudged
from oborona.types import Shingle


class RecheckCause(StrEnum):
    """Why a message is rechecked."""

    WORD = "word"  # people's word against it, or a trap's, was counted
    PARDON = "pardon"  # people's word for it was counted, or one against it taken back
    LATE = "late"  # more was found in it after its answer
    SIGNATURE = "signature"  # a signature is new, another, or gone
    PIN = "pin"  # an analyst's word on an entity is new, or gone
    POLICY = "policy"  # another policy is in force
    CLOCK = "clock"  # its time has come
    ASKED = "asked"  # an admin wants to know


class RecheckCandidate(NamedTuple):
    """A message that is rechecked."""

    entry: JournalEntry
    late: LateFindings | None = None
    went: tuple[CopyDelivery, ...] = ()  # where copies went, as the delivery door has told
    # packed, with the counts that the entry's own has not; None = the entry's own has them
    kept: bytes | None = None


class MessageBrief(NamedTuple):
    """The part of a message that the prefilter needs."""

    id: int
    policy_version: str
    shingles: tuple[Shingle, ...]
    kept: bytes | None  # packed (`journal.evidence`)


class ReaderAction(NamedTuple):
    """What one person did with a message, as far as the recheck needs it."""

    person: str  # mail address in normal form
    moved: bool  # complained of it, or pardoned it: where it is now is theirs to say
    opened: bool


class StayingCopy(NamedTuple):
    """A copy that stays where it is although the message's verdict has changed."""

    recipient: str
    why: str


class RecheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the recheck of one message."""

    entry: JournalEntry
    cause: RecheckCause
    again: Rejudged | None = None  # None: nothing can be said
    why_not: str = ""  # nothing can be said, in words for people
    moves: tuple[MoveDecision, ...] = ()
    stays: tuple[StayingCopy, ...] = ()
    # it is to be moved, and people complained of its text, links or files, or a trap got them,
    # since it was judged
    word: bool = False


class ReaderActions(Protocol):
    """What persons did with messages."""

    def touched(self, ident: int) -> Sequence[ReaderAction]:
        """Return what was done with a message.

        Raises:
            StoreError: that can't be read.
        """
        ...


class NoActionsOrMoves:
    """Nobody did anything, and nothing was moved."""

    def touched(self, _ident: int) -> Sequence[ReaderAction]:
        """Return nothing."""
        return ()

    def of(self, _message: int) -> list[Move]:
        """Return nothing."""
        return []


class DecidedMoves(Protocol):
    """The moves that were decided."""

    def of(self, message: int) -> list[Move]:
        """Return those of a message, in the order in which they were decided.

        Raises:
            StoreError: they can't be read.
        """
        ...


class SiteMoves(Protocol):
    """What a site of several machines knows of the moves of this one; for one thread at a time.

    No method raises anything of the site's log: without it moves go on that nobody else knows.

    Attributes:
        reachable: the log was there, when it was asked last.
    """

    reachable: bool

    def untold(self, *, back: bool) -> list[Move]:
        """Return moves that the site does not know yet, some at a time.

        Args:
            back: only those that take others back.

        Raises:
            StoreError: the moves can't be read.
        """
        ...

    def tell(self, moves: Sequence[tuple[Move, str]]) -> int:
        """Have the site know moves, each with its Message-ID; return how many it knows now.

        Raises:
            StoreError: the moves can't be written.
        """
        ...

    def follow(self, *, paused: bool) -> None:
        """Tell what has come to its end, hear what others made, take what nobody makes.

        Args:
            paused: moves have stopped here.

        Raises:
            StoreError: the moves can't be used.
        """
        ...

    def held(self, moves: Sequence[Move]) -> set[int]:
        """Return those of some moves that are this machine's to make now.

        Raises:
            StoreError: the moves can't be used.
        """
        ...

    def valid(self) -> bool:
        """Whether what `held` said last is good still."""
        ...

    def message_id(self, id_: int) -> str | None:
        """Return the Message-ID of a move of another machine; None: it is this one's."""
        ...


class MailboxFolders(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the two folders, as IMAP names them."""

    inbox: str = "INBOX"
    spam: str = "Junk"
