"""What a model's file tells of its training, for `oborona model final status` and the report."""

from __future__ import annotations

import msgspec


class CatchRate(msgspec.Struct, frozen=True, kw_only=True):
    """Spam that is caught at a share of good mail lost."""

    lost: float  # share of good mail, 0..1
    caught: float  # share of spam
    low: float  # of 95 % of samples drawn again from the same mail
    high: float


class ModelQuality(msgspec.Struct, frozen=True, kw_only=True):
    """How well messages are told apart that nothing was trained on."""

    # (1-ROCA)%: of all pairs of a spam and a good message, how many are in the wrong order
    loss: float
    catches: tuple[CatchRate, ...]


class TrainingSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Of one training."""

    spam: int = 0  # messages
    ham: int = 0
    first: float = 0.0  # Unix seconds: when the first and the last of them came; 0 = not known
    last: float = 0.0
    judged: int = 0  # that were judged by a model of those before them
    score: ModelQuality | None = None  # of the score alone, on these
    final: ModelQuality | None = None  # of the final model
    importance: tuple[
        tuple[str, float], ...
    ] = ()  # share that each feature has in what is said, heaviest first
    software: str = ""  # that trained it, with versions
