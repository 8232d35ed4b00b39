"""The copies of one letter in a mailbox, and the result of a move that follows from them: pure.

A mailbox can hold a letter more than once, as when its reader has two addresses.  Each copy is
judged by its own flags: an opened one stays, an unopened one is moved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from oborona import ident
from oborona.recheck.mailboxes.model import MOVED, MOVING, MailboxItem, MoveOutcome, MoveResult

SEEN: Final = "\\seen"
RECENT: Final = "\\recent"
HANDLED: Final = ("\\Answered", "\\Flagged", "\\Deleted", "$Forwarded", "$NotJunk", "NonJunk")
"""Flags that only a person sets, or a program that a person has told to."""

EARLIER_S: Final = 600.0  # a copy may be older than the verdict by so much: two clocks
MAX_MESSAGE_ID: Final = 500  # characters; longer ones are not asked for

_PLAIN: Final = re.compile(r"[!-~]+")
_T = TypeVar("_T")


class MoveGuard(NamedTuple):
    """Further conditions that keep a message where it is."""

    move_listed: bool  # False: what a mail program has listed stays
    inbox: str = "INBOX"  # what we have moved once and is here again was brought back


class LocatedCopy(NamedTuple):
    """One copy."""

    mailbox: str
    flags: frozenset[str]  # in lower case

    @classmethod
    def of(cls, mailbox: str, flags: Iterable[str]) -> LocatedCopy:
        """Return a copy with flags as a server writes them."""
        return cls(mailbox, frozenset(flag.lower() for flag in flags))

    def has(self, flag: str) -> bool:
        """Tell whether it has a flag or keyword, in any case."""
        return flag.lower() in self.flags

    def stays(self, guard: MoveGuard, *, force: bool) -> MoveResult | None:
        """Return why it is not to be moved; None where it may be."""
        if force:
            return (
                None
                if self.has(MOVED)
                else MoveResult(MoveOutcome.PERSON, f"in {self.mailbox}, and not moved by us")
            )
        if self.has(MOVED) and same_folder(self.mailbox, guard.inbox):
            return MoveResult(MoveOutcome.PERSON, "brought back after we had moved it")
        if self.has(SEEN):
            return MoveResult(MoveOutcome.SEEN)
        if handled := [flag for flag in HANDLED if self.has(flag)]:
            return MoveResult(MoveOutcome.PERSON, f"marked {handled[0]}")
        # our own move can list it
        if not guard.move_listed and not self.has(RECENT) and not self.has(MOVED):
            return MoveResult(MoveOutcome.LISTED)
        return None


def same_folder(name: str, other: str) -> bool:
    """Tell whether two names are one folder: INBOX may be written in any case."""
    return name == other or name.upper() == other.upper() == "INBOX"


def expected_result(copies: Sequence[LocatedCopy], guard: MoveGuard) -> MoveResult | None:
    """Return what a move would do with copies in the folder to move from.

    None where there are none.
    """
    if not copies:
        return None
    stays = [copy.stays(guard, force=False) for copy in copies]
    if None in stays:
        return MoveResult(MoveOutcome.MOVED)
    return stays[0]


def move_result(
    copies: Sequence[LocatedCopy], source: str, target: str, guard: MoveGuard, *, force: bool
) -> MoveResult | None:
    """Return what a move has done.

    Args:
        copies: the copies in both folders, after it.
        source: folder to move from.
        target: folder to move to.
        guard: what was not to be moved.
        force: as it was asked.

    Returns:
        None where there is no copy in either.
    """
    at_source = [copy for copy in copies if same_folder(copy.mailbox, source)]
    at_target = [copy for copy in copies if same_folder(copy.mailbox, target)]
    if any(copy.has(MOVED) for copy in at_target):
        return MoveResult(MoveOutcome.MOVED, f"another copy stays in {source}" if at_source else "")
    if any(copy.has(MOVING) for copy in at_target):
        return MoveResult(MoveOutcome.BUSY, "on its way")
    if at_source:
        stays = [copy.stays(guard, force=force) for copy in at_source]
        return (
            stays[0]
            if None not in stays
            else MoveResult(MoveOutcome.BUSY, f"the mail server leaves it in {source}")
        )
    if at_target:
        return MoveResult(MoveOutcome.PERSON, f"in {target} already, and not by us")
    return None


def result_elsewhere(copies: Sequence[LocatedCopy], *, looked: bool) -> MoveResult:
    """Return what copies in all folders say of a letter that is in none of those it should be in.

    Args:
        copies: the copies.
        looked: nothing was to be moved: what we have moved before is told as moved, wherever it is.
    """
    if not copies:
        return MoveResult(MoveOutcome.GONE)
    for copy in copies:
        if looked and copy.has(MOVED):
            return MoveResult(MoveOutcome.MOVED, f"in {copy.mailbox} already: we have moved it")
    return MoveResult(MoveOutcome.PERSON, f"in {copies[0].mailbox}")


def reason_unsearchable(letter: MailboxItem) -> MoveResult | None:
    """Return why nobody can be asked for a letter: no name of a message, or of no one user.

    None where all is well.

    An empty or shortened name would be found in every message; a star in a user's name would be
    many users.
    """
    if ident.from_text(letter.ident) is None:
        return MoveResult(MoveOutcome.UNABLE, f"{letter.ident!r} is no X-Mras-Id")
    user = letter.user
    if not user or len(user) > 320 or not user.isprintable() or set(user) & set(' *?"\\/%'):
        return MoveResult(MoveOutcome.UNABLE, f"{user!r} is no name of a mailbox's owner")
    return None


def searchable_id(letter: MailboxItem) -> str:
    """Return the Message-ID to ask for, without <>; empty where it is not known, or not fit to be
    asked for.
    """
    name = letter.message_id.strip().removeprefix("<").removesuffix(">")
    return name if len(name) <= MAX_MESSAGE_ID and _PLAIN.fullmatch(name) else ""


def carries(letter: MailboxItem, mras_id: str, message_id: str) -> bool:
    """Tell whether a message is this letter, by its headers.

    Args:
        letter: that is looked for.
        mras_id: value of X-Mras-Id.
        message_id: value of Message-ID.
    """
    name, _, _ = mras_id.strip().partition(".")
    searched_id = searchable_id(letter)
    return name.upper() == letter.ident.upper() and (not searched_id or searched_id in message_id)


def group_items(letters: Sequence[_T], key: Callable[[_T], str]) -> dict[str, list[int]]:
    """Return the places of letters by a key of theirs."""
    groups: dict[str, list[int]] = {}
    for place, letter in enumerate(letters):
        groups.setdefault(key(letter), []).append(place)
    return groups
