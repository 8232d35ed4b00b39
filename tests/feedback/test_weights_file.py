"""The file of the weights: what is whole is read, all else is refused with what is wrong."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.errors import StoreError, StoreVersion
from oborona.feedback import snapshots
from oborona.feedback.weights_file import (
    HEADER_BYTES,
    WeightsFile,
    WeightsHeader,
    create_weights,
    pack_snapshot,
    publish_weights,
    unpack_snapshot,
)
from oborona.policy.models.content.weights import Weights

HEADER = WeightsHeader(epoch=2, position=33, time=5.0, spam=7, ham=9, base="1.5", base_spam=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create_weights(tmp_path / "weights", HEADER)
    return tmp_path / "weights"


def test_a_file_that_was_made_is_read_and_its_changes_are_followed(path: Path) -> None:
    reader, writer = WeightsFile(path), WeightsFile(path, write=True)
    assert reader.header == HEADER
    assert not reader.weights.pull.any()
    writer.weights.pull[5] = 0.25
    later = msgspec.structs.replace(HEADER, position=34)
    before = reader.sequence
    writer.write(later)
    assert reader.follow() == later
    assert reader.weights.pull[5] == 0.25
    assert reader.sequence == before + 2
    assert later.version == "2.34"


def test_weights_that_are_read_only_can_not_be_written(path: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        WeightsFile(path).weights.pull[5] = 1


def test_a_header_that_is_being_written_is_not_believed_and_the_one_before_stays(
    path: Path,
) -> None:
    reader = WeightsFile(path)
    octets = bytearray(path.read_bytes())
    octets[40] |= 1  # the sequence is odd
    with path.open("r+b") as file:
        file.write(octets)
    assert reader.follow() == HEADER
    with pytest.raises(StoreError, match="not whole"):
        WeightsFile(path)


def test_new_weights_take_the_place_of_the_old_and_who_has_mapped_these_keeps_them(
    path: Path,
) -> None:
    old = WeightsFile(path)
    fresh = create_weights(path.with_name("fresh"), WeightsHeader(position=1), b"\1" * Weights.SIZE)
    publish_weights(fresh, path)
    assert old.follow() == HEADER
    assert WeightsFile(path).header.position == 1
    assert WeightsFile(path).weights.pull.all()
    assert WeightsFile(path).inode != old.inode


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda octets: octets[:100], "cut short"),
        (lambda octets: octets[:-1], "cut short"),
        (lambda octets: octets[:0], "cut short"),
        (lambda octets: b"SQLite format 3\0" + octets[16:], "no file of weights"),
        (lambda octets: octets[:8] + b"\2" + octets[9:], "newer"),
        (lambda octets: octets[:16] + b"other" + octets[21:], "laid out otherwise"),
        (lambda octets: octets[:60] + b"\xff" * 8 + octets[68:], "not whole"),
    ],
)
def test_what_is_not_whole_or_not_ours_is_refused(path: Path, change, problem: str) -> None:  # type: ignore[no-untyped-def]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(StoreError, match=problem):
        WeightsFile(path)


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        WeightsFile(tmp_path / "weights")
    with pytest.raises(StoreError, match="No such file"):
        create_weights(tmp_path / "nowhere" / "weights", HEADER)


def test_a_snapshot_is_read_as_it_was_written(path: Path, tmp_path: Path) -> None:
    image = WeightsFile(path).image()
    snapshots.write(tmp_path / "s" / "1", snapshots.packed(image, b"more"))
    found = snapshots.read(tmp_path / "s" / "1")
    assert (found.header, found.weights, found.more) == (HEADER, image[HEADER_BYTES:], b"more")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_snapshot_with_an_octet_changed_or_cut_off_is_refused_or_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever is done to a snapshot, it is read as it was or refused."""
    path = tmp_path_factory.mktemp("s") / "1"
    image = bytearray(create_weights(path.with_name("w"), HEADER).image())
    octets = bytearray(zlib.compress(pack_snapshot(bytes(image), b"more"), 1))
    place = data.draw(st.integers(0, len(octets) - 1))
    if data.draw(st.booleans()):
        octets[place] ^= data.draw(st.integers(1, 255))
    else:
        del octets[place:]
    path.write_bytes(octets)
    try:
        found = snapshots.read(path)
    except StoreError:
        return
    assert (found.header, found.weights, found.more) == (HEADER, bytes(Weights.SIZE), b"more")


@given(st.binary(max_size=200))
def test_octets_that_are_no_snapshot_are_refused(octets: bytes) -> None:
    with pytest.raises(StoreError):
        unpack_snapshot(octets, Path("s"))


def test_a_snapshot_that_unfolds_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST_BYTES", 1 << 20)
    (tmp_path / "bomb").write_bytes(zlib.compress(b"\0" * (8 << 20)))
    with pytest.raises(StoreError, match="does not end"):
        snapshots.read(tmp_path / "bomb")


def test_a_newer_version_is_an_error_of_its_own(path: Path) -> None:
    octets = bytearray(path.read_bytes())
    octets[8] = 2
    path.write_bytes(octets)
    with pytest.raises(StoreVersion):
        WeightsFile(path)
