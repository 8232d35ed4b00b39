"""The page that publisher and workers share: its words, and files that are no page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona import state_files
from oborona.daemon.publisher.page import NOTHING, PolicyPage, number_of, version_of, word_of
from oborona.errors import StoreError
from oborona.ident import WORKERS

VERSIONS = st.integers(0, (1 << 48) - 1).map(lambda number: f"{number:012x}")


@given(number=st.integers(1, 1 << 40), version=VERSIONS)
def test_a_word_holds_a_version_whole_and_is_never_nothing(number: int, version: str) -> None:
    word = word_of(number, version)
    assert NOTHING < word < 1 << 64
    assert version_of(word) == version
    assert 1 <= number_of(word) < 1 << 16


@given(number=st.integers(1, 1 << 40), version=VERSIONS)
def test_two_publications_in_a_row_are_two_words_whatever_their_version(
    number: int, version: str
) -> None:
    assert word_of(number, version) != word_of(number + 1, version)


def test_what_one_writes_others_read(tmp_path: Path) -> None:
    page = PolicyPage.make(tmp_path / state_files.POLICY_PAGE)
    other = PolicyPage(tmp_path / state_files.POLICY_PAGE)
    assert other.active == other.offered == NOTHING
    page.active, page.offered = word_of(1, "a" * 12), word_of(2, "f" * 12)
    assert (version_of(other.active), version_of(other.offered)) == ("a" * 12, "f" * 12)
    words = {(page if number % 2 else other).named("a" * 12) for number in range(10)}
    assert len(words) == 10
    assert other.workers() == {}
    for worker in (0, WORKERS - 1):
        page.enter(worker, 100 + worker)
        page.is_ready(worker, 5)
        page.set_failed(worker, 6)
    assert other.workers() == {0: 100, WORKERS - 1: 100 + WORKERS - 1}
    assert (other.ready(WORKERS - 1), other.failed(WORKERS - 1)) == (5, 6)
    other.enter(0, 200)
    assert (page.ready(0), page.failed(0)) == (NOTHING, NOTHING), (
        "who starts anew is ready for nothing"
    )
    page.leave(0)
    assert other.workers() == {WORKERS - 1: 100 + WORKERS - 1}
    page.close()
    other.close()


@pytest.mark.parametrize("octets", [b"", b"x" * 100, bytes(6208), os.urandom(6208), bytes(10_000)])
def test_a_file_that_is_no_page_is_an_error(tmp_path: Path, octets: bytes) -> None:
    (tmp_path / state_files.POLICY_PAGE).write_bytes(octets)
    with pytest.raises(StoreError, match="is not a page"):
        PolicyPage(tmp_path / state_files.POLICY_PAGE)


def test_a_page_is_no_link_to_another_file(tmp_path: Path) -> None:
    PolicyPage.make(tmp_path / "other").close()
    (tmp_path / state_files.POLICY_PAGE).symlink_to(tmp_path / "other")
    with pytest.raises(StoreError):
        PolicyPage(tmp_path / state_files.POLICY_PAGE)


def test_a_page_is_made_in_place_of_whatever_is_there(tmp_path: Path) -> None:
    (tmp_path / state_files.POLICY_PAGE).write_text("history")
    (tmp_path / f".{state_files.POLICY_PAGE}").write_text(
        "of one that was killed while it made one"
    )
    page = PolicyPage.make(tmp_path / state_files.POLICY_PAGE)
    assert page.active == NOTHING
    page.close()
    with pytest.raises(StoreError):
        PolicyPage.make(tmp_path / "missing" / state_files.POLICY_PAGE)
