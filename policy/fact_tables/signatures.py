"""Facts about what people have marked."""

from __future__ import annotations

from typing import Final

from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import Area, Words, fact
from oborona.types import Stage

_M = Stage.CONTENT

AREA: Final = Area(
    "Signatures",
    (
        fact(
            "signatures.spam",
            Words,
            _M,
            "ids of the spam signatures that are found in it; not of those in shadow mode or with a score of their own",
            example=frozenset({"PILLS_BY_POST"}),
        ),
        fact(
            "signatures.ham",
            Words,
            _M,
            "the same of signatures of good mail",
            example=frozenset({"MINUTES_OF_THE_CLUB"}),
        ),
        fact(
            "signatures.owners",
            Words,
            _M,
            "owners of all signatures found in it that are live",
            example=frozenset({"anna"}),
        ),
        fact(
            "signatures.spam_why",
            str,
            _M,
            "what `signatures.spam` are: id, words, owner and reason of each",
            example='PILLS_BY_POST "cheap pills by post" (anna: campaign of November)',
        ),
        fact(
            "signatures.ham_why",
            str,
            _M,
            "the same of `signatures.ham`",
            example='MINUTES_OF_THE_CLUB "minutes of the chess club" (bob)',
        ),
        fact(
            "signatures.marks",
            Words,
            _M,
            "lists of signatures with the flag `mark` that have something in it: NAME, and NAME:2 to NAME:9 where they have so many",
            example=frozenset({"MONEY_WORDS", "MONEY_WORDS:2"}),
            form=Form.CAPITAL,
        ),
        fact(
            "signatures.marked",
            str,
            _M,
            "what of those lists was found: the words or entities, three of them",
            example='"next of kin", "transfer the sum"',
        ),
    ),
)
