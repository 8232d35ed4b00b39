"""Facts about the text."""

from __future__ import annotations

from typing import Final

from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import SHARE, Area, fact
from oborona.policy.facts import TEXT_LIMIT
from oborona.types import Stage

_M = Stage.CONTENT

AREA: Final = Area(
    "Text",
    (
        fact(
            "text",
            str,
            _M,
            "the visible text; the first 65,536 characters",
            example="dear bob, lunch on friday?",
            form=Form.FOLDED,
            longest=TEXT_LIMIT,
        ),
        fact(
            "text.raw",
            str,
            _M,
            "the same as it was sent: capitals, letters of each script, line ends; as many characters",
            example="Dear Bob,\nlunch on Friday?",
            longest=TEXT_LIMIT,
        ),
        fact(
            "text.language",
            str,
            _M,
            "its language; none where there is too little text",
            unit="ISO 639-1",
            example="ru",
            optional=True,
            form=Form.SMALL,
            longest=2,
        ),
        fact(
            "text.charset",
            str,
            _M,
            "the charset it was read in, declared or found out: utf-8, us-ascii, windows-1251, koi8-r, gbk, ...",
            example="utf-8",
        ),
        fact("text.words", int, _M, "words of the visible text", example=120),
        fact("text.length", int, _M, "the visible text, as it was sent", unit="characters", example=640),
        fact(
            "text.own_share",
            float,
            _M,
            "what is left of it without quotations, signature and boilerplate; none where there is no text",
            unit=SHARE,
            example=0.8,
            optional=True,
        ),
        fact(
            "text.hidden_share",
            float,
            _M,
            "hidden words of the HTML, among all",
            unit=SHARE,
            example=0.0,
        ),
        fact("html", bool, _M, "there is an HTML part", example=True),
        fact("html.only", bool, _M, "there is one, and no plain text beside it", example=False),
        fact(
            "html.share",
            float,
            _M,
            "octets of HTML parts among those of all text parts, as sent; none where there are none",
            unit=SHARE,
            example=0.7,
            optional=True,
        ),
    ),
)
