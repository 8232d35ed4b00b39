"""Spool files on both sides: appending, following, torn tails, damage, rotation, dead workers."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oborona.counters import batch
from oborona.counters.buffer import AddBuffer
from oborona.counters.record import key_of
from oborona.counters.spool import CounterSpool, parse_name
from oborona.counters.spool_follower import CollectedBatches, SpoolFollower, SpoolPosition
from oborona.errors import StoreError, StoreFull
from oborona.types import Amounts, CounterPrefix, Shingle

NOON = 20_000 * 86_400 + 43_200.0
LIMIT = 1 << 20


def flush(sequence: int, keys: int = 3) -> bytes:
    buffer = AddBuffer()
    shingles = [Shingle(1, 1000 * sequence + number) for number in range(keys)]
    buffer.add(
        [key_of(shingle, CounterPrefix.IN) for shingle in shingles], [], Amounts(seen=1), NOON
    )
    return batch.encode(buffer, sequence, NOON)


class Pipe:
    """A spool and its follower; `take` is what the writer's step does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "spool"
        self.reports: list[str] = []
        self.kept: dict[str, SpoolPosition] = {}
        self.spool = self.append_side()
        self.follower = self.follow_side()

    def append_side(self, file_bytes: int = 1 << 20) -> CounterSpool:
        return CounterSpool(self.directory, "w", file_bytes=file_bytes, sync_s=1e9)

    def follow_side(self) -> SpoolFollower:
        return SpoolFollower(self.directory, self.kept, self.reports.append)

    def take(self, limit: int = LIMIT) -> list[int]:
        collected = self.follower.collect(limit)
        self.kept.update(collected.positions)
        for owner in self.follower.settle(collected):
            self.kept.pop(owner, None)
        return [one.sequence for one in collected.batches]

    def kill(self) -> None:
        os.close(self.spool._descriptor)
        self.spool._descriptor = -1

    @property
    def files(self) -> list[Path]:
        return sorted(self.directory.glob("*")) if self.directory.exists() else []

    def close(self) -> None:
        self.spool.close()
        self.follower.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    made = Pipe(tmp_path)
    yield made
    made.close()


def test_records_come_in_order_and_once(pipe: Pipe) -> None:
    assert pipe.take() == []
    pipe.spool.append(flush(1))
    pipe.spool.append(flush(2))
    assert pipe.take() == [1, 2]
    assert pipe.take() == []
    pipe.spool.append(flush(3))
    assert pipe.take() == [3]
    assert pipe.reports == []


def test_nothing_is_made_before_the_first_append(pipe: Pipe) -> None:
    assert pipe.files == []


def test_a_writer_that_did_not_keep_its_positions_gets_the_same_again(pipe: Pipe) -> None:
    pipe.spool.append(flush(1))
    assert [one.sequence for one in pipe.follower.collect(LIMIT).batches] == [1]
    assert [one.sequence for one in pipe.follower.collect(LIMIT).batches] == [1]
    assert pipe.take() == [1]


def test_a_new_writer_goes_on_at_the_kept_position(pipe: Pipe) -> None:
    pipe.spool.append(flush(1))
    assert pipe.take() == [1]
    pipe.spool.append(flush(2))
    pipe.follower.close()
    pipe.follower = pipe.follow_side()
    assert pipe.take() == [2]


@pytest.mark.parametrize("size", [1, 3, 4, 20, 39, 40, 41, 60])
def test_a_torn_end_waits_for_a_living_worker_and_is_cut_behind_a_dead_one(
    pipe: Pipe, size: int
) -> None:
    pipe.spool.append(flush(1))
    whole = flush(2)
    os.write(pipe.spool._descriptor, whole[:size])
    assert pipe.take() == [1]
    assert pipe.take() == []
    assert pipe.reports == []
    os.write(pipe.spool._descriptor, whole[size:])
    assert pipe.take() == [2]
    os.write(pipe.spool._descriptor, flush(3)[:size])
    pipe.kill()
    assert pipe.take() == []
    assert len(pipe.reports) == 1
    assert f"{size} bytes at {len(flush(1)) + len(whole)} are no whole record" in pipe.reports[0]
    assert pipe.files == []


@pytest.mark.parametrize("tail", [bytes(500), b"OBSP" + bytes(100), bytes(range(7, 250, 5))])
def test_what_a_power_cut_leaves_behind_the_last_record_is_skipped(pipe: Pipe, tail: bytes) -> None:
    pipe.spool.append(flush(1))
    os.write(pipe.spool._descriptor, tail)
    pipe.kill()
    assert pipe.take() == [1]
    assert len(pipe.reports) == 1
    assert pipe.files == []


