"""The site's secret: made once, whole, for its owner alone; each purpose has a key of its own."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oborona import secret
from oborona.errors import StoreError


def test_it_is_made_once_and_stays(tmp_path: Path) -> None:
    first = secret.make(tmp_path)
    assert secret.make(tmp_path) == first == secret.load(tmp_path)
    mode = stat.S_IMODE((tmp_path / secret.FILE).stat().st_mode)
    assert mode == 0o600
    assert os.listdir(tmp_path) == [secret.FILE]  # noqa: PTH208 - names alone


def test_purposes_have_different_keys(tmp_path: Path) -> None:
    keys = secret.make(tmp_path)
    assert len({keys.shingles, keys.signature, (tmp_path / secret.FILE).read_bytes()}) == 3
    assert keys != secret.UNKEYED


def test_of_several_that_make_it_at_once_all_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: secret.make(tmp_path).shingles, range(32)))
    assert len(made) == 1


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_one_is_an_error_and_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / secret.FILE).write_bytes(content)
    with pytest.raises(StoreError, match="bytes instead of 32"):
        secret.make(tmp_path)
    assert (tmp_path / secret.FILE).read_bytes() == content


def test_where_there_is_none_or_no_room_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        secret.load(tmp_path)
    with pytest.raises(StoreError, match="No such file"):
        secret.make(tmp_path / "missing")
