"""The index finds what the journal has, and nothing else, whatever becomes of its files."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.errors import StoreBusy, StoreError
from oborona.ident import JournalIdGenerator, time_of_id
from oborona.journal.entry import JournalEntry
from oborona.journal.index import index as index_module
from oborona.journal.index import pieces as index_pieces
from oborona.journal.index import segment as index_segment
from oborona.journal.index.files import FEW, STRAY
from oborona.journal.index.index import FLUSH_S, JournalIndex
from oborona.journal.journal import JournalWriter
from oborona.journal.rows import pack
from oborona.message.hashing import ShingleType
from oborona.types import Action, Shingle
from tests.journal.entries import NOON, make_entry
from tests.journal.test_journal_late import late

HOUR_S = 3600.0
HOT = Shingle(ShingleType.TEMPLATE, 7)


def write(path: Path, entries: Sequence[JournalEntry]) -> None:
    async def go() -> None:
        async with await JournalWriter.open(path) as journal:
            for entry in entries:
                journal.append(entry)

    asyncio.run(go())


def messages(
    number: int, *, start: float = NOON, every_s: float = 1.0, own: int = 0, worker: int = 0
) -> list[JournalEntry]:
    """Return messages of one campaign, each with a link of its own."""
    numbers = JournalIdGenerator(worker)
    return [
        make_entry(
            id=numbers.next(start + every_s * place),
            time=start + every_s * place,
            verdict=Action.ACCEPT,
            shingles=(
                HOT,
                Shingle(ShingleType.URL, own + place),
                Shingle(ShingleType.LANGUAGE, 2**60),
            ),
        )
        for place in range(number)
    ]


def follow_all(index: JournalIndex, now: float) -> None:
    while index.follow(now) or index.busy:
        pass


def all_of(index: JournalIndex, *wanted: Shingle, since: float = 0.0, most: int = 7) -> list[int]:
    """Return all that is found, step by step."""
    found: list[int] = []
    while some := index.find(wanted, since=since, before=found[-1] if found else None, most=most):
        assert len(some) <= most
        found += some
    return found


def ids_of(entries: Sequence[JournalEntry]) -> list[int]:
    return sorted((one.id for one in entries), reverse=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path / "journal.db", [])
    return tmp_path


def opened(place: Path) -> JournalIndex:
    return JournalIndex(place / "index", place / "journal.db")


def test_it_finds_by_any_piece_newest_first_in_steps(place: Path) -> None:
    sent = messages(50)
    write(place / "journal.db", sent)
    with opened(place) as index:
        follow_all(index, NOON)
        assert all_of(index, HOT) == ids_of(sent)
        assert all_of(index, Shingle(ShingleType.URL, 3), Shingle(ShingleType.URL, 30)) == ids_of(
            [sent[3], sent[30]]
        )
        assert all_of(index, HOT, Shingle(ShingleType.URL, 3)) == ids_of(sent)  # each once
        assert all_of(index, HOT, since=NOON + 40) == ids_of(sent[40:])
        assert index.find([HOT], since=0, before=sent[10].id, most=3) == ids_of(sent[7:10])
        assert (
            all_of(index, Shingle(ShingleType.LANGUAGE, 2**60)) == []
        )  # says nothing about a campaign
        assert all_of(index) == index.find([HOT], since=NOON + 50, most=5) == []
        assert index.find([Shingle(ShingleType.URL, 2**64 - 1)], since=0, most=5) == []


def test_what_was_found_late_is_found_by_what_was_found(place: Path) -> None:
    [one] = messages(1)

    async def go() -> None:
        async with await JournalWriter.open(place / "journal.db") as journal:
            journal.append(one)
            await journal.flush()
            journal.append_late(late(one.id))

    with opened(place) as index:
        asyncio.run(go())
        follow_all(index, NOON)
        assert (
            all_of(index, Shingle(ShingleType.PICTURE_TEXT, 2**64 - 1))
            == [one.id]
            == all_of(index, HOT)
        )


def test_a_message_that_comes_with_an_older_id_is_found(place: Path) -> None:
    """Workers write batches: what one of them has known for a while comes after what another one
    has written.
    """
    early, later = messages(20, worker=1), messages(20, start=NOON + 60, own=100, worker=2)
    with opened(place) as index:
        write(place / "journal.db", later)
        follow_all(index, NOON)
        write(place / "journal.db", early)
        follow_all(index, NOON)
        assert all_of(index, HOT) == ids_of([*early, *later])


@pytest.mark.parametrize("flushed", [False, True])
def test_who_comes_next_goes_on_where_the_last_one_was(place: Path, flushed: bool) -> None:
    sent = messages(30)
    write(place / "journal.db", sent[:20])
    with opened(place) as index:
        follow_all(index, NOON)
        if flushed:
            index.follow(NOON + FLUSH_S)
    write(place / "journal.db", sent[20:])
    with opened(place) as index:
        assert all_of(index, HOT) == (ids_of(sent[:20]) if flushed else [])
        follow_all(index, NOON)
        assert all_of(index, HOT) == ids_of(sent)


def test_files_are_merged_and_nothing_is_lost_or_found_twice(place: Path) -> None:
    sent: list[JournalEntry] = []
    with opened(place) as index:
        for round_ in range(FEW + 1):
            more = messages(40, start=NOON + 40 * round_, own=1000 * round_)
            write(place / "journal.db", more)
            follow_all(index, NOON + round_ * FLUSH_S)
            index.follow(NOON + (round_ + 1) * FLUSH_S)
            sent += more
            assert all_of(index, HOT, most=33) == ids_of(sent)
        follow_all(index, NOON + 200)
        assert len(list((place / "index").glob("*.pieces"))) < FEW
        follow_all(index, NOON + 3 * HOUR_S)  # the hour is over
        assert len(list((place / "index").glob("*.pieces"))) < STRAY
        assert all_of(index, HOT, most=33) == ids_of(sent)
        assert all_of(index, Shingle(ShingleType.URL, 3012)) == [sent[132].id]
    with opened(place) as index:
        assert all_of(index, HOT, most=33) == ids_of(sent)


def test_hours_go_when_they_are_out_of_the_window_or_too_much(place: Path) -> None:
    sent = messages(48, start=NOON - NOON % HOUR_S, every_s=HOUR_S / 2)
    write(place / "journal.db", sent)
    now = sent[-1].time
    with JournalIndex(place / "index", place / "journal.db", max_bytes=16 * 2 * 2 * 10) as index:
        follow_all(index, NOON)
        index.follow(NOON + FLUSH_S)
        # ten hours of two messages of two pieces
        assert index.purge(NOON + 5 * HOUR_S, 50 * HOUR_S) == 14
        assert all_of(index, HOT) == ids_of(sent[-20:])
        newest = max(time_of_id(one.id) for one in sent)
        assert index.purge(newest, 4 * HOUR_S) == 5
        assert all_of(index, HOT) == ids_of(sent[-10:])
        assert index.purge(now, 50 * HOUR_S) == 0
    assert len(list((place / "index").glob("*.pieces"))) == 5


def damaged_list(folder: Path) -> None:
    (folder / "index.json").write_bytes(b'{"format":1,"place":3')


def another_format(folder: Path) -> None:
    (folder / "index.json").write_bytes(b'{"format":2,"place":3,"files":[]}')


def a_path_in_the_list(folder: Path) -> None:
    (folder / "index.json").write_bytes(b'{"format":1,"place":3,"files":["../journal.db"]}')


def cut_short(folder: Path) -> None:
    file = next(folder.glob("*.pieces"))
    file.write_bytes(file.read_bytes()[:-7])


def emptied(folder: Path) -> None:
    next(folder.glob("*.pieces")).write_bytes(b"")


def missing(folder: Path) -> None:
    next(folder.glob("*.pieces")).unlink()


def something_else(folder: Path) -> None:
    file = next(folder.glob("*.pieces"))
    file.write_bytes(bytes(len(file.read_bytes())))


DAMAGES = (
    damaged_list,
    another_format,
    a_path_in_the_list,
    cut_short,
    emptied,
    missing,
    something_else,
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew_from_the_journal(
    place: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    sent = messages(20)
    write(place / "journal.db", sent)
    with opened(place) as index:
        follow_all(index, NOON)
        index.follow(NOON + FLUSH_S)
    assert callable(damage)
    damage(place / "index")
    with opened(place) as index:
        follow_all(index, NOON)
        assert all_of(index, HOT) == ids_of(sent)
        assert index.rows == 40
    assert "built again" in caplog.text
    assert (place / "journal.db").exists()


def test_a_rotten_page_is_found_when_files_are_merged(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[JournalEntry] = []
    with opened(place) as index:
        for round_ in range(FEW - 1):
            sent += (more := messages(40, start=NOON + 40 * round_, own=1000 * round_))
            write(place / "journal.db", more)
            follow_all(index, NOON + round_ * FLUSH_S)
            index.follow(NOON + (round_ + 1) * FLUSH_S)
        file = next((place / "index").glob("*.pieces"))
        octets = bytearray(file.read_bytes())
        octets[500] ^= 0xFF
        file.write_bytes(octets)
        follow_all(index, NOON + 3 * HOUR_S)  # the hour is over: it is merged
        assert "sums differ" in caplog.text
        assert all_of(index, HOT) == ids_of(sent)


def test_another_journal_is_followed_from_its_beginning(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(place / "journal.db", messages(20))
    with opened(place) as index:
        follow_all(index, NOON)
        index.follow(NOON + FLUSH_S)
    (place / "journal.db").unlink()
    for part in ("journal.db-wal", "journal.db-shm"):
        (place / part).unlink(missing_ok=True)
    write(place / "journal.db", [])
    with closing(
        sqlite3.connect(place / "journal.db", isolation_level=None)
    ) as db:  # begun when the clock was behind
        db.execute("UPDATE sqlite_sequence SET seq = 5 WHERE name = 'arrival'")
    other = messages(3, own=500)
    write(place / "journal.db", other)
    with opened(place) as index:
        follow_all(index, NOON)
        assert all_of(index, HOT) == ids_of(other)
    assert "not the journal that it has followed" in caplog.text


def test_one_process_has_it(place: Path) -> None:
    with opened(place), pytest.raises(StoreBusy):
        opened(place)
    opened(place).close()


def test_a_journal_that_cannot_be_read_is_told_and_followed_later(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        with pytest.raises(StoreError, match="there is no journal"):
            index.follow(NOON)
        sent = messages(3)
        write(tmp_path / "journal.db", sent)
        follow_all(index, NOON)
        assert all_of(index, HOT) == ids_of(sent)


def test_a_full_disk_loses_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = messages(20)
    write(place / "journal.db", sent[:10])
    with opened(place) as index:
        follow_all(index, NOON)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("oborona.atomic_file.os.fsync", full)
            write(place / "journal.db", sent[10:])
            for _ in range(3):
                with pytest.raises(StoreError, match="No space left"):
                    index.follow(NOON + FLUSH_S)
            assert all_of(index, HOT) == ids_of(sent[:10])
            assert not [one for one in (place / "index").iterdir() if one.name != "lock"]
        follow_all(index, NOON + FLUSH_S)
        assert all_of(index, HOT) == ids_of(sent)


SHINGLES = st.lists(
    st.builds(
        Shingle,
        st.sampled_from([int(one) for one in ShingleType]),
        st.integers(0, 2**64 - 1) | st.integers(0, 3),
    ),
    max_size=60,
)


@given(st.lists(SHINGLES, max_size=8))
def test_what_is_kept_is_what_is_asked_for(many: list[list[Shingle]]) -> None:
    """A message's rows are exactly its carried shingles, whatever it stands between."""
    stored = [pack(make_entry(shingles=tuple(one))).evidence[4] for one in many]
    hashes, ids = index_pieces.rows(
        range(len(many)), [one for one in stored if isinstance(one, bytes)]
    )
    found = sorted(zip(ids.tolist(), hashes.tolist(), strict=True))
    assert found == sorted(
        (place, one.hash)
        for place, pieces in enumerate(many)
        for one in index_pieces.indexed_pieces(pieces)
    )


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_damaged_shingles_are_none(stored: list[bytes]) -> None:
    good = Shingle(ShingleType.URL, 5)
    hashes, ids = index_pieces.rows(
        range(len(stored) + 1), [*stored, bytes([good.type]) + good.hash.to_bytes(8, "little")]
    )
    assert (ids[-1], hashes[-1]) == (len(stored), 5)


