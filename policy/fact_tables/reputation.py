"""Facts about who stands behind a message: what was proved of the sender, and what is remembered of him and of what the message names."""

from __future__ import annotations

from typing import Final

from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import SHARE, Area, Words, fact
from oborona.reputation.flag import Flag
from oborona.types import Stage

_S, _M = Stage.SENDER, Stage.CONTENT
_POINTS: Final = "points, -100 to 100"

AREA: Final = Area(
    "Reputation",
    (
        fact(
            "sender.proved",
            str,
            _S,
            "MAIL FROM, where SPF passed for its domain; else empty",
            example="anna@example.org",
            form=Form.SMALL,
        ),
        fact(
            "author",
            str,
            _M,
            "the address in From, where authentication proved it; else empty",
            example="anna@example.org",
            form=Form.SMALL,
        ),
        fact(
            "author.domain",
            str,
            _M,
            "its registrable domain, where it was proved",
            example="example.org",
            form=Form.SMALL,
        ),
        fact(
            "repuser.flag",
            str,
            _S,
            "what is remembered of the login, or else of the proved author, or else of the proved sender",
            words=tuple(Flag),
            example="good",
        ),
        fact(
            "repuser.share",
            float,
            _S,
            "expected share of bad mail from him; 0.5 where nothing is known",
            unit=SHARE,
            example=0.05,
        ),
        fact(
            "repuser.first",
            bool,
            _M,
            "no recipient, of the first four, had mail from this author (MAIL FROM where none is proved) in two weeks, the last 24 hours left out; none where that is not known",
            example=True,
            optional=True,
        ),
        fact(
            "repentity.flag",
            str,
            _M,
            "what is remembered of the worst of the message's links, domains, telephones, wallets, attachments and pictures",
            words=tuple(Flag),
            example="bad",
        ),
        fact("repentity.worst", float, _M, "its trust, 0 or below", unit=_POINTS, example=-85.0),
        fact("repentity.bad", int, _M, "how many of them are bad", example=1),
        fact(
            "repentity.sudden",
            int,
            _M,
            "link domains that were quiet for two weeks, and are today in many messages of many authors",
            example=1,
        ),
        fact("repentity.fresh", int, _M, "link domains that no message had before the last day", example=1),
        fact(
            "repentity.shared",
            Words,
            _M,
            "link domains that many senders share, which are not judged: shorteners, places for everybody's files",
            example=frozenset({"bit.ly"}),
            form=Form.SMALL,
        ),
        fact(
            "repentity.why",
            str,
            _M,
            "the worst of them, as text",
            example="link domain win.example: 390 spam of 400",
        ),
        fact(
            "karma",
            float,
            _M,
            "one number for who stands behind the message, from all that is remembered; 0 where nothing is",
            unit=_POINTS,
            example=37.0,
        ),
        fact(
            "karma.why", str, _M, "its parts", example="author +31 (1 spam of 90), domain +6 (3 spam of 400)"
        ),
    ),
)
