"""Readers, locks and restarts while messages are moved: each message is in one place after it, and
where its answer says.
"""

from __future__ import annotations

import asyncio
import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from imapclient.exceptions import IMAPClientError

from oborona.recheck.mailboxes.imap_session import ImapCopy, ImapSession
from oborona.recheck.mailboxes.maildir_folder import MaildirFile, MaildirFolder
from oborona.recheck.mailboxes.model import MOVED, MOVING, MailboxItem, MoveOutcome
from tests.mailboxes.test_contract import KEEP_KEYWORDS, KINDS, flags, outcomes, person, where
from tests.peers.dovecot import READY_S
from tests.peers.dovecot_mailboxes import MailboxDovecot

DEADLINE_S = 1.0  # of calls that shall run into it


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something in another thread, and wait for its end."""
    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield
    finally:
        thread.join(READY_S)
        assert not thread.is_alive()


@contextmanager
def locked(index: Path) -> Iterator[None]:
    """Hold the lock of an index's log, as a process of Dovecot does that is busy with the
    mailbox.
    """
    with (index / "dovecot.index.log").open("rb+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def fate(dovecot: MailboxDovecot, letter: MailboxItem) -> list[str]:
    """The folders that a letter is in."""
    folders = ("INBOX", "Junk", "Archive")
    name = letter.message_id.encode()
    return [one for one in folders for raw in dovecot.messages(letter.user, one) if name in raw]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_reader_at_work_while_messages_go(
    dovecot: MailboxDovecot, kind: str, new_user: Callable[[], str]
) -> None:
    """Ten readers list, open, flag, file and expunge.

    Whatever comes first, no message is lost or doubled.
    """
    acts = ["opens", "lists", "\\Flagged", "moves", "expunges"] * 2
    letters = [
        [dovecot.deliver_letter(user) for _ in range(3)] for user in [new_user() for _ in acts]
    ]

    def read() -> None:
        for act, mine in zip(acts, letters, strict=True):
            with suppress(IMAPClientError):  # what is listed may be gone a moment later
                person(dovecot, mine[0].user, act)

    boxes = dovecot.opened(kind, move_listed=True, deadline_s=READY_S)
    flat = [letter for mine in letters for letter in mine]
    with meanwhile(read):
        done = await boxes.move(flat, "INBOX", "Junk")
    await boxes.close()
    for place, (letter, one) in enumerate(zip(flat, done, strict=True)):
        act, is_in = acts[place // 3], fate(dovecot, letter)
        match one.outcome:
            case MoveOutcome.MOVED:
                assert is_in == ["Junk"]
            case MoveOutcome.SEEN:
                assert act == "opens"
                assert is_in == ["INBOX"]
            case MoveOutcome.PERSON:
                # who was about to expunge it may have done so by now
                wanted = {"moves": [["Archive"]], "expunges": [[], ["INBOX"]]}.get(act, [["INBOX"]])
                assert is_in in wanted
            case MoveOutcome.GONE:
                assert act == "expunges"
                assert is_in == []
            case _:
                pytest.fail(f"{act}: {one}")


async def test_opened_between_the_look_and_the_move_by_imap(
    dovecot: MailboxDovecot, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = dovecot.deliver_letter(user)
    mark = ImapSession.mark

    def late(self: ImapSession, copies: list[ImapCopy], folder: str) -> list[ImapCopy]:
        with meanwhile(lambda: person(dovecot, user, "opens")):
            pass
        return mark(self, copies, folder)

    monkeypatch.setattr(ImapSession, "mark", late)
    boxes = dovecot.opened("imap", move_listed=True)
    assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.SEEN]
    await boxes.close()
    assert where(dovecot, user) == {"INBOX": 1}
    assert flags(dovecot, user, "INBOX")[0] & {MOVED, MOVING} == set()


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        ("lists", MoveOutcome.LISTED),
        ("opens", MoveOutcome.SEEN),
        ("expunges", MoveOutcome.GONE),
        ("moves", MoveOutcome.PERSON),
    ],
)
async def test_touched_between_the_look_and_the_rename(
    dovecot: MailboxDovecot,
    user: str,
    monkeypatch: pytest.MonkeyPatch,
    act: str,
    outcome: MoveOutcome,
) -> None:
    letter = dovecot.deliver_letter(user)
    take = MaildirFolder.take

    def late(self: MaildirFolder, file: MaildirFile, other: MaildirFolder) -> bool:
        person(dovecot, user, act)
        return take(self, file, other)

    monkeypatch.setattr(MaildirFolder, "take", late)
    boxes = dovecot.opened("maildir")
    assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [outcome]
    await boxes.close()
    assert len(dovecot.files(user, "Junk")) == 0


async def test_a_mailbox_that_is_locked_is_busy_and_holds_up_nobody_else(
    dovecot: MailboxDovecot, new_user: Callable[[], str]
) -> None:
    for kind in KEEP_KEYWORDS:
        held, free = new_user(), new_user()
        letters = [dovecot.deliver_letter(user) for user in (held, free)]
        boxes = dovecot.opened(kind, deadline_s=DEADLINE_S)
        await boxes.look(letters, "INBOX")  # makes the index
        with locked(dovecot.maildir(held)):
            done = await boxes.move(letters, "INBOX", "Junk")
            assert outcomes(done) == [MoveOutcome.BUSY, MoveOutcome.MOVED], kind
        await boxes.close()
        boxes = dovecot.opened(kind, deadline_s=READY_S)
        assert outcomes(await boxes.move(letters, "INBOX", "Junk")) == [MoveOutcome.MOVED] * 2, kind
        await boxes.close()
        assert where(dovecot, held) == where(dovecot, free) == {"Junk": 1}, kind


async def test_who_is_killed_between_leaves_nothing_undone_or_done_twice(
    dovecot: MailboxDovecot, new_user: Callable[[], str]
) -> None:
    for kind in KINDS:
        letters = [dovecot.deliver_letter(new_user()) for _ in range(12)]
        boxes = dovecot.opened(kind)
        moving = asyncio.create_task(boxes.move(letters, "INBOX", "Junk"))
        await asyncio.sleep(0.03)
        moving.cancel()
        with suppress(asyncio.CancelledError):
            await moving
        await boxes.close()
        boxes = dovecot.opened(kind, move_listed=True, deadline_s=READY_S)
        assert outcomes(await boxes.move(letters, "INBOX", "Junk")) == [MoveOutcome.MOVED] * 12, (
            kind
        )
        await boxes.close()
        assert [fate(dovecot, letter) for letter in letters] == [["Junk"]] * 12, kind


async def test_dovecot_is_restarted_in_the_middle() -> None:
    users = {kind: [f"{kind}{number}" for number in range(8)] for kind in KEEP_KEYWORDS}
    with MailboxDovecot([user for some in users.values() for user in some]) as dovecot:
        letters = {
            kind: [dovecot.deliver_letter(user) for user in some] for kind, some in users.items()
        }
        boxes = {
            kind: dovecot.opened(kind, move_listed=True, deadline_s=READY_S)
            for kind in KEEP_KEYWORDS
        }
        moving = [
            asyncio.create_task(boxes[kind].move(letters[kind], "INBOX", "Junk")) for kind in boxes
        ]
        await asyncio.sleep(0.1)
        await asyncio.to_thread(dovecot.restart)
        for kind, task in zip(boxes, moving, strict=True):
            done = await task
            assert {one.outcome for one in done} <= {MoveOutcome.MOVED, MoveOutcome.BUSY}, kind
            for letter, one in zip(letters[kind], done, strict=True):
                if one.outcome is MoveOutcome.MOVED:
                    assert fate(dovecot, letter) == ["Junk"], kind
            again = await boxes[kind].move(letters[kind], "INBOX", "Junk")
            await boxes[kind].close()
            assert outcomes(again) == [MoveOutcome.MOVED] * 8, kind
            assert [fate(dovecot, letter) for letter in letters[kind]] == [["Junk"]] * 8, kind
            for kept in flags(dovecot, users[kind][0], "Junk") + flags(
                dovecot, users[kind][-1], "Junk"
            ):
                assert kept & {MOVED, MOVING} == {MOVED}
