"""Acts of readers on single letters of theirs: no spam after all, taken back, said again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.desk.asks.events import EventId
from oborona.desk.asks.recheck import MoveId
from oborona.desk.call import ActOrder, NotFoundError, UndoCall, act
from oborona.desk.readers.addresses import own_addresses
from oborona.desk.readers.release import (
    BY_READER,
    TAKEN_BACK,
    CopyFate,
    copy_fate,
    move_out,
    own_copies,
    pardon,
    refuse_forbidden,
)
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventDecision, EventKind, StoredEvent
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.recheck.moves import MoveStore
from oborona.reputation.personal import mail_address

MessageId = Annotated[str, Meta(min_length=1, max_length=100)]


class OwnPardonOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A letter that is no spam."""

    message: MessageId


class PardonedCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of it, and what becomes of it."""

    address: str
    fate: CopyFate


class OwnPardonOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A reader's word on a letter."""

    sender: str
    subject: str
    copies: tuple[PardonedCopy, ...]
    undo: UndoCall | None


class OwnWordOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Words of one's own.

    Args:
        ids: of events.
        moves: that were made for them, and are taken back as well.
    """

    ids: Annotated[tuple[EventId, ...], Meta(min_length=1, max_length=100)]
    moves: Annotated[tuple[MoveId, ...], Meta(max_length=100)] = ()


class OwnWordOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Words that are another now.

    Args:
        ids: of these.
        moves: copies that are moved back.
    """

    ids: tuple[int, ...]
    moves: tuple[int, ...]
    undo: UndoCall | None


@act("own.not_spam", Right.OWN, scoped=True, about=("message",))
def pardon_own_letter(site: Site, caller: Caller, asked: OwnPardonOrder) -> OwnPardonOutcome:
    """Say that a letter is no spam: it goes to the inbox where this site moves mail, and the site
    learns of it as of a move in one's mail program.  The same again changes nothing.

    Raises:
        CallError: a list of the site or what it holds forbids it.
    """
    copies = own_copies(site, own_addresses(caller), asked.message)
    entry = copies[0].entry
    refuse_forbidden(site, entry)
    now, events, moves = time.time(), list[int](), list[int]()
    told = list[PardonedCopy]()
    with _open_words(site, make=not asked.dry) as (log, store):
        for copy in copies:
            fate, back = copy_fate(site, copy, store)
            told.append(PardonedCopy(address=copy.person, fate=fate))
            if asked.dry or log is None or store is None:
                continue
            # the word first: who is killed between has said it, and says it again
            events.append(pardon(log, copy, now))
            if fate is CopyFate.MOVES:
                moves += move_out(site, copy, store, back, now)
    undo = UndoCall(call="own.take_back", asked={"ids": events, "moves": moves})
    return OwnPardonOutcome(
        sender=entry.header_from or entry.sender,
        subject=entry.subject,
        copies=tuple(told),
        undo=undo if events else None,
    )


@act("own.take_back", Right.OWN, scoped=True, about=("ids",))
def take_back_own_words(site: Site, caller: Caller, asked: OwnWordOrder) -> OwnWordOutcome:
    """Take back what one has said of letters: what followed is undone, and a copy that was moved
    for it goes back, unless it was touched since.
    """
    addresses, now = own_addresses(caller), time.time()
    with _open_words(site, make=False) as (log, store):
        standing = [
            event
            for event in _own_events(log, addresses, asked.ids)
            if event.decided is None or event.counts or event.own
        ]
        mine = _own_moves(store, addresses, asked.moves)
        idents = [event.id for event in standing]
        if not asked.dry and log is not None:
            decision = EventDecision(
                counts=False, own=False, rules=(TAKEN_BACK,), say="by their own word"
            )
            log.decide([(ident, decision) for ident in idents], now=now)
            if store is not None:
                mine = store.undo(mine, now=now, event=BY_READER)
    undo = UndoCall(call="own.say_again", asked={"ids": idents})
    # a copy that went back is not moved again
    return OwnWordOutcome(
        ids=tuple(idents), moves=tuple(mine), undo=undo if idents and not mine else None
    )


@act("own.say_again", Right.OWN, scoped=True, about=("ids",))
def say_own_words_again(site: Site, caller: Caller, asked: OwnWordOrder) -> OwnWordOutcome:
    """Say again what one took back."""
    with _open_words(site, make=False) as (log, _):
        taken = _own_events(log, own_addresses(caller), asked.ids)
        idents = [event.id for event in taken if event.rules == (TAKEN_BACK,)]
        if not asked.dry and log is not None:
            idents = log.restore(idents, TAKEN_BACK, now=time.time())
    undo = UndoCall(call="own.take_back", asked={"ids": idents})
    return OwnWordOutcome(ids=tuple(idents), moves=(), undo=undo if idents else None)


@contextmanager
def _open_words(site: Site, *, make: bool) -> Iterator[tuple[EventLog | None, MoveStore | None]]:
    """Open what readers said, and the moves, as the daemon's user; None where there is none."""
    events, moves = site.state / state_files.EVENTS, site.state / state_files.MOVES
    with site.as_owner(), ExitStack() as stack:
        log = stack.enter_context(EventLog(events)) if make or events.exists() else None
        store = stack.enter_context(MoveStore(moves)) if make or moves.exists() else None
        yield log, store


def _own_events(
    log: EventLog | None, addresses: Sequence[str], ids: Sequence[int]
) -> list[StoredEvent]:
    """Return what a reader has said, by its ids.

    Raises:
        NotFoundError: one of them is not theirs.
    """
    found = [log.find(ident) for ident in dict.fromkeys(ids)] if log is not None else [None]
    said = [
        event
        for event in found
        if event is not None
        and event.person in addresses
        and event.what in (EventKind.COMPLAINT, EventKind.PARDON)
    ]
    if len(said) < len(found):
        raise NotFoundError("you have said no such thing")
    return said


def _own_moves(store: MoveStore | None, addresses: Sequence[str], ids: Sequence[int]) -> list[int]:
    """Return those of some moves that were made for a reader."""
    found = [store.get(ident) for ident in dict.fromkeys(ids)] if store is not None else []
    return [
        move.id
        for move in found
        if move is not None
        and move.event == BY_READER
        and mail_address(move.recipient) in addresses
    ]
