"""The site's secret: made once, whole, for its owner alone; each purpose has a key of its own."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oborona import secret, state_files
from oborona.errors import StoreError, StoreForeign


def test_it_is_made_once_and_stays(tmp_path: Path) -> None:
    first = secret.make(tmp_path)
    assert secret.make(tmp_path) == first == secret.load(tmp_path)
    mode = stat.S_IMODE((tmp_path / state_files.SECRET).stat().st_mode)
    assert mode == 0o600
    assert sorted(os.listdir(tmp_path)) == [state_files.SECRET, state_files.SECRET_NOTE]  # noqa: PTH208 - names alone


def test_purposes_have_different_keys(tmp_path: Path) -> None:
    keys = secret.make(tmp_path)
    assert len({keys.shingles, keys.signature, (tmp_path / state_files.SECRET).read_bytes()}) == 3
    assert keys != secret.UNKEYED


def test_of_several_that_make_it_at_once_all_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: secret.make(tmp_path).shingles, range(32)))
    assert len(made) == 1


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_one_is_an_error_and_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / state_files.SECRET).write_bytes(content)
    with pytest.raises(StoreError, match="bytes instead of 32"):
        secret.make(tmp_path)
    assert (tmp_path / state_files.SECRET).read_bytes() == content


def test_where_there_is_none_or_no_room_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        secret.load(tmp_path)
    with pytest.raises(StoreError, match="No such file"):
        secret.make(tmp_path / "missing")


def test_no_new_one_is_made_for_what_was_begun_with_another(tmp_path: Path) -> None:
    secret.make(tmp_path)
    (tmp_path / state_files.SECRET).unlink()
    with pytest.raises(StoreForeign, match=r"is gone, and .*put it back from a backup"):
        secret.make(tmp_path)
    assert not (tmp_path / state_files.SECRET).exists()


def test_none_is_made_beside_stores_of_a_time_before_the_note(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    journal.touch()
    with pytest.raises(StoreForeign, match=r"journal\.db was begun with it"):
        secret.make(tmp_path, (journal,))
    assert not (tmp_path / state_files.SECRET).exists()


def test_another_ones_stores_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "counters").mkdir(parents=True)
        secret.make(tmp_path / name, noted=(tmp_path / name / "counters",))
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "counters" / state_files.SECRET_NOTE).replace(
        two / "counters" / state_files.SECRET_NOTE
    )  # as with the folder of its counters
    secret.load(two)
    with pytest.raises(StoreForeign, match=r"not the secret that .*counters was begun with"):
        secret.make(two, noted=(two / "counters",))
    (one / state_files.SECRET).replace(two / state_files.SECRET)
    with pytest.raises(StoreForeign, match="is not the secret that"):
        secret.load(two)


def test_stores_of_a_time_before_the_note_get_one(tmp_path: Path) -> None:
    keys = secret.make(tmp_path)
    (tmp_path / state_files.SECRET_NOTE).unlink()
    assert secret.load(tmp_path) == keys
    assert not (tmp_path / state_files.SECRET_NOTE).exists(), "who only reads leaves nothing"
    assert secret.make(tmp_path, (tmp_path / state_files.SECRET,)) == keys
    assert (tmp_path / state_files.SECRET_NOTE).exists()


def test_the_note_tells_nothing_of_the_keys(tmp_path: Path) -> None:
    keys = secret.make(tmp_path)
    note = bytes.fromhex((tmp_path / state_files.SECRET_NOTE).read_text())
    assert not any(
        note in key or key in note for key in (keys.shingles, keys.signature, keys.feedback)
    )
