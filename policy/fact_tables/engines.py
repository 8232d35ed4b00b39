"""Facts about what other engines say."""

from __future__ import annotations

from typing import Final

from oborona.policy.fact_tables.area import Area, Words, fact
from oborona.types import Stage

_M = Stage.CONTENT
_SAYS: Final = ("good", "perhaps", "certain", "unknown")

AREA: Final = Area(
    "Other engines",
    (
        fact(
            "rspamd.says",
            str,
            _M,
            "what rspamd's action stands for; unknown: no answer in time; none where it was not asked",
            words=_SAYS,
            example="perhaps",
            optional=True,
        ),
        fact("rspamd.score", float, _M, "its score; none without an answer", example=7.5, optional=True),
        fact(
            "rspamd.symbols",
            Words,
            _M,
            "its symbols, at most 64, the weightiest",
            example=frozenset({"BAYES_SPAM"}),
        ),
        fact(
            "spamd.says",
            str,
            _M,
            "what SpamAssassin's score stands for, as of `rspamd.says`",
            words=_SAYS,
            example="good",
            optional=True,
        ),
        fact("spamd.score", float, _M, "its score; none without an answer", example=2.1, optional=True),
        fact(
            "spamd.symbols",
            Words,
            _M,
            "its rules that fired, at most 64",
            example=frozenset({"HTML_MESSAGE"}),
        ),
        fact(
            "clamd.says",
            str,
            _M,
            "what ClamAV's finding stands for, as of `rspamd.says`",
            words=_SAYS,
            example="certain",
            optional=True,
        ),
        fact(
            "clamd.virus",
            str,
            _M,
            "its name for what it found; empty where that is nothing",
            example="Win.Test.EICAR_HDB-1",
        ),
    ),
)
