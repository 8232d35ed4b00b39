"""A letter that its reader wants out of Junk: their word on it, and the move of their copy."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from oborona import state_files
from oborona.daemon.keeper.limits import limits_of
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.site import Site
from oborona.errors import PolicyError
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import from_text
from oborona.journal.entry import CopyDelivery, JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.personal_list_match import MALWARE
from oborona.recheck.engine.copies import site_verdict
from oborona.recheck.moves import Move, MoveDecision, MoveState, MoveStore
from oborona.reputation.personal import mail_address
from oborona.types import Action

BY_READER: Final = "reader"  # what made us look, in the store of moves
WHY: Final = "its reader says that it is no spam"
TAKEN_BACK: Final = "OWN_TAKEN_BACK"  # rule of a word that its reader took back
SOURCE: Final = "console"  # of events
_PENDING: Final = (MoveState.DECIDED, MoveState.ISSUED, MoveState.DONE)


class CopyFate(StrEnum):
    """What is done with a reader's copy."""

    MOVES = "moves"  # to the inbox, as long as they have not opened it
    MOVED = "moved"  # it was, before
    INBOX = "inbox"  # it went there at once
    BY_HAND = "by_hand"  # this site moves nothing
    STAYS = "stays"  # it was moved back once, or could not be moved


class OwnCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A letter that came to one of a reader's addresses."""

    entry: JournalEntry
    person: str  # their address
    spam: bool  # it went to the spam folder


def own_copies(site: Site, addresses: Sequence[str], message: str) -> list[OwnCopy]:
    """Return the copies of a message that went to a reader.

    Args:
        site: whose journal.
        addresses: theirs, in their normal form.
        message: its id.

    Raises:
        NotFoundError: there is no such message of theirs.
    """
    number = from_text(message.strip())
    entry, went = asyncio.run(_journaled(site, number)) if number is not None else (None, [])
    if entry is None:
        raise NotFoundError("there is no such letter of yours, or it is no longer known")
    by_door = {mail_address(copy.recipient): copy.spam for copy in went}
    sent_to = {mail_address(name) for name in entry.recipients} | set(by_door)
    mine = [address for address in addresses if address in sent_to]
    if not mine:
        raise NotFoundError("there is no such letter of yours, or it is no longer known")
    filed = entry.verdict is Action.SPAM
    return [
        OwnCopy(entry=entry, person=address, spam=by_door.get(address, filed)) for address in mine
    ]


def refuse_forbidden(site: Site, entry: JournalEntry) -> None:
    """Say why a letter is not let out of Junk, whatever its reader says.

    Raises:
        CallError: it is not.
    """
    if entry.verdict in (Action.REJECT, Action.TEMPFAIL):
        raise CallError(
            "this letter was not taken in, so it is not here: allow its sender, and ask them to "
            "send it again"
        )
    if not MALWARE.isdisjoint(finding.name for finding in entry.findings):
        raise CallError(
            "this letter holds a file that may harm your computer, so it stays where it is; ask "
            "who runs the mail server if you need it"
        )
    try:
        lists = {one.name for one in site.policy().local_lists.lists}
    except PolicyError as error:
        site.notice(f"{error}; what lists forbid is not known")
        return
    if site_verdict(entry)[1] in lists:
        raise CallError(
            "who runs the mail server has decided about this sender, for everybody; only they "
            "can change it"
        )


def pardon(log: EventLog, copy: OwnCopy, now: float) -> int:
    """Write down that a reader says a letter is no spam, once; return the event's id.

    What they took back before is good again.

    Args:
        log: of events.
        copy: the reader's.
        now: Unix seconds.
    """
    (receipt,) = log.add(
        [
            FeedbackEvent(
                what=EventKind.PARDON,
                way=EventChannel.CONSOLE,
                time=now,
                person=copy.person,
                ident=copy.entry.id,
                message_id=copy.entry.message_id,
                source=SOURCE,
                key=event_key(copy),
            )
        ],
        now=now,
    )
    if not receipt.new:
        log.restore([receipt.id], TAKEN_BACK, now=now)
    return receipt.id


def event_key(copy: OwnCopy) -> bytes:
    """Return the key under which a reader's word on a letter is written down once."""
    text = f"{copy.person}\0{copy.entry.id}"
    return hashlib.blake2b(text.encode(), digest_size=16, person=b"reader's pardon").digest()


def copy_fate(site: Site, copy: OwnCopy, store: MoveStore | None) -> tuple[CopyFate, Move | None]:
    """Return what is to be done with a copy, and the move of ours that is to be taken back for it.

    Args:
        site: whose settings say whether copies are moved.
        copy: a reader's.
        store: of moves; None = there is none yet.
    """
    folders = limits_of(site.loaded.settings).folders
    name = copy.person
    made = store.of(copy.entry.id) if store is not None else []
    mine = [move for move in made if mail_address(move.recipient) == name]
    if mine:
        last = mine[-1]
        if last.target == folders.inbox and last.state in _PENDING:
            return (CopyFate.MOVED if last.state is MoveState.DONE else CopyFate.MOVES), None
        if last.undoes is None and last.state in _PENDING:
            return _if_moving(site), last
        return CopyFate.STAYS, None
    if not copy.spam:
        return CopyFate.INBOX, None
    return _if_moving(site), None


def move_out(
    site: Site, copy: OwnCopy, store: MoveStore, back: Move | None, now: float
) -> list[int]:
    """Have a copy moved to the inbox; return the ids of moves that were decided for it.

    Args:
        site: whose folders.
        copy: a reader's, which is in the spam folder.
        store: of moves.
        back: the move of ours that put it there.
        now: Unix seconds.
    """
    if back is not None:
        store.undo([back.id], now=now, event=BY_READER)
        return []
    folders = limits_of(site.loaded.settings).folders
    recipient = next(
        (name for name in copy.entry.recipients if mail_address(name) == copy.person), copy.person
    )
    decision = MoveDecision(
        message=copy.entry.id,
        recipient=recipient,
        source=folders.spam,
        target=folders.inbox,
        why=WHY,
        score=copy.entry.score,
        line=copy.entry.line,
        event=BY_READER,
        because=WHY,
        word=True,
    )
    return store.decide([decision], now=now)


def _if_moving(site: Site) -> CopyFate:
    settings = site.loaded.settings
    moves = settings.recheck.enabled and settings.mailboxes.kind != "none"
    return CopyFate.MOVES if moves else CopyFate.BY_HAND


async def _journaled(site: Site, number: int) -> tuple[JournalEntry | None, list[CopyDelivery]]:
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        return await journal.get(number), await journal.went(number)