@pytest.mark.parametrize("place", [0, 7, 9, 14, 18, 50, -1])
def test_a_damaged_record_costs_itself_alone(pipe: Pipe, place: int) -> None:
    broken = bytearray(flush(2))
    broken[place] ^= 0xFF
    pipe.spool.append(flush(1) + bytes(broken) + flush(3))
    pipe.kill()
    assert pipe.take() == [1, 3]
    assert "are no whole record" in pipe.reports[0]
    assert "records 2 to 2 are missing" in pipe.reports[1]
    assert pipe.files == []


def test_a_newer_record_stops_its_spool_and_no_other(pipe: Pipe) -> None:
    newer = bytearray(flush(1))
    newer[4] = 9
    pipe.spool.append(bytes(newer) + flush(2))
    other = pipe.append_side()
    other.append(flush(1))
    assert pipe.take() == [1]
    other.close()
    assert pipe.take() == []
    assert pipe.take() == []
    assert len(pipe.reports) == 1
    assert "version 9" in pipe.reports[0]
    assert len(pipe.files) == 1  # kept for a newer Oborona


def test_full_files_are_followed_by_the_next_and_removed(tmp_path: Path, pipe: Pipe) -> None:
    pipe.spool = pipe.append_side(file_bytes=300)
    for sequence in range(1, 21):
        pipe.spool.append(flush(sequence))
    assert len(pipe.files) > 4
    assert pipe.take() == list(range(1, 21))
    assert len(pipe.files) == 1
    pipe.spool.append(flush(21))
    pipe.spool.close()
    assert pipe.take() == [21]
    assert pipe.files == []
    assert pipe.reports == []
    assert pipe.kept == {}


