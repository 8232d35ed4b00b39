"""The model on meaning during a backtest: each message is scored by the weights that earlier mail
gave.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from oborona.message.model import Message
from oborona.policy.models.meaning import fit, probability

Floats = NDArray[np.float32]
Encode = Callable[[Message], Awaitable[Floats | None]]

FEWEST: Final = 50  # messages of each kind, before it speaks
GROWTH: Final = 1.5  # it is fitted again when there is so much more mail


class BacktestMeaningModel:
    """A `Meanings` that learns.

    Args:
        encode: returns the numbers of a message; None where they are not to be had.
    """

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._numbers: list[Floats] = []
        self._spam: list[bool] = []
        self._next = 2 * FEWEST
        self._weights: Floats | None = None

    async def read(self, message: Message) -> float | None:
        """Return the probability that a message is spam, by the mail before it."""
        if self._weights is None:
            return None
        numbers = await self._encode(message)
        return None if numbers is None else probability(self._weights, numbers)

    async def learn(self, message: Message, *, spam: bool) -> None:
        """Take a message with what people say of it."""
        numbers = await self._encode(message)
        if numbers is None:
            return
        self._numbers.append(numbers)
        self._spam.append(spam)
        if len(self._spam) >= self._next and self._both():
            self._weights = self.fitted()
            self._next = int(len(self._spam) * GROWTH)

    def fitted(self) -> Floats | None:
        """Return the weights that all mail so far gives; None where it is too little."""
        return fit(np.array(self._numbers), np.array(self._spam)) if self._both() else None

    def _both(self) -> bool:
        return min(sum(self._spam), len(self._spam) - sum(self._spam)) >= FEWEST
