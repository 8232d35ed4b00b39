"""What a judgement consists of."""

from __future__ import annotations

import msgspec

from oborona.reputation.flag import ReputationFlag


class HistoryMeasure(msgspec.Struct, frozen=True):
    """One thing that can be told of a past."""

    name: str
    value: float  # what it means, and in which unit, its function says
    confidence: float  # 0 = rests on nothing, to 1
    say: str = ""  # the evidence in words; empty where there is none
    points: float = 0.0  # what it is of the trust points; `judge` says how


class EntityJudgement(msgspec.Struct, frozen=True):
    """What is to be expected of an entity, and why."""

    flag: ReputationFlag
    trust: float  # points, -100 to 100; 0 = nothing is known
    measures: tuple[HistoryMeasure, ...]  # all of them, in the order of `judge`
    say: str  # the evidence in words, the weightiest first; empty where there is none
