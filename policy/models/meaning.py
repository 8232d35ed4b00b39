"""What a text means, as a probability of spam: a linear model on the numbers of a sentence encoder,
for grey mail alone.

The encoder (universal sentence encoder, 16 languages) is a process of its own; what is here is text
in, and numbers out of its numbers.
Source: Y. Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", 2019;
logistic regression with a ridge, by Newton's method.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from oborona.message.model import Message
from oborona.policy.models import odds
from oborona.policy.tables import MeaningTable
from oborona.types import Action, Verdict

NUMBERS: Final = 512  # of a text
# of a text: what it is about stands in its beginning, and each thousand costs 15 ms
CHARACTERS: Final = 1000
LEAST: Final = 3  # words: less means nothing
RIDGE: Final = 3.0  # against learning single messages by heart: 512 numbers tell many apart
ROUNDS: Final = 30
SMALLEST: Final = 1e-6  # step at which it stands still

Floats = NDArray[np.float32]


class MeaningModel(Protocol):
    """A model that scores what a text means."""

    async def read(self, message: Message) -> float | None:
        """Return the probability that a message is spam by what it means.

        None where nobody can say, or not in time.
        """
        ...


class NoMeaningModel:
    """No model on meaning."""

    async def read(self, message: Message) -> float | None:
        """Say nothing."""
        return None


def wants_meaning(
    message: Message, verdict: Verdict, table: MeaningTable, *, spam_score: float
) -> bool:
    """Tell whether a verdict should wait until the meaning of its message is known: it is grey, and
    has words.

    Args:
        message: that was judged.
        verdict: without it.
        table: from which score on.
        spam_score: from here on it is spam anyway.
    """
    grey = verdict.action is Action.ACCEPT and table.wait_from <= verdict.score < spam_score
    return grey and message.words >= LEAST


def text_of(message: Message) -> bytes:
    """Return what is encoded of a message: subject and text as a reader sees them, UTF-8, cut."""
    return f"{message.subject}\n{message.text}"[:CHARACTERS].encode("utf-8", "replace")


def probability(weights: Floats, numbers: Floats) -> float:
    """Return the probability of spam.

    Args:
        weights: one for each number, and an offset behind them.
        numbers: of a text.
    """
    return float(odds.probability(float(numbers @ weights[:-1]) + float(weights[-1])))


def fit(numbers: Floats, spam: NDArray[np.bool_]) -> Floats:
    """Return the weights that fit texts of both kinds best.

    Spam and good mail weigh the same together.

    Args:
        numbers: [text, number].
        spam: of each text.
    """
    rows = np.hstack((numbers.astype(np.float64), np.ones((len(numbers), 1))))
    sizes = np.where(spam, 0.5 / spam.sum(), 0.5 / (~spam).sum()) * len(spam)
    ridge = np.full(rows.shape[1], RIDGE)
    ridge[-1] = 1e-6  # the offset is free
    weights = np.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        probabilities = odds.probability(rows @ weights)
        slope = rows.T @ (sizes * (probabilities - spam)) + ridge * weights
        curve = (rows * (sizes * probabilities * (1 - probabilities))[:, None]).T @ rows + np.diag(
            ridge
        )
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < SMALLEST:
            break
    return weights.astype(np.float32)
