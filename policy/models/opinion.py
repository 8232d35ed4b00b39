"""What the content model says of one message."""

from __future__ import annotations

import msgspec


class ContentOpinion(msgspec.Struct, frozen=True, kw_only=True):
    """Of one message; empty where nothing has been learned yet."""

    probability: float | None = None  # of spam, calibrated; None: too little has been learned
    margin: float = 0.0  # what the linear model says before it is calibrated; above 0 is spam
    personal: float = 0.0  # what the one recipient's own corrections added to that
    spam_learned: int = 0  # messages
    ham_learned: int = 0
    meaning: float | None = None  # probability of spam by what its text means; None: nobody looked
    version: str = ""  # of the weights


UNTAUGHT = ContentOpinion()
