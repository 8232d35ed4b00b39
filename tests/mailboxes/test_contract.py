"""The three ways into mailboxes, held to one contract by a real Dovecot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import pytest

from oborona.recheck.mailboxes.model import (
    MOVED,
    MOVING,
    MailboxItem,
    MoveOutcome,
    MoveResult,
    SiteMailboxes,
)
from tests.peers.dovecot_mailboxes import MailboxDovecot, Reports, made

KINDS = ("doveadm", "imap", "maildir")
KEEP_KEYWORDS = ("doveadm", "imap")
ABSENT = "0ABCDEFGH9999"

Moves = Callable[..., SiteMailboxes]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def boxes(dovecot: MailboxDovecot, kind: str) -> AsyncIterator[SiteMailboxes]:
    opened = dovecot.opened(kind)
    yield opened
    await opened.close()


@pytest.fixture
async def bold(dovecot: MailboxDovecot, kind: str) -> AsyncIterator[SiteMailboxes]:
    """Mailboxes that move what was listed, too."""
    opened = dovecot.opened(kind, move_listed=True)
    yield opened
    await opened.close()


def outcomes(done: Sequence[MoveResult]) -> list[MoveOutcome]:
    return [one.outcome for one in done]


def where(dovecot: MailboxDovecot, user: str) -> dict[str, int]:
    """How many messages a user has, by folder."""
    with dovecot.client(user) as client:
        names = [name for kept, _, name in client.list_folders() if b"\\Noselect" not in kept]
        counts = {name: client.folder_status(name, "MESSAGES")[b"MESSAGES"] for name in names}
        return {name: number for name, number in counts.items() if number}


def flags(dovecot: MailboxDovecot, user: str, mailbox: str) -> list[set[str]]:
    """The flags of the messages of a folder, without anybody having listed it."""
    with dovecot.client(user) as client:
        client.select_folder(mailbox, readonly=True)
        found = client.get_flags(client.search("ALL"))
        return [{one.decode() for one in kept} for kept in found.values()]


def person(
    dovecot: MailboxDovecot, user: str, act: str, *, mailbox: str = "INBOX", to: str = "Archive"
) -> None:
    """Do with all messages of a folder what a mail program does for a person."""
    with dovecot.client(user) as client:
        client.select_folder(mailbox)
        uids = client.search("ALL")
        match act:
            case "lists":
                client.fetch(uids, ["ENVELOPE", "BODY.PEEK[TEXT]"])
            case "opens":
                client.fetch(uids, ["BODY[]"])
            case "moves":
                client.move(uids, to)
            case "expunges":
                client.delete_messages(uids)
                client.expunge()
            case _:
                client.add_flags(uids, [act])


async def test_what_nobody_has_listed_is_moved(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, kind: str, user: str
) -> None:
    letter = dovecot.deliver_letter(user)
    assert await boxes.look([letter], "INBOX") == [MoveResult(MoveOutcome.MOVED)]
    assert await boxes.move([letter], "INBOX", "Junk") == [MoveResult(MoveOutcome.MOVED)]
    assert dovecot.files(user) == []
    assert len(dovecot.files(user, "Junk")) == 1
    (kept,) = flags(dovecot, user, "Junk")
    assert kept & {MOVED, MOVING} == ({MOVED} if kind in KEEP_KEYWORDS else set())


async def test_looking_changes_nothing(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, user: str
) -> None:
    letters = [dovecot.deliver_letter(user) for _ in range(3)]
    before = dovecot.files(user)
    assert all(name.startswith("new/") for name in before)
    assert outcomes(await boxes.look(letters, "INBOX")) == [MoveOutcome.MOVED] * 3
    assert dovecot.files(user) == before
    assert all(kept == {"\\Recent"} for kept in flags(dovecot, user, "INBOX"))


async def test_other_messages_stay_unlisted_except_by_imap(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, kind: str, user: str
) -> None:
    other = dovecot.deliver_letter(user)
    letter = dovecot.deliver_letter(user)
    assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.MOVED]
    assert [kept == {"\\Recent"} for kept in flags(dovecot, user, "INBOX")] == [kind != "imap"]
    assert outcomes(await boxes.look([other], "INBOX")) == [
        MoveOutcome.LISTED if kind == "imap" else MoveOutcome.MOVED
    ]


async def test_a_move_given_twice_is_made_once(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, user: str
) -> None:
    letter = dovecot.deliver_letter(user)
    for _ in range(3):
        assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.MOVED]
    assert where(dovecot, user) == {"Junk": 1}
    assert outcomes(await boxes.look([letter], "INBOX")) == [
        MoveOutcome.MOVED
    ]  # and says that it was


TOUCHED = {
    "opens": MoveOutcome.SEEN,
    "\\Seen": MoveOutcome.SEEN,
    "\\Flagged": MoveOutcome.PERSON,
    "\\Answered": MoveOutcome.PERSON,
    "\\Deleted": MoveOutcome.PERSON,
    "$Forwarded": MoveOutcome.PERSON,
    "$NotJunk": MoveOutcome.PERSON,
    "lists": MoveOutcome.LISTED,
}


async def test_what_a_person_has_touched_stays(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, bold: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    users = [new_user() for _ in TOUCHED]
    letters = [dovecot.deliver_letter(user) for user in users]
    for user, act in zip(users, TOUCHED, strict=True):
        person(dovecot, user, act)
    before = [dovecot.files(user) for user in users]
    wanted = list(TOUCHED.values())
    assert outcomes(await boxes.look(letters, "INBOX")) == wanted
    assert outcomes(await boxes.move(letters, "INBOX", "Junk")) == wanted
    assert [dovecot.files(user) for user in users] == before
    wanted[-1] = MoveOutcome.MOVED
    assert outcomes(await bold.look(letters, "INBOX")) == wanted
    assert outcomes(await bold.move(letters, "INBOX", "Junk")) == wanted
    assert [dovecot.files(user) for user in users[:-1]] == before[:-1]
    assert where(dovecot, users[-1]) == {"Junk": 1}


async def test_what_a_person_has_taken_away_is_left_there(
    dovecot: MailboxDovecot, bold: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    folders = ("Archive", "Trash", "Junk", "")
    users = [new_user() for _ in folders]
    letters = [dovecot.deliver_letter(user) for user in users]
    for user, folder in zip(users, folders, strict=True):
        person(dovecot, user, "moves" if folder else "expunges", to=folder)
    wanted = [MoveOutcome.PERSON] * 3 + [MoveOutcome.GONE]
    assert outcomes(await bold.look(letters, "INBOX")) == wanted
    done = await bold.move(letters, "INBOX", "Junk")
    assert outcomes(done) == wanted
    assert all(folder in one.say for one, folder in zip(done, folders, strict=True))
    assert [where(dovecot, user) for user in users] == [
        {folder: 1} if folder else {} for folder in folders
    ]


async def test_what_a_person_brought_back_is_never_moved_again(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, bold: SiteMailboxes, user: str
) -> None:
    letter = dovecot.deliver_letter(user)
    await boxes.move([letter], "INBOX", "Junk")
    person(dovecot, user, "moves", mailbox="Junk", to="INBOX")
    for mailboxes in (boxes, bold):
        assert outcomes(await mailboxes.look([letter], "INBOX")) == [MoveOutcome.PERSON]
        assert outcomes(await mailboxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.PERSON]
    assert where(dovecot, user) == {"INBOX": 1}


async def test_a_move_of_ours_is_taken_back_and_stays_so(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    users = [new_user() for _ in range(3)]
    letters = [dovecot.deliver_letter(user) for user in users]
    await boxes.move(letters, "INBOX", "Junk")
    person(dovecot, users[1], "lists", mailbox="Junk")
    person(dovecot, users[2], "opens", mailbox="Junk")
    for _ in range(2):
        assert (
            outcomes(await boxes.move(letters, "Junk", "INBOX", force=True))
            == [MoveOutcome.MOVED] * 3
        )
    assert [where(dovecot, user) for user in users] == [{"INBOX": 1}] * 3
    assert outcomes(await boxes.move(letters, "INBOX", "Junk")) == [MoveOutcome.PERSON] * 3


async def test_only_moves_of_ours_are_taken_back(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    filed, put, taken = new_user(), new_user(), new_user()
    letters = [dovecot.deliver_letter(filed, headers=["X-Mras: Probable"])]
    letters += [dovecot.deliver_letter(put)]
    person(dovecot, put, "moves", to="Junk")
    letters += [dovecot.deliver_letter(taken)]
    await boxes.move(letters[-1:], "INBOX", "Junk")
    person(dovecot, taken, "moves", mailbox="Junk", to="Trash")
    done = await boxes.move(letters, "Junk", "INBOX", force=True)
    assert outcomes(done) == [MoveOutcome.PERSON] * 3
    assert [where(dovecot, user) for user in (filed, put, taken)] == [
        {"Junk": 1},
        {"Junk": 1},
        {"Trash": 1},
    ]


async def test_what_was_filed_wrongly_comes_back(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    users = [new_user(), new_user(), new_user()]
    letters = [dovecot.deliver_letter(user, headers=["X-Mras: Probable"]) for user in users[:2]]
    person(dovecot, users[1], "opens", mailbox="Junk")
    letters.append(dovecot.deliver_letter(users[2]))
    await boxes.move(letters[2:], "INBOX", "Junk")  # by us: what was decided then is not so now
    done = await boxes.move(letters, "Junk", "INBOX")
    assert outcomes(done) == [MoveOutcome.MOVED, MoveOutcome.SEEN, MoveOutcome.MOVED]
    assert [where(dovecot, user) for user in users] == [{"INBOX": 1}, {"Junk": 1}, {"INBOX": 1}]


async def test_each_copy_is_held_to_its_own_flags(
    dovecot: MailboxDovecot, bold: SiteMailboxes, user: str
) -> None:
    raw, letter = made(user)
    dovecot.deliver(raw, f"{user}@example.test")
    person(dovecot, user, "opens")
    dovecot.deliver(raw, f"{user}@example.test")
    (done,) = await bold.move([letter], "INBOX", "Junk")
    assert (done.outcome, done.say) == (MoveOutcome.MOVED, "another copy stays in INBOX")
    assert where(dovecot, user) == {"INBOX": 1, "Junk": 1}
    assert ["\\Seen" in kept for kept in flags(dovecot, user, "INBOX")] == [True]


async def test_two_copies_that_nobody_has_seen_go_together(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, user: str
) -> None:
    raw, letter = made(user)
    for _ in range(2):
        dovecot.deliver(raw, f"{user}@example.test")
    assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.MOVED]
    assert where(dovecot, user) == {"Junk": 2}


async def test_a_message_with_the_id_of_another_is_not_that(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    """An X-Mras-Id that somebody has copied moves nothing, as long as the Message-ID is known."""
    names = ("<{}>", "{}", "", "<>", "with a blank", "ärger@a.example", "x" * 2000)
    asked = []
    for name in names:
        raw, letter = made(new_user())
        forged = raw.replace(letter.message_id.encode(), b"other@b.example")
        for one in (raw, forged):
            dovecot.deliver(one, f"{letter.user}@example.test")
        asked.append(msgspec.structs.replace(letter, message_id=name.format(letter.message_id)))
    assert outcomes(await boxes.move(asked, "INBOX", "Junk")) == [MoveOutcome.MOVED] * len(names)
    for name, letter in zip(names, asked, strict=True):
        stays = [b"other@b.example" in raw for raw in dovecot.messages(letter.user)]
        assert stays == ([True] if "{}" in name else []), name
        assert len(dovecot.messages(letter.user, "Junk")) == 2 - len(stays)


async def test_answers_come_in_the_order_of_letters_whatever_they_are(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, new_user: Callable[[], str]
) -> None:
    users = [new_user() for _ in range(12)]
    letters = [dovecot.deliver_letter(user) for user in users for _ in range(2)]
    for user in users[::3]:
        person(dovecot, user, "opens")
    replaced = msgspec.structs.replace
    odd = {
        1: replaced(letters[1], user="*"),
        4: replaced(letters[4], user="us?r1"),
        8: replaced(letters[8], user=""),
        9: replaced(letters[9], user="../user1"),
        10: replaced(letters[10], ident=""),
        11: replaced(letters[11], ident="0"),
        14: replaced(letters[14], ident=ABSENT),
        15: replaced(letters[15], user="us\ner1"),
    }
    asked = [odd.get(place, letter) for place, letter in enumerate(letters)]
    wanted = []
    for place, letter in enumerate(asked):
        if place in odd:
            wanted.append(MoveOutcome.GONE if letter.ident == ABSENT else MoveOutcome.UNABLE)
        else:
            wanted.append(MoveOutcome.SEEN if letter.user in users[::3] else MoveOutcome.MOVED)
    assert outcomes(await boxes.look(asked, "INBOX")) == wanted
    assert outcomes(await boxes.move(asked, "INBOX", "Junk")) == wanted
    assert await boxes.move([], "INBOX", "Junk") == []
    assert sum(len(dovecot.files(user, "Junk")) for user in users) == wanted.count(
        MoveOutcome.MOVED
    )


async def test_a_folder_that_is_missing_is_made(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, kind: str, user: str
) -> None:
    letter = dovecot.deliver_letter(user)
    source = "INBOX"
    for folder in ("Спам и прочее", "Bulk/Suspect"):
        assert outcomes(await boxes.move([letter], source, folder, force=source != "INBOX")) == [
            MoveOutcome.MOVED
        ]
        assert where(dovecot, user) == {folder: 1}
        source = folder
    assert outcomes(await boxes.move([letter], source, "INBOX", force=True)) == [MoveOutcome.MOVED]
    assert where(dovecot, user) == {"INBOX": 1}
    with dovecot.client(user) as client:
        subscribed = [name for _, _, name in client.list_sub_folders()]
    assert ("Спам и прочее" in subscribed) == (kind != "maildir")


async def test_nothing_is_moved_from_a_folder_that_is_not_there(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, kind: str, user: str
) -> None:
    letter = dovecot.deliver_letter(user)
    for force in (False, True):
        (done,) = await boxes.move([letter], "Nowhere", "Junk", force=force)
        # it does not tell
        assert done.outcome is (MoveOutcome.PERSON if kind == "doveadm" else MoveOutcome.UNABLE)
    assert where(dovecot, user) == {"INBOX": 1}
    assert "Panic" not in dovecot.log()


async def test_what_stays_needs_no_folder_to_go_to(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, user: str
) -> None:
    letter = dovecot.deliver_letter(user)
    person(dovecot, user, "opens")
    assert outcomes(await boxes.move([letter], "INBOX", "Elsewhere")) == [MoveOutcome.SEEN]
    assert where(dovecot, user) == {"INBOX": 1}
    assert "Panic" not in dovecot.log()


async def test_from_a_folder_to_itself_is_no_move(boxes: SiteMailboxes) -> None:
    with pytest.raises(ValueError, match="no move"):
        await boxes.move([], "INBOX", "inbox")


async def test_after_closing_nothing_is_done(dovecot: MailboxDovecot, kind: str, user: str) -> None:
    letter = dovecot.deliver_letter(user)
    boxes = dovecot.opened(kind)
    await boxes.close()
    assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.BUSY]
    assert where(dovecot, user) == {"INBOX": 1}


@pytest.mark.parametrize("mailbox", ["INBOX", "Junk"])
async def test_a_move_that_was_cut_off_is_brought_to_its_end(
    dovecot: MailboxDovecot, new_user: Callable[[], str], mailbox: str
) -> None:
    for kind in KEEP_KEYWORDS:
        user = new_user()
        letter = dovecot.deliver_letter(user)
        boxes = dovecot.opened("doveadm")
        await boxes.move([letter], "INBOX", "Junk")
        await boxes.close()
        # as a process leaves it that was killed between two commands
        with dovecot.client(user) as client:
            client.select_folder("Junk")
            client.remove_flags(client.search("ALL"), [MOVED])
            client.add_flags(client.search("ALL"), [MOVING])
            if mailbox == "INBOX":
                client.move(client.search("ALL"), "INBOX")
        boxes = dovecot.opened(kind, move_listed=True)
        assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.MOVED]
        await boxes.close()
        (kept,) = flags(dovecot, user, "Junk")
        assert kept & {MOVED, MOVING} == {MOVED}
        assert where(dovecot, user) == {"Junk": 1}


async def test_a_mark_of_a_move_that_was_not_made_is_taken_off(
    dovecot: MailboxDovecot, new_user: Callable[[], str]
) -> None:
    for kind in KEEP_KEYWORDS:
        user = new_user()
        letter = dovecot.deliver_letter(user)
        person(dovecot, user, MOVING)
        person(dovecot, user, "opens")
        boxes = dovecot.opened(kind)
        assert outcomes(await boxes.move([letter], "INBOX", "Junk")) == [MoveOutcome.SEEN]
        await boxes.close()
        (kept,) = flags(dovecot, user, "INBOX")
        assert MOVING not in kept


async def test_our_moves_are_nobodys_word(
    dovecot: MailboxDovecot, boxes: SiteMailboxes, reports: Reports, new_user: Callable[[], str]
) -> None:
    """IMAPSieve tells of what people do, and of nothing that we do."""
    before = len(reports.said)
    letters = [dovecot.deliver_letter(new_user()) for _ in range(3)]
    await boxes.move(letters, "INBOX", "Junk")
    assert outcomes(await boxes.move(letters[:1], "Junk", "INBOX", force=True)) == [
        MoveOutcome.MOVED
    ]
    assert len(reports.said) == before
    person(dovecot, letters[1].user, "moves", mailbox="Junk", to="INBOX")
    person(dovecot, letters[0].user, "moves", to="Junk")
    said = reports.said[before:]
    assert len(said) == 2
    assert b"pardon" in said[0]
    assert b"complaint" in said[1]


def letter_of(user: str) -> MailboxItem:
    return made(user)[1]


async def test_a_user_who_is_not_there(dovecot: MailboxDovecot) -> None:
    for kind, outcome in (("doveadm", MoveOutcome.UNABLE), ("maildir", MoveOutcome.UNABLE)):
        boxes = dovecot.opened(kind)
        assert outcomes(await boxes.look([letter_of("nobody")], "INBOX")) == [outcome]
        assert outcomes(await boxes.move([letter_of("nobody")], "INBOX", "Junk")) == [outcome]
        await boxes.close()
        assert not dovecot.maildir("nobody").exists()
