r"""The interface of mailboxes: requests and results, the same for all three kinds of access.

A message is moved only while nobody has opened it.  What tells:

    \Seen                                                 opened
    \Answered, \Flagged, \Deleted, $Forwarded, $NotJunk   a person did something with it
    OboronaMoved, in the folder to move from              we moved it once, and it was brought back
    no \Recent (Maildir: no longer in new/)               listed by a mail program, but not opened

`oborona.stores.mailboxes.open_mailboxes` opens the mailboxes of the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

import msgspec

# what tells our messages; its first 13 characters are the name of the journal entry
HEADER: Final = "X-Mras-Id"
# keyword just before a move and during it: whoever watches folders takes it for no person's
MOVING: Final = "OboronaMoving"
MOVED: Final = "OboronaMoved"  # keyword of what we have moved; it stays


class MailboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """One copy of a delivered message."""

    user: str  # as the mail server that keeps the mailbox calls its owner
    ident: str  # 13 characters: name of the journal entry, without its signature
    message_id: str = ""  # with or without <>; "" = not known
    delivered: float  # Unix seconds when it was judged: its copy is not older


class MoveOutcome(StrEnum):
    """The outcome of a move, or of a trial."""

    MOVED = "moved"  # is in the target now; of `look`: would be moved
    SEEN = "seen"  # opened
    LISTED = "listed"  # not opened, but a mail program has listed it, and that is enough
    PERSON = "person"  # a person has moved, flagged, answered or deleted it, or brought it back
    GONE = "gone"  # nowhere: expunged, or never delivered to this mailbox
    BUSY = "busy"  # not now: try again later
    UNABLE = "unable"  # never: no such user, no such folder


class MoveResult(NamedTuple):
    """The result for one letter."""

    outcome: MoveOutcome
    say: str = ""  # one line for logs and admins; "" where the outcome says it all


class SiteMailboxes(Protocol):
    """The mailboxes of a site."""

    async def look(self, letters: Sequence[MailboxItem], source: str) -> list[MoveResult]:
        """Tell what `move` would do, and change nothing that anybody can see.

        Args:
            letters: any number, of any users.
            source: folder they are in, as IMAP names it.

        Returns:
            one answer for each letter, in their order, whatever happens.
        """

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Move what nobody has opened.

        Guaranteed: what was moved already stays where it is and is told as moved, so that a call
        whose answer was lost can be made again; a letter that is not told as moved is where it was,
        except one told as busy, of which nothing is known.

        Args:
            letters: any number, of any users.
            source: folder they are in, as IMAP names it.
            target: folder that they go to; made where it is missing.
            force: take back a move of ours: what carries OboronaMoved goes, opened or not, and
                nothing else does.

        Returns:
            one answer for each letter, in their order, whatever happens.
        """

    async def close(self) -> None:
        """Let go of connections; calls that are under way end as busy."""
