"""What one person hands in never fills the disk, and nobody else's is cut for it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.events.model import MOST_RAW, EventChannel, EventKind, FeedbackEvent
from oborona.feedback.events.quota import HOUR_BYTES, LEAST_BYTES, PERSONS, TRAPS_BYTES, Quota

LARGE = FeedbackEvent(
    what=EventKind.COMPLAINT,
    way=EventChannel.SIEVE,
    time=0.0,
    person="joe@a.example",
    raw=b"x" * MOST_RAW,
)
SMALL = msgspec.structs.replace(LARGE, raw=b"x" * 4000)
ROOM = HOUR_BYTES // MOST_RAW


def test_of_a_flood_the_beginnings_are_kept() -> None:
    rations = Quota()
    kept = [len(rations.cut(LARGE, 0.0).raw) for _ in range(ROOM + 100)]
    assert kept == [MOST_RAW] * ROOM + [LEAST_BYTES] * 100
    assert rations.cut(SMALL, 0.0) is SMALL
    eve = msgspec.structs.replace(LARGE, person="eve@a.example")
    trap = msgspec.structs.replace(LARGE, person="", what=EventKind.TRAP)
    assert rations.cut(eve, 0.0) is eve
    assert rations.cut(trap, 0.0) is trap


def test_a_message_of_the_journal_is_not_cut_in_two() -> None:
    """Half a text is another one than the journal knows: it would be taken for a forgery."""
    rations = Quota()
    for _ in range(ROOM):
        rations.cut(LARGE, 0.0)
    named = rations.cut(msgspec.structs.replace(LARGE, ident=7), 0.0)
    assert (named.ident, named.raw) == (7, b"")


def test_who_knows_a_trap_does_not_fill_the_disk() -> None:
    rations = Quota()
    trap = msgspec.structs.replace(LARGE, person="", what=EventKind.TRAP)
    kept = [len(rations.cut(trap, 0.0).raw) for _ in range(TRAPS_BYTES // MOST_RAW + 10)]
    assert kept[-11:] == [MOST_RAW] + [LEAST_BYTES] * 10
    assert rations.cut(LARGE, 0.0) is LARGE


def test_room_comes_back_with_time() -> None:
    rations = Quota()
    for _ in range(ROOM + 1):
        rations.cut(LARGE, 0.0)
    assert rations.cut(LARGE, 10.0) is not LARGE
    assert rations.cut(LARGE, 3600.0 / ROOM + 1) is LARGE
    assert rations.cut(LARGE, 3600.0 / ROOM + 1) is not LARGE


def test_two_hundred_messages_of_everyday_mail_are_kept_whole() -> None:
    rations = Quota()
    usual = msgspec.structs.replace(LARGE, raw=b"x" * 60_000)
    assert all(rations.cut(usual, 0.0) is usual for _ in range(200))


def test_many_persons_are_not_all_remembered() -> None:
    rations = Quota()
    for number in range(PERSONS + 10):
        rations.cut(msgspec.structs.replace(LARGE, person=f"{number}@a.example"), 0.0)
    assert len(rations._left) == PERSONS


@given(st.lists(st.tuples(st.integers(0, 2_000_000), st.floats(0, 600)), max_size=300))
def test_within_an_hour_no_more_is_kept_than_is_promised(steps: list[tuple[int, float]]) -> None:
    """Invariant: of the messages of any hour at most twice the room, and the beginning of each."""
    rations = Quota()
    raw = b"x" * 2_000_000
    now, kept = 0.0, []
    for size, wait in steps:
        now += wait
        cut = rations.cut(msgspec.structs.replace(LARGE, raw=raw[:size]), now)
        kept.append((now, min(len(cut.raw), MOST_RAW)))
    for start, _ in kept:
        within = [size for when, size in kept if start <= when <= start + 3600]
        assert sum(size for size in within if size > LEAST_BYTES) <= 2 * HOUR_BYTES + 1
