"""What follows from what was found: no mailbox, no clock."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.recheck.mailboxes.located_copy import (
    HANDLED,
    LocatedCopy,
    MoveGuard,
    carries,
    expected_result,
    move_result,
    reason_unsearchable,
    result_elsewhere,
    same_folder,
    searchable_id,
)
from oborona.recheck.mailboxes.model import MOVED, MOVING, MailboxItem, MoveOutcome, MoveResult

LETTER = MailboxItem(user="joe", ident="0ABCDEFGH0000", message_id="1@a.example", delivered=0.0)
WORDS = ["\\Seen", "\\Recent", MOVED, MOVING, "$label1", *HANDLED]
FOUND = st.builds(
    LocatedCopy.of,
    st.sampled_from(["INBOX", "Junk"]),
    st.frozensets(st.sampled_from(WORDS), max_size=5),
)


@given(st.lists(FOUND, max_size=4), st.booleans(), st.booleans())
def test_what_was_opened_is_never_said_to_go(
    found: list[LocatedCopy], listed: bool, force: bool
) -> None:
    """Whatever is found: a copy goes only if nobody has opened it, or it was moved by us and is
    taken back.
    """
    guard = MoveGuard(move_listed=listed)
    for one in found:
        if one.stays(guard, force=force) is not None:
            continue
        if force:
            assert one.has(MOVED)
            continue
        assert not one.has("\\Seen")
        assert not any(one.has(flag) for flag in HANDLED)
        assert listed or one.has("\\Recent") or one.has(MOVED)
        assert not (one.has(MOVED) and one.mailbox == "INBOX")


@given(st.lists(FOUND, max_size=4), st.booleans(), st.booleans())
def test_moved_is_told_only_of_what_is_in_the_target_with_our_keyword(
    found: list[LocatedCopy], listed: bool, force: bool
) -> None:
    done = move_result(found, "INBOX", "Junk", MoveGuard(move_listed=listed), force=force)
    there = any(one.mailbox == "Junk" and one.has(MOVED) for one in found)
    assert (done is not None and done.outcome is MoveOutcome.MOVED) == there
    assert (done is None) == (not found)


@given(st.lists(FOUND, max_size=4), st.booleans())
def test_a_look_tells_what_a_move_would_do(found: list[LocatedCopy], listed: bool) -> None:
    guard = MoveGuard(move_listed=listed)
    here = [one for one in found if one.mailbox == "INBOX"]
    done = expected_result(here, guard)
    goes = any(one.stays(guard, force=False) is None for one in here)
    assert (done is not None and done.outcome is MoveOutcome.MOVED) == goes
    assert (done is None) == (not here)


def test_flags_are_known_in_any_case() -> None:
    guard = MoveGuard(move_listed=True)
    assert expected_result([LocatedCopy.of("INBOX", ["\\SEEN"])], guard) == MoveResult(
        MoveOutcome.SEEN
    )
    assert expected_result([LocatedCopy.of("INBOX", ["$forwarded"])], guard) == MoveResult(
        MoveOutcome.PERSON, "marked $Forwarded"
    )


def test_the_folder_that_counts_as_brought_back_to_is_the_inbox_of_the_site() -> None:
    moved = LocatedCopy.of("Input", [MOVED, "\\Recent"])
    assert expected_result([moved], MoveGuard(move_listed=False, inbox="Input")) == MoveResult(
        MoveOutcome.PERSON, "brought back after we had moved it"
    )
    assert expected_result([moved], MoveGuard(move_listed=False)) == MoveResult(MoveOutcome.MOVED)


def test_elsewhere() -> None:
    assert result_elsewhere([], looked=True) == MoveResult(MoveOutcome.GONE)
    assert result_elsewhere([LocatedCopy.of("Friends", [])], looked=True) == MoveResult(
        MoveOutcome.PERSON, "in Friends"
    )
    assert (
        result_elsewhere([LocatedCopy.of("Junk", [MOVED])], looked=True).outcome
        is MoveOutcome.MOVED
    )
    assert result_elsewhere([LocatedCopy.of("Friends", [MOVED])], looked=False) == MoveResult(
        MoveOutcome.PERSON, "in Friends"
    )


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("INBOX", "inbox", True),
        ("Junk", "junk", False),
        ("Junk", "Junk", True),
        ("INBOX", "Junk", False),
    ],
)
def test_same(one: str, other: str, equal: bool) -> None:
    assert same_folder(one, other) is equal


@given(st.text(max_size=30), st.text(max_size=20))
def test_who_could_be_many_or_is_no_name_is_not_asked_for(user: str, ident: str) -> None:
    letter = msgspec.structs.replace(LETTER, user=user, ident=ident)
    if reason_unsearchable(letter) is None:
        assert len(ident) == 13
        assert user
        assert user.isprintable()
        assert not set(user) & set(' *?"\\/%')
    assert reason_unsearchable(LETTER) is None


@pytest.mark.parametrize(
    "user", ["", "*", "u?", 'a"b', "a/b", "a\\b", "a b", "a\nb", "a\0b", "%u", "x" * 321]
)
def test_names_that_are_none(user: str) -> None:
    done = reason_unsearchable(msgspec.structs.replace(LETTER, user=user))
    assert done is not None
    assert done.outcome is MoveOutcome.UNABLE


@given(st.text(max_size=600))
def test_a_message_id_that_is_asked_for_is_plain(name: str) -> None:
    asked = searchable_id(msgspec.structs.replace(LETTER, message_id=name))
    assert asked == "" or (
        asked.isascii() and asked.isprintable() and " " not in asked and len(asked) <= 500
    )


@pytest.mark.parametrize(
    ("mras_id", "message_id", "is_it"),
    [
        ("0ABCDEFGH0000.AAAA", "<1@a.example>", True),
        (" 0abcdefgh0000.aaaa ", "<1@a.example>", True),
        ("0ABCDEFGH0000", "<1@a.example>", True),
        ("0ABCDEFGH0000.AAAA", "<2@a.example>", False),
        ("0ABCDEFGH0000.AAAA", "", False),
        ("0ABCDEFGH0001.AAAA", "<1@a.example>", False),
        ("", "<1@a.example>", False),
        ("x 0ABCDEFGH0000", "<1@a.example>", False),
    ],
)
def test_a_message_is_the_letter_by_both_of_its_names(
    mras_id: str, message_id: str, is_it: bool
) -> None:
    assert carries(LETTER, mras_id, message_id) is is_it
    if mras_id.strip().upper().startswith(LETTER.ident):
        assert carries(msgspec.structs.replace(LETTER, message_id=""), mras_id, message_id)
