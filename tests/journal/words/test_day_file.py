"""A day's search file answers by its slices what its messages' bits say, however its parts are
joined, whatever came late; searches that share files get each the one of its name.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oborona.errors import StoreError
from oborona.journal.words.day_chunks import PART, PARTS
from oborona.journal.words.day_file import SearchDay
from oborona.journal.words.day_files import DayFiles
from oborona.journal.words.days import day_of, day_path, first_of, remove_day
from oborona.journal.words.slices import COMMON, SLICES, AskedWay
from tests.journal.entries import make_entry

DAY = day_of(make_entry().id)
FIRST = first_of(DAY)
ASKED = ((AskedWay(slices=(3, 7)), AskedWay(slices=(11,))), (AskedWay(slices=(5,)),))
ALIKE = bytes(COMMON // 8)


class Filled:
    """A file with made-up messages, and what is in it.

    Args:
        folder: of the file.
        sizes: of its parts.
    """

    def __init__(self, folder: Path, sizes: list[int]) -> None:
        self.path = day_path(folder, DAY)
        self.drawn = random.Random(3)
        self.having = set[int]()  # ids that ASKED finds
        self.ids = list[int]()
        self.add(sizes)

    def add(self, sizes: list[int]) -> None:
        with closing(SearchDay(self.path, "b", write=True)) as file:
            for size in sizes:
                file.add(*self._part(size), ALIKE)

    def _part(self, size: int) -> tuple[list[int], list[bytes]]:
        start = self.ids[-1] if self.ids else FIRST
        ids = [start + 10 * (place + 1) for place in range(size)]
        slices = [0] * SLICES
        for place in (3, 5, 7, 11):
            slices[place] = sum(1 << bit for bit in self.drawn.sample(range(size), size // 5))
        found = (slices[3] & slices[7] | slices[11]) & slices[5]
        self.having |= {one for place, one in enumerate(ids) if found >> place & 1}
        self.ids += ids
        return ids, [one.to_bytes(-(-size // 8), "little") for one in slices]

    def answered(self, after: int = 0, last: int = 1 << 62, ids: tuple[int, ...] = ()) -> list[int]:
        with closing(SearchDay(self.path, "b")) as file:
            return read(file, after, last, ids)


def read(file: SearchDay, after: int, last: int, ids: tuple[int, ...] = ()) -> list[int]:
    """Return the messages that may answer, in the order in which they come."""
    found, below = list[int](), min(last, file.last)
    with closing(file.answers(ASKED, after, below, ids)) as answers:
        for one in answers:
            assert one.after <= below
            assert not one.last, "none are so dense"
            assert all(number > one.after for number in one.ids)
            found += one.ids
            below = min(below, one.after)
    return [number for number in found if after < number <= last]


@pytest.mark.parametrize(
    "sizes",
    [
        [5],
        [PART],
        [PART] * 3 + [17],
        [PART] * PARTS,
        [PART] * (2 * PARTS + 3) + [PART - 1],
        [17, PART, PART, 3],  # a day that was over, and went on
    ],
)
def test_messages_are_answered_in_order(tmp_path: Path, sizes: list[int]) -> None:
    filled = Filled(tmp_path, sizes)
    having = sorted(filled.having, reverse=True)
    assert filled.answered() == having
    middle = filled.ids[len(filled.ids) // 2]
    assert filled.answered(after=middle) == [one for one in having if one > middle]
    assert filled.answered(last=middle) == [one for one in having if one <= middle]
    with closing(SearchDay(filled.path, "b", write=True)) as file:
        assert file.last == filled.ids[-1]
        assert sum(part.rows for part in file.parts()) == len(filled.ids)
        file.finish()
    assert filled.answered() == having
    with closing(SearchDay(filled.path, "b", write=True)) as file:
        file.reopen()
    filled.add([40])
    assert filled.answered() == sorted(filled.having, reverse=True)


def test_parts_are_joined(tmp_path: Path) -> None:
    path = Filled(tmp_path, [PART] * (PARTS + 2)).path
    with closing(SearchDay(path, "b", write=True)) as file:
        chunks = file._db.execute("SELECT parts FROM chunk ORDER BY number").fetchall()
        assert chunks == [(PARTS,), (1,), (1,)]
        file.finish()
        chunks = file._db.execute("SELECT parts FROM chunk ORDER BY number").fetchall()
        assert chunks == [(PARTS + 2,)]
        assert file._db.execute("SELECT count(*) FROM slices").fetchone() == (SLICES,)


def test_what_came_late_and_what_is_named_is_answered_once(tmp_path: Path) -> None:
    filled = Filled(tmp_path, [PART, PART, 9])
    late = [filled.ids[3] + 1, filled.ids[PART + 7] - 1]
    with closing(SearchDay(filled.path, "b", write=True)) as file:
        for part in file.parts():
            ids = [one for one in (*filled.ids, *late) if part.after < one <= part.last]
            file.note_late(part, ids)
        assert [part.rows for part in file.parts()] == [PART + 1, PART + 1, 9]
    one = min(filled.having)
    expected = sorted({*filled.having, *late}, reverse=True)
    assert filled.answered(ids=(one, late[0], filled.ids[-1] + 500)) == expected
    lacking = next(one for one in filled.ids if one not in filled.having)
    assert filled.answered(ids=(lacking,)) == sorted({*expected, lacking}, reverse=True)


def test_where_many_may_answer_all_are_read(tmp_path: Path) -> None:
    path = day_path(tmp_path, DAY)
    ids = [FIRST + 10 * place for place in range(1, PART + 1)]
    slices = [b"\xff" * (PART // 8)] * SLICES
    with closing(SearchDay(path, "b", write=True)) as file:
        file.add(ids, slices, ALIKE)
        late = ids[-1] + 5
        file.add([ids[-1] + 10 * place for place in range(1, PART + 1)], slices, ALIKE)
        file.note_late(file.parts()[1], [late])
        with closing(file.answers(ASKED, 0, file.last)) as answers:
            found = [(one.after, one.last, list(one.ids)) for one in answers]
    second = ids[-1] + 10
    assert found == [
        (second + 10 * (PART - 1), 0, []),
        (second - 1, second + 10 * (PART - 1), []),
        (ids[-1], 0, [late]),
        (ids[-1], 0, []),
        (ids[0] - 1, ids[-1], []),
        (FIRST - 1, 0, []),
    ]


@pytest.fixture
def files() -> Iterator[DayFiles]:
    """Return what keeps two files open."""
    files = DayFiles(2)
    yield files
    files.close()


def finished(filled: Filled) -> Filled:
    """Say that a day is over."""
    with closing(SearchDay(filled.path, "b", write=True)) as file:
        file.finish()
    return filled


def test_a_file_is_kept_while_it_is_the_one_of_its_name(tmp_path: Path, files: DayFiles) -> None:
    filled = finished(Filled(tmp_path, [5]))
    with files.day(filled.path, "b") as first:
        assert len(read(first, 0, 1 << 62)) == len(filled.having)
    with files.day(filled.path, "b") as again:
        assert again is first
        with files.day(filled.path, "b") as other:
            assert other is not first, "one search at a time has it"
    with closing(SearchDay(filled.path, "b", write=True)) as file:
        file.reopen()
    filled.add([PART])
    with files.day(filled.path, "b") as open_again:
        assert open_again.last == filled.ids[-1], "it sees what came"
    remove_day(filled.path)
    with pytest.raises(StoreError, match="there is no search file"), files.day(filled.path, "b"):
        pass
    anew = Filled(tmp_path, [7])
    with files.day(filled.path, "b") as new:
        assert read(new, 0, 1 << 62) == sorted(anew.having, reverse=True)
    with pytest.raises(StoreError, match="another journal"), files.day(filled.path, "c"):
        pass


def test_a_file_of_a_day_that_goes_on_is_not_kept(tmp_path: Path, files: DayFiles) -> None:
    filled = Filled(tmp_path, [5])
    with files.day(filled.path, "b") as first:
        pass
    assert not files._idle
    with pytest.raises(StoreError):
        first.look()


def test_what_is_kept_of_a_day_that_is_gone_is_let_go(tmp_path: Path, files: DayFiles) -> None:
    filled = finished(Filled(tmp_path, [5]))
    with files.day(filled.path, "b"):
        pass
    remove_day(filled.path)
    later = day_path(tmp_path, DAY + 1)
    with closing(SearchDay(later, "b", write=True)) as file:
        file.finish()
    with files.day(later, "b"):
        pass
    assert [one.file.path for one in files._idle] == [later]


def test_a_file_in_which_damage_was_met_is_not_kept(tmp_path: Path, files: DayFiles) -> None:
    filled = finished(Filled(tmp_path, [5]))
    with files.day(filled.path, "b") as first:
        pass
    with closing(SearchDay(filled.path, "b", write=True)) as file:
        file._db.execute("DELETE FROM slices")
    with pytest.raises(StoreError, match="is damaged"), files.day(filled.path, "b") as same:
        read(same, 0, 1 << 62)
    assert same is first
    with files.day(filled.path, "b") as again:
        assert again is not first


def test_no_more_files_are_kept_than_were_said(tmp_path: Path, files: DayFiles) -> None:
    paths = [day_path(tmp_path, DAY + number) for number in range(4)]
    for path in paths:
        with closing(SearchDay(path, "b", write=True)) as file:
            file.finish()
        with files.day(path, "b"):
            pass
    assert [one.file.path for one in files._idle] == paths[2:]
    with DayFiles().day(paths[0], "b") as one:
        pass
    with pytest.raises(StoreError):
        one.look()


def test_many_threads_share_files(tmp_path: Path, files: DayFiles) -> None:
    filled = finished(Filled(tmp_path, [PART, PART]))
    having, seen = sorted(filled.having, reverse=True), list[bool]()

    def search() -> None:
        for _ in range(20):
            with files.day(filled.path, "b") as file:
                seen.append(read(file, 0, 1 << 62) == having)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 80
    assert len(files._idle) <= 2
