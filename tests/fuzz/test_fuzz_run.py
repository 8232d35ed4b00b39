"""What finds and shows a fault finds and shows one: a planted error is made smaller, work by the
square of an input is told, blind inputs are many and short.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import run
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target
from tests.fuzz.watched import Watched


def breaks(octets: bytes) -> None:
    if b"xy" in octets:
        raise ValueError("planted")


def squares(octets: bytes) -> None:
    for _ in octets:
        octets.count(b"x")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(TARGETS, "planted", Target(breaks, 1000, (b"xy",)))
    return "planted"


def test_an_input_that_breaks_a_target_is_made_as_small_as_it_can_be(
    planted: str, tmp_path: Path
) -> None:
    file = tmp_path / "broke-1"
    file.write_bytes(b"a" * 400 + b"xy" + b"b" * 300)
    assert "ValueError" in run.broken_by(planted, file.read_bytes())
    run.shrink(planted, file)
    assert file.read_bytes() == b"xy"


def test_without_coverage_an_error_is_found_and_its_input_kept(
    planted: str, tmp_path: Path
) -> None:
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs/1").write_bytes(b"abc")
    with pytest.raises(ValueError, match="planted"):
        run.blindly(planted, 20, tmp_path)
    [file] = tmp_path.glob("broke-*")
    with pytest.raises(ValueError, match="planted"):
        run.again(planted, file)


def test_work_by_the_square_of_an_input_is_told_long_before_it_takes_seconds() -> None:
    watched = Watched(Target(squares, 1 << 17))
    watched(b"a" * 1000)
    with pytest.raises(AssertionError, match="s of CPU for 65536 octets"):
        Watched(Target(squares, 1 << 17, s_a_mb=1.0))(b"a" * (1 << 16))


def test_blind_inputs_are_many_and_none_is_too_long() -> None:
    found = list(islice(mutated([b"abc", b"x" * 90], [b"word"], 100, Random(1)), 2000))
    assert len(set(found)) > 1000
    assert max(map(len, found)) <= 100
    assert any(b"word" in one for one in found)