def test_what_is_kept_of_a_fingerprint_finds_nine_of_ten_of_the_most_changed_copies() -> None:
    """Copies share a quarter of 32 values: of the values that are kept one at least."""
    draw, kept = random.Random(1), index_pieces.MOST[ShingleType.WORDS]
    shared = sum(any(one < kept for one in draw.sample(range(32), 8)) for _ in range(5000))
    assert 0.9 < shared / 5000 < 0.95


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(st.integers(0, 5), max_size=30)),
        st.tuples(st.just("follow"), st.integers(1, 7)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("killed"), st.just(0)),
        st.tuples(st.just("hour"), st.just(0)),
    ),
    max_size=25,
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(STEPS)
def test_whatever_happens_it_finds_what_was_written_once_it_has_followed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]]
) -> None:
    """Written, followed in steps, flushed, merged, killed in any order: at the end it finds exactly
    what is in the journal.
    """
    place = tmp_path_factory.mktemp("index")
    write(place / "journal.db", [])
    numbers, now, sent = JournalIdGenerator(), NOON, list[tuple[int, frozenset[int]]]()
    index = opened(place)
    try:
        for what, much in steps:
            if what == "write":
                assert isinstance(much, list)
                idents = [numbers.next(now) for _ in much]
                random.Random(len(sent)).shuffle(idents)
                sent += [
                    (one, frozenset({1, 10 + piece}))
                    for one, piece in zip(idents, much, strict=True)
                ]
                write(
                    place / "journal.db",
                    [
                        make_entry(
                            id=one,
                            verdict=Action.ACCEPT,
                            shingles=(Shingle(1, 1), Shingle(50, 10 + piece)),
                        )
                        for one, piece in zip(idents, much, strict=True)
                    ],
                )
            elif what == "follow":
                assert isinstance(much, int)
                index.follow(now, most=much)
            elif what == "flush":
                now += FLUSH_S
                index.follow(now, most=1)
            elif what == "hour":
                now += HOUR_S
            else:  # killed: nothing is closed but what the kernel closes
                index._lock.release()
                index = opened(place)
        follow_all(index, now)
        for piece in (1, *range(10, 16)):
            wanted = sorted((one for one, pieces in sent if piece in pieces), reverse=True)
            assert all_of(index, Shingle(1, piece), most=5) == wanted
    finally:
        index.close()