@pytest.mark.parametrize("look", range(4))
def test_a_worker_that_moves_on_while_we_look_loses_nothing(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    pipe.spool = pipe.append_side(file_bytes=100)
    pipe.spool.append(flush(1))
    looks = 0
    for name in ("exists", "is_dead", "read"):
        asked = getattr(SpoolFollower, name)

        def ask(self: SpoolFollower, *args: object, asked: Callable[..., object] = asked) -> object:
            nonlocal looks
            answer = asked(self, *args)
            if looks == look:
                for sequence in (2, 3, 4):
                    pipe.spool.append(flush(sequence))
            looks += 1
            return answer

        monkeypatch.setattr(SpoolFollower, name, ask)
    taken = pipe.take()
    monkeypatch.undo()
    assert looks > look
    taken += pipe.take()
    pipe.spool.append(flush(5))
    assert taken + pipe.take() == [1, 2, 3, 4, 5]
    assert pipe.reports == []


@pytest.mark.parametrize("missed", [1, 2, 3])
def test_a_listing_that_missed_a_file_loses_nothing(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, missed: int
) -> None:
    pipe.spool = pipe.append_side(file_bytes=100)
    for sequence in (1, 2, 3):
        pipe.spool.append(flush(sequence))
    listed = os.listdir

    def miss(directory: Path) -> list[str]:
        return [name for name in listed(directory) if f"{missed:08d}" not in name]

    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.spool_follower.os.listdir", miss)
        taken = pipe.take()
    assert taken + pipe.take() == [1, 2, 3]
    assert pipe.reports == []


def test_a_limit_takes_its_share_of_each(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oborona.counters.spool_follower.LEAST_READ", 100)
    other = pipe.append_side()
    for sequence in range(1, 10):
        pipe.spool.append(flush(sequence, keys=30))  # larger than the share
        other.append(flush(sequence, keys=1))
    taken: list[list[int]] = []
    while len(taken) < 50 and sum(map(len, taken)) < 18:
        taken.append(pipe.take(limit=100))
    other.close()
    assert len(taken) > 3
    assert sorted(number for part in taken for number in part) == sorted(
        [*range(1, 10), *range(1, 10)]
    )


def test_a_copy_of_what_is_applied_counts_once(pipe: Pipe) -> None:
    pipe.spool.append(flush(1) + flush(2) + flush(2) + flush(1) + flush(3))
    assert pipe.take() == [1, 2, 3]


def test_two_processes_of_one_name_do_not_meet(pipe: Pipe) -> None:
    other = pipe.append_side()
    pipe.spool.append(flush(1))
    other.append(flush(1))
    assert pipe.take() == [1, 1]
    other.close()
    assert len(pipe.files) == 2
    assert pipe.take() == []
    assert len(pipe.files) == 1


def test_strange_files_are_left_alone(pipe: Pipe) -> None:
    pipe.spool.append(flush(1))
    for name in ("README", "w.spool", "w.0123.00000001.spool", "w.xyz.new"):
        (pipe.directory / name).write_bytes(flush(1))
    assert pipe.take() == [1]
    assert len(pipe.files) == 5
    assert parse_name("../w.00000000000000000000.00000001.spool") is None


def test_files_of_processes_that_died_making_them_are_swept(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe.spool.append(flush(1))
    left = pipe.files[0].with_suffix(".new")
    left.touch()
    locked = pipe.directory / f"v.{'0' * 20}.00000001.new"
    holder = locked.open("xb")
    fcntl.flock(holder, fcntl.LOCK_EX)
    pipe.follower.sweep()
    assert not left.exists()
    assert locked.exists()
    holder.close()


@pytest.mark.parametrize("sweeps", [1, 2])
def test_a_file_swept_while_it_is_made_is_made_again(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, sweeps: int
) -> None:
    swept: list[Path] = []
    rename = Path.rename

    def sweep_first(path: Path, target: Path) -> Path:
        if len(swept) < sweeps:
            path.unlink()
            swept.append(path)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", sweep_first)
    pipe.spool.append(flush(1))
    assert len(swept) == sweeps
    assert pipe.take() == [1]


def test_a_sweep_that_has_the_lock_first_is_given_way(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []
    flock = fcntl.flock

    def refuse_once(descriptor: int, how: int) -> None:
        if not refused:
            refused.append(descriptor)
            raise BlockingIOError(errno.EWOULDBLOCK, "held")
        flock(descriptor, how)

    monkeypatch.setattr("oborona.counters.spool.fcntl.flock", refuse_once)
    pipe.spool.append(flush(1))
    monkeypatch.undo()
    assert refused
    assert pipe.take() == [1]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a.b", "x" * 65, "ы"])
def test_a_name_that_makes_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="worker's name"):
        CounterSpool(tmp_path, name, sync_s=1.0)


class Disk:
    """Stands for os.write on a disk that takes `room` bytes more."""

    def __init__(self, room: int, code: int) -> None:
        self.room, self.code = room, code
        self._write: Callable[[int, bytes], int] = os.write

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.room:
            raise OSError(self.code, os.strerror(self.code))
        taken = self._write(descriptor, bytes(data)[: self.room])
        self.room -= taken
        return taken


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.ENOSPC, StoreFull), (errno.EDQUOT, StoreFull), (errno.EIO, StoreError)],
)
@pytest.mark.parametrize("room", [0, 1, 50])
def test_a_record_is_written_whole_or_not_at_all(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, room: int, code: int, kind: type[StoreError]
) -> None:
    pipe.spool.append(flush(1))
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.spool.os.write", Disk(room, code).write)
        with pytest.raises(kind):
            pipe.spool.append(flush(2))
    assert pipe.files[0].stat().st_size == len(flush(1))
    pipe.spool.append(flush(2))
    assert pipe.take() == [1, 2]
    assert pipe.reports == []


def test_an_end_that_cannot_be_cut_back_is_left_behind(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EIO, "no")

    pipe.spool.append(flush(1))
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.spool.os.write", Disk(50, errno.ENOSPC).write)
        patch.setattr("oborona.counters.spool.os.ftruncate", refuse)
        with pytest.raises(StoreFull):
            pipe.spool.append(flush(2))
    pipe.spool.append(flush(2))
    assert pipe.take() == [1, 2]
    assert "cut short" in pipe.reports[0]
    assert len(pipe.files) == 1


def synced(spool: CounterSpool) -> None:
    """Wait for the syncer, whatever it met."""
    assert spool._syncing is not None
    spool._syncing.exception(timeout=30)


def refuse_to_sync(_: int) -> None:
    raise OSError(errno.ENOSPC, "no room for it")


@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
def test_a_sync_that_failed_is_told_by_close(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"oborona.counters.spool.os.{call}", refuse_to_sync)
        pipe.spool = CounterSpool(pipe.directory, "w", sync_s=1.0)
        pipe.spool.append(flush(1))
        with pytest.raises(StoreFull, match=r"cannot sync .*no room for it"):
            pipe.spool.close()
    pipe.spool.close()  # told once
    assert pipe.take() == [1]
    assert pipe.files == []


