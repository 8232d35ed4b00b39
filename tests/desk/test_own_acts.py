"""`own.*`: a reader's acts on their own mail, each undone exactly, and on nobody else's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.desk.call import CALLS, CallError, NotFoundError, UndoCall
from oborona.desk.calls import CALLS as LOADED
from oborona.desk.readers.release import TAKEN_BACK, CopyFate
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventDecision, EventKind
from oborona.ident import to_text
from oborona.journal.entry import CopyDelivery
from oborona.people.caller import Caller
from oborona.people.rights import Role
from oborona.recheck.moves import MoveState, MoveStore
from oborona.reputation.personal import (
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    of_octets,
)
from oborona.stores.persons.store import PersonStore, StoredPerson
from oborona.types import Action, Finding
from tests.desk.messages_site import DAN, JOE, entry_of, fill, make_site, move, say, scoped

READER = scoped(JOE, role=Role.READER)
OTHER = scoped(DAN, role=Role.READER)
MOVES = {"mailboxes__kind": "maildir", "mailboxes__maildir": "/srv/{local}"}
ANN = "ann@a.example"

assert LOADED is CALLS


def call(site: Site, name: str, caller: Caller = READER, **asked: Any) -> Any:
    declared = CALLS[name]
    return declared.function(site, caller, msgspec.convert(asked, declared.asked))


def undo(site: Site, made: UndoCall | None, caller: Caller = READER) -> Any:
    assert made is not None
    asked = msgspec.json.decode(msgspec.json.encode(made.asked))  # as it comes back from a page
    declared = CALLS[made.call]
    order = msgspec.convert(asked, declared.asked, strict=False)
    return declared.function(site, caller, order)


def kept(site: Site, person: str = JOE) -> StoredPerson:
    with PersonStore(site.state / state_files.PERSONS) as store:
        return store.of(person)


def moves(site: Site) -> list[tuple[str, str, str, MoveState]]:
    with MoveStore(site.state / state_files.MOVES) as store:
        return [(one.recipient, one.source, one.target, one.state) for one in store.last(9)]


def test_a_letter_leaves_junk_once_and_is_put_back(tmp_path: Path) -> None:
    site = make_site(tmp_path, **MOVES)
    letter = entry_of(recipients=(JOE, DAN))
    fill(site, letter)
    ident = to_text(letter.id)
    tried = call(site, "own.not_spam", message=ident, dry=True)
    assert tried.copies[0].fate is CopyFate.MOVES
    assert tried.undo is None
    assert not (site.state / state_files.EVENTS).exists()
    done = call(site, "own.not_spam", message=ident)
    assert [(one.address, one.fate) for one in done.copies] == [(JOE, CopyFate.MOVES)]
    assert moves(site) == [(JOE, "Junk", "INBOX", MoveState.DECIDED)]
    again = call(site, "own.not_spam", message=ident)
    assert again.undo.asked["ids"] == done.undo.asked["ids"]
    assert len(moves(site)) == 1
    (word,) = call(site, "own.said").words
    assert (word.what, word.here, word.taken_back, word.moved) == (
        EventKind.PARDON,
        True,
        False,
        "decided",
    )
    assert word.message == ident
    undone = undo(site, done.undo)
    assert undone.ids == (word.id,)
    assert moves(site)[0][3] is MoveState.UNDONE
    (word,) = call(site, "own.said").words
    assert word.taken_back
    assert not word.stands
    # said again: the same event stands again; what was moved back stays
    last = call(site, "own.not_spam", message=ident)
    assert last.copies[0].fate is CopyFate.STAYS
    (word,) = call(site, "own.said").words
    assert not word.taken_back
    assert len(moves(site)) == 1


def test_what_we_moved_to_junk_is_taken_back(tmp_path: Path) -> None:
    site = make_site(tmp_path, **MOVES)
    letter = entry_of(recipients=(JOE, DAN), verdict=Action.ACCEPT)
    fill(site, letter)
    move(site, letter, JOE, DAN, to="Junk")
    done = call(site, "own.not_spam", message=to_text(letter.id))
    assert done.copies[0].fate is CopyFate.MOVES
    assert moves(site)[0] == (JOE, "Junk", "INBOX", MoveState.DECIDED)
    assert [one[0] for one in moves(site)].count(DAN) == 1


def test_a_copy_that_is_no_longer_in_junk_or_can_t_be_moved_is_told(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    filed, door = entry_of(recipients=(JOE,)), entry_of(recipients=(JOE,))
    fill(site, filed, door, went=[CopyDelivery(id=door.id, recipient=JOE, spam=False, time=1.0)])
    told = call(site, "own.not_spam", message=to_text(filed.id))
    assert told.copies[0].fate is CopyFate.BY_HAND
    assert moves(site) == []
    told = call(site, "own.not_spam", message=to_text(door.id))
    assert told.copies[0].fate is CopyFate.INBOX


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": Action.REJECT}, "not taken in"),
        ({"findings": (Finding("virus"),)}, "harm your computer"),
        ({"decided_by": "BAD_SENDERS"}, "for everybody"),
    ],
)
def test_what_forbids_it_says_so_in_words(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    rules = '[[local_list]]\nname = "BAD_SENDERS"\naction = "deny"\nof = ["sender"]\nentries = ["x.example"]\n'
    site = make_site(tmp_path, rules, **MOVES)
    letter = entry_of(recipients=(JOE,), **changes)
    fill(site, letter)
    for dry in (True, False):
        with pytest.raises(CallError, match=words):
            call(site, "own.not_spam", message=to_text(letter.id), dry=dry)
    assert not (site.state / state_files.EVENTS).exists()


def test_nothing_of_others_is_seen_or_changed(tmp_path: Path) -> None:
    site = make_site(tmp_path, **MOVES)
    letter = entry_of(recipients=(JOE,))
    fill(site, letter)
    done = call(site, "own.not_spam", message=to_text(letter.id))
    allowed = call(site, "own.allow", what=ANN)
    for wrong in (to_text(letter.id), "nonsense", "\udcff", "9" * 99):
        with pytest.raises(NotFoundError):
            call(site, "own.not_spam", OTHER, message=wrong)
    for made in (done.undo, allowed.undo):
        with pytest.raises(NotFoundError):
            undo(site, made, OTHER)
    with pytest.raises(NotFoundError):
        call(site, "own.deny", what=ANN, address=DAN)
    with pytest.raises(NotFoundError):
        call(site, "own.strict", factors={DAN: 2.0})
    assert call(site, "own.said", OTHER).words == ()
    assert call(site, "own.lists", OTHER).entries == ()
    assert kept(site, DAN).entries == []
    # whole domains are an admin's, and no reader's own mail
    with pytest.raises(CallError, match="no mail address"):
        call(site, "own.lists", scoped(domains=("example.test",), role=Role.READER))


def test_lists_change_and_come_back_as_they_were(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    text = of_octets(
        EntryAction.DENY, b"\1" * 18, time=5.0, source=PersonalEntrySource.WORD, word=8
    )
    claimed = PersonalEntry(
        side=EntryAction.DENY, kind=PersonalEntryKind.CLAIMED, value=ANN, time=4.0,
        source=PersonalEntrySource.WORD, word=7,
    )  # fmt: skip
    contact = PersonalEntry(
        side=EntryAction.CONTACT, kind=PersonalEntryKind.ADDRESS, value=ANN, time=3.0,
        source=PersonalEntrySource.BOOK,
    )  # fmt: skip
    with PersonStore(site.state / state_files.PERSONS) as store:
        store.put(JOE, [text, claimed, contact], now=5.0)
    begun = kept(site)
    tried = call(site, "own.allow", what=" Ann@A.example ", dry=True)
    assert tried.addresses == (JOE,)
    assert tried.undo is None
    assert kept(site) == begun
    allowed = call(site, "own.allow", what=" Ann@A.example ")
    lists = call(site, "own.lists")
    assert [(one.side, one.what) for one in lists.entries] == [("allow", ANN), ("deny", text.value)]
    assert lists.contacts == 1
    assert call(site, "own.allow", what=ANN).undo is None  # it is so already
    denied = call(site, "own.deny", what=ANN)
    removed = call(site, "own.remove", what=text.value, kind="text")
    assert [one.what for one in call(site, "own.lists").entries] == [ANN]
    back = undo(site, removed.undo)
    undo(site, denied.undo)
    undo(site, allowed.undo)
    assert sorted(kept(site).entries, key=lambda one: one.time) == sorted(
        begun.entries, key=lambda one: one.time
    )
    undo(site, back.undo)  # and an undo is undone
    assert text not in kept(site).entries


def test_strictness_is_of_each_address(tmp_path: Path) -> None:
    site, mine = make_site(tmp_path), scoped(JOE, DAN, role=Role.READER)
    call(site, "own.strict", mine, factors={JOE: 0.5})
    done = call(site, "own.strict", mine, factor=2.0)
    assert call(site, "own.lists", mine).factors == {DAN: 2.0, JOE: 2.0}
    undo(site, done.undo, mine)
    assert call(site, "own.lists", mine).factors == {DAN: 1.0, JOE: 0.5}
    for wrong in ({}, {"factor": 1.0, "factors": {JOE: 1.0}}):
        with pytest.raises(CallError):
            call(site, "own.strict", mine, **wrong)
    with pytest.raises(msgspec.ValidationError):
        call(site, "own.strict", mine, factor=9.0)


@pytest.mark.parametrize("what", ["nobody", "a b@c", "x" * 399, "\0@a.example", "com", "*"])
def test_what_is_no_sender_is_refused(tmp_path: Path, what: str) -> None:
    site = make_site(tmp_path)
    with pytest.raises(CallError):
        call(site, "own.deny", what=what)
    with pytest.raises(NotFoundError):
        call(site, "own.remove", what=what)
    with pytest.raises(CallError, match="own address"):
        call(site, "own.deny", what=JOE)


@pytest.mark.parametrize(
    "entry",
    [
        {"side": "contact", "kind": "address", "value": ANN},
        {"side": "allow", "kind": "address", "value": "bob@a.example"},  # about something else
        {"side": "allow", "kind": "address", "value": ANN, "word": -1, "time": float("nan")},
    ],
)
def test_what_is_put_back_is_looked_at(tmp_path: Path, entry: dict[str, Any]) -> None:
    site = make_site(tmp_path)
    before = {"address": JOE, "things": [{"kind": "address", "value": ANN}], "entries": [entry]}
    if "word" not in entry:
        with pytest.raises(CallError):
            call(site, "own.restore", before=[before])
        return
    call(site, "own.restore", before=[before])
    (made,) = kept(site).entries
    assert made.word == 0
    assert made.time <= time.time()


def test_a_complaint_made_in_a_mail_program_is_taken_back_and_said_again(tmp_path: Path) -> None:

    site = make_site(tmp_path)
    letter = entry_of(recipients=(JOE,))
    fill(site, letter)
    say(site, letter, JOE, DAN)
    with EventLog(site.state / state_files.EVENTS) as log:
        log.decide([(1, EventDecision(counts=True, own=True, weight=0.5))], now=9.0)
    (word,) = call(site, "own.said").words
    assert word.stands
    assert not word.here
    with pytest.raises(NotFoundError):
        call(site, "own.take_back", ids=[2])
    done = call(site, "own.take_back", ids=[word.id])
    undo(site, done.undo)
    with EventLog(site.state / state_files.EVENTS) as log:
        event = log.get(1)
    assert event.counts
    assert event.own
    assert event.weight == 0.5
    assert event.rules != (TAKEN_BACK,)
