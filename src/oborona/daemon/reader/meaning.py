"""The meaning of a text, by the reader's encoder and the model in force."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from oborona.daemon.reader.picture_queue import PictureQueue
from oborona.daemon.reader.wire import PictureOutcome, PictureResult, ReaderTask
from oborona.message.model import Message
from oborona.policy.models.meaning import NUMBERS, probability, text_of

_OCTETS: Final = 4 * NUMBERS  # 32-bit floats, little-endian

Floats = NDArray[np.float32]


class TextEncoder(Protocol):
    """An encoder of texts."""

    async def send(
        self, task: ReaderTask, checksum: bytes, octets: bytes, *, urgent: bool, within_s: float
    ) -> PictureResult:
        """Return the result of a task, or why there is none.

        Raises nothing, and answers in time.
        """
        ...


class LocalTextEncoder:
    """An encoder of this command's own.

    Args:
        queue: has the encoder; its maker closes it.
    """

    def __init__(self, queue: PictureQueue) -> None:
        self._desk = queue

    async def send(
        self, task: ReaderTask, checksum: bytes, octets: bytes, *, urgent: bool, within_s: float
    ) -> PictureResult:
        """Return the result of a task, or why there is none."""
        try:
            async with asyncio.timeout(within_s):
                return await self._desk.ask(task, checksum, octets, urgent=urgent)
        except TimeoutError:
            return PictureResult(PictureOutcome.LATE)


async def encode_message(
    encoding: TextEncoder, message: Message, *, urgent: bool, within_s: float
) -> Floats | None:
    """Return the numbers of a message's text; None where there are none to be had in time."""
    octets = text_of(message)
    result = await encoding.send(
        ReaderTask.MEAN, sha256(octets).digest(), octets, urgent=urgent, within_s=within_s
    )
    if result.outcome is not PictureOutcome.DONE or len(result.found.numbers) != _OCTETS:
        return None
    numbers = np.frombuffer(result.found.numbers, "<f4")
    return numbers if np.isfinite(numbers).all() else None


class EncoderMeanings:
    """Satisfies `oborona.policy.models.meaning.MeaningModel`.

    Args:
        encoding: the reader.
        weights: of the linear model in force; None = there is none, and nobody is asked.
        within_s: seconds that a message may wait.
        urgent: a mail server waits for the answer.
    """

    def __init__(
        self,
        encoding: TextEncoder,
        weights: Callable[[], Floats | None],
        *,
        within_s: float,
        urgent: bool = True,
    ) -> None:
        self._encoding = encoding
        self._weights = weights
        self._within_s = within_s
        self._urgent = urgent

    async def read(self, message: Message) -> float | None:
        """Return the probability that a message is spam by what it means.

        None where it is not known in time.
        """
        weights = self._weights()
        if weights is None:
            return None
        numbers = await encode_message(
            self._encoding, message, urgent=self._urgent, within_s=self._within_s
        )
        return None if numbers is None else probability(weights, numbers)