def test_a_sync_that_failed_is_told_though_others_followed(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe.spool = CounterSpool(pipe.directory, "w", file_bytes=100, sync_s=1.0)
    pipe.spool.append(flush(1))
    synced(pipe.spool)
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.spool.os.fdatasync", refuse_to_sync)
        pipe.spool.append(flush(2))  # in the next file: the first is synced behind our back
        synced(pipe.spool)
    pipe.spool.append(flush(3))
    synced(pipe.spool)
    with pytest.raises(StoreFull, match=r"cannot sync .*00000001\.spool"):
        pipe.spool.sync_if_due(NOON)
    pipe.spool.sync_if_due(NOON)
    assert pipe.take() == [1, 2, 3]


def test_no_sync_is_waited_for(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()

    def note(_: int) -> None:
        threads.add(threading.current_thread().name)

    for call in ("fsync", "fdatasync"):
        monkeypatch.setattr(f"oborona.counters.spool.os.{call}", note)
    pipe.spool = CounterSpool(pipe.directory, "w", file_bytes=100, sync_s=0.0)
    for sequence in range(1, 4):
        pipe.spool.append(flush(sequence))
        pipe.spool.sync_if_due(NOON + sequence)
    pipe.spool.close()
    assert len(threads) == 1
    assert threads.pop().startswith("spool-sync")


def test_a_spool_that_cannot_be_read_stops_no_other(pipe: Pipe) -> None:
    pipe.spool.append(flush(1))
    (pipe.directory / f"a.{'0' * 20}.00000001.spool").mkdir()
    (pipe.directory / f"z.{'0' * 20}.00000001.spool").symlink_to("itself.spool/")
    assert pipe.take() == [1]
    pipe.spool.append(flush(2))
    assert pipe.take() == [2]
    assert len(pipe.reports) == 2
    assert all("cannot read the spool of" in report for report in pipe.reports)


def test_a_file_that_cannot_be_removed_is_not_applied_again(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: bool) -> None:
        raise PermissionError(errno.EPERM, "not yours", str(path))

    pipe.spool.append(flush(1))
    pipe.spool.close()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        assert pipe.take() == [1]
        assert pipe.take() == []
        pipe.follower.close()
        pipe.follower = pipe.follow_side()
        assert pipe.take() == []
    assert len(pipe.files) == 1
    # once by each follower
    assert ["cannot remove" in report for report in pipe.reports] == [True] * 2
    assert pipe.take() == []
    assert pipe.files == []
    assert pipe.kept == {}


def test_a_directory_that_cannot_be_listed_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    follower = SpoolFollower(tmp_path / "file", {}, print)
    nothing = CollectedBatches(batches=[], positions={}, finished=[], more=False)
    for look in (
        follower.owners,
        lambda: follower.collect(LIMIT),
        lambda: follower.settle(nothing),
    ):
        with pytest.raises(StoreError, match="cannot read the spools"):
            look()


def test_a_failed_sync_is_told_and_left_behind(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "no")

    pipe.spool = CounterSpool(pipe.directory, "w", sync_s=1.0)
    pipe.spool.append(flush(1))
    synced(pipe.spool)
    monkeypatch.setattr("oborona.counters.spool.os.fdatasync", refuse)
    pipe.spool.sync_if_due(NOON)
    synced(pipe.spool)
    with pytest.raises(StoreError, match="cannot sync"):
        pipe.spool.sync_if_due(NOON)
    monkeypatch.undo()
    pipe.spool.append(flush(2))
    assert len(pipe.files) == 2
    assert pipe.take() == [1, 2]


def test_syncs_are_a_second_apart(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("oborona.counters.spool.os.fdatasync", synced.append)
    pipe.spool = CounterSpool(pipe.directory, "w", sync_s=1.0)
    for tenth in range(35):
        pipe.spool.append(flush(tenth + 1))
        pipe.spool.sync_if_due(NOON + tenth / 10)
        if pipe.spool._syncing is not None:
            pipe.spool._syncing.result(timeout=30)
    assert len(synced) == 4
    pipe.spool.sync_if_due(NOON - 50)  # a clock set back stops nothing
    assert pipe.spool._syncing is not None
    pipe.spool._syncing.result(timeout=30)
    assert len(synced) == 5


def test_a_directory_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make"):
        CounterSpool(tmp_path / "file" / "spool", "w", sync_s=1.0).append(flush(1))
