"""kill -9 at any moment: no word is lost, and each is learned exactly once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from oborona import state_files
from oborona.feedback.label import LabelState
from oborona.feedback.label_store import LabelStore
from oborona.feedback.weights_file import HEADER_BYTES, WeightsFile
from tests.feedback.words import NOW, mixed, settle, teach, trainer

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("training_program.py")
WORDS = 240
TAKEN_BACK = [10, 77, 150]


def started(state: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(state)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_trainer_that_is_killed_again_and_again_learns_each_word_once(tmp_path: Path) -> None:
    words, drawn, state = mixed(WORDS), random.Random(7), tmp_path / "a"
    state.mkdir()
    for first in range(0, WORDS, 40):
        process = started(state)
        try:
            teach(state, words[first : first + 40])
            if first == 200:
                with LabelStore(state / state_files.FEEDBACK) as store:
                    store.take_back(TAKEN_BACK, reason="test", by="ann", now=NOW)
            time.sleep(drawn.random() * 0.15)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    one = settle(trainer(state))
    with LabelStore(state / state_files.FEEDBACK) as store:
        states = store.states(range(1, WORDS + 1))
    assert {ident for ident, found in states.items() if found is not LabelState.LEARNED} == set(
        TAKEN_BACK
    )
    (tmp_path / "b").mkdir()
    teach(
        tmp_path / "b", [each for number, each in enumerate(words, 1) if number not in TAKEN_BACK]
    )
    other = settle(trainer(tmp_path / "b"))
    for field in ("spam", "ham", "calibration"):
        assert getattr(one.header, field) == getattr(other.header, field)
    a, b = (
        WeightsFile(tmp_path / each / state_files.WEIGHTS).image()[HEADER_BYTES:] for each in "ab"
    )
    assert a == b
    one.close()
    other.close()