def test_a_merge_in_slices_is_the_sorted_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_segment, "SLICE_ROWS", 50)
    draw = np.random.default_rng(1)
    parts = []
    for number in range(3):
        hashes = draw.integers(0, 2**64, 400, dtype=np.uint64)
        hashes[:100] = 7  # hot
        ids = draw.integers(0, 2**63, 400, dtype=np.uint64)
        parts.append(index_segment.write(tmp_path / f"{number}", 3, hashes, ids))
    *_, merged = index_segment.merge(tmp_path / "merged", parts)
    assert merged is not None
    merged.check()
    rows = list(zip(merged.hashes.tolist(), merged.ids.tolist(), strict=True))
    assert rows == sorted(
        row for one in parts for row in zip(one.hashes.tolist(), one.ids.tolist(), strict=True)
    )
    given_up = index_segment.merge(tmp_path / "given-up", parts)
    for _ in range(5):
        next(given_up)
    given_up.close()  # type: ignore[attr-defined]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["0", "1", "2", "merged"]


def test_hours_are_those_of_ids() -> None:
    number = JournalIdGenerator().next(NOON)
    hour = index_module._hour_of(number)
    assert hour == int(NOON // 3600)
    assert index_module._first_of(hour) <= number < index_module._first_of(hour + 1)
