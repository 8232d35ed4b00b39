"""What fuzzing found worth keeping, and what it started from, given to each parser again."""

from __future__ import annotations

import pytest

from tests.fuzz.keep import CORPUS, kept
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS
from tests.fuzz.watched import Watched


@pytest.mark.parametrize("target", TARGETS)
def test_what_must_hold_holds(target: str) -> None:
    watched = Watched(TARGETS[target])
    inputs = [file.read_bytes() for file in kept(target)]
    assert inputs
    for octets in (*seeds(target), *inputs):
        watched(octets)


def test_the_corpus_is_small_and_every_part_of_it_is_used() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == TARGETS.keys()
    assert sum(file.stat().st_size for file in CORPUS.glob("*/*")) < 1 << 20
