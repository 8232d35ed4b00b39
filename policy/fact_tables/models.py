"""Facts about what models say."""

from __future__ import annotations

from typing import Final

from oborona.policy.fact_tables.area import SHARE, Area, fact
from oborona.types import Stage

_M = Stage.CONTENT

AREA: Final = Area(
    "Models",
    (
        fact(
            "model.content",
            float,
            _M,
            "probability that it is spam, by the content model; none until that has learned enough",
            unit=SHARE,
            example=0.93,
            optional=True,
        ),
        fact(
            "model.spam_learned",
            int,
            _M,
            "spam messages that the content model has learned from",
            example=412,
        ),
        fact("model.ham_learned", int, _M, "the same of good ones", example=380),
        fact(
            "model.meaning",
            float,
            _M,
            "probability that it is spam, by what its text means; none where nobody looked at that",
            unit=SHARE,
            example=0.7,
            optional=True,
        ),
    ),
)
