"""Limits on outgoing mail, as a policy has them: tables whose expressions are checked and compiled.

An account without a past has a usual day of 0, not none, so that `max(200, 5 * usual)` is 200 for
it; a formula that gives it nothing to send is refused when the policy is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from oborona.policy.expression.schema import Fact, FactSchema, PieceKind
from oborona.policy.expression.single_expression import SingleExpression
from oborona.policy.limit_table import (
    LimitAction,
    LimitCount,
    LimitSubject,
    LimitTable,
    LimitWindow,
)
from oborona.policy.named_tables import Fields, refuse
from oborona.policy.sender_facts import SenderFacts, sender_facts
from oborona.policy.table_expressions import limit_formula, table_expression
from oborona.types import RuleMode, Stage

COUNTED_FOR: Final[Mapping[LimitCount, frozenset[LimitSubject]]] = {
    LimitCount.MESSAGES: frozenset(LimitSubject),
    LimitCount.RECIPIENTS: frozenset(LimitSubject),
    LimitCount.OCTETS: frozenset(LimitSubject),
    LimitCount.NEW_RECIPIENTS: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.FIRST_CONTACTS: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.ADDRESSES: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.COUNTRIES: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.SPAM: frozenset({LimitSubject.ACCOUNT, LimitSubject.ADDRESS}),
    LimitCount.BOUNCES: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.UNKNOWN_USERS: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.COMPLAINTS: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.FAILED_LOGINS: frozenset({LimitSubject.ACCOUNT}),
    LimitCount.TRAPS: frozenset({LimitSubject.ACCOUNT}),
}
"""Whose numbers of each sort are kept."""


class LimitFacts(SenderFacts, kw_only=True):
    """What `limit` and `unless` may name, under the names of their fields.

    The past is each limit's own.
    """

    login: str = ""
    domain: str = ""
    client_ip: str = ""
    sender: str = ""
    recipients: int = 0
    sent: int = 0
    sent_most: int = 0
    elsewhere: bool | None = None
    usual: float = 0.0
    age_days: int = 0


LIMIT_FACTS: Final = (
    Fact(
        name="login",
        type=str,
        stage=Stage.SENDER,
        doc="login of the account, in lower case; empty for mail without one",
        example="ann@example.org",
    ),
    Fact(
        name="domain",
        type=str,
        stage=Stage.SENDER,
        doc="domain of the login; empty for a login without one",
        example="example.org",
    ),
    Fact(
        name="client.ip",
        type=str,
        stage=Stage.SENDER,
        doc="address of the SMTP client",
        example="192.0.2.25",
    ),
    Fact(
        name="sender",
        type=str,
        stage=Stage.SENDER,
        doc="MAIL FROM, as the client gave it",
        example="ann@example.org",
    ),
    Fact(
        name="recipients",
        type=int,
        stage=Stage.SENDER,
        doc="recipients of this message; 0 before they are named",
        example=3,
    ),
    *sender_facts(Stage.SENDER),
    Fact(
        name="sent",
        type=int,
        stage=Stage.SENDER,
        doc="recipients that mail of `each` was taken for in the limit's window; without this "
        "message",
        example=1200,
    ),
    Fact(
        name="sent_most",
        type=int,
        stage=Stage.SENDER,
        doc="the same of the last 24 hours, or of the largest of the 13 days before today, if that "
        "is more: what is said today may be of that day's mail",
        example=20000,
    ),
    Fact(
        name="elsewhere",
        type=bool,
        stage=Stage.SENDER,
        doc="the account sends from where it is not known, as `repuser.elsewhere` of rules; none "
        "without a login",
        example=True,
        optional=True,
    ),
    Fact(
        name="usual",
        type=float,
        stage=Stage.SENDER,
        doc="what `count` is on an ordinary day of `each`; 0 with fewer than five days to tell by",
        example=40.0,
    ),
    Fact(
        name="age_days",
        type=int,
        stage=Stage.SENDER,
        doc="days since the first of the last fourteen on which there was any; 13 at most",
        unit="days",
        example=13,
    ),
)
WORD: Final = "limit"
_SCHEMA: Final = FactSchema(facts=LIMIT_FACTS, findings={})
_OF_PAST: Final = frozenset({"usual", "age_days"})
_SENT_MOST: Final = "sent_most"
_SENT: Final = frozenset({"sent", _SENT_MOST})
_ELSEWHERE: Final = "elsewhere"
_ALWAYS: Final = SingleExpression(lambda _: False, frozenset())  # it holds for everybody


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that is switched on."""

    name: str
    each: LimitSubject
    count: LimitCount
    window: LimitWindow
    limit: float | str  # as given; a text is a formula
    then: LimitAction
    unless: str = ""
    mode: RuleMode = RuleMode.LIVE
    say: str = ""
    # None where the formula gives no number
    most: Callable[[LimitFacts], float | None]
    excused: Callable[[LimitFacts], bool]
    asks_past: bool  # for `usual` or `age_days`
    asks_sent: bool  # for `sent` or `sent_most`
    asks_sent_most: bool
    asks_place: bool  # for `elsewhere`

    @property
    def shadow(self) -> bool:
        """Whether it does nothing but say so."""
        return self.mode is RuleMode.SHADOW


def limit_of(fields: Fields) -> Limit | None:
    """Return the limit that files give together; None if switched off.

    Raises:
        PolicyError: an expression that can't be used, or what is not counted for `each`.
    """
    given: dict[str, Any] = {
        key: field.value
        for key, field in fields.items()
        if key in LimitTable.__struct_fields__ and key not in ("enabled", "why")
    }
    if "enabled" in fields and not fields["enabled"].value:
        return None
    if given["each"] not in COUNTED_FOR[given["count"]]:
        allowed = " or ".join(sorted(COUNTED_FOR[given["count"]]))
        raise refuse(
            f'limit {given["name"]}: each = "{given["each"]}": {given["count"]} are counted by '
            f"{allowed} only",
            fields["each"].place,
        )
    formula, unless = given["limit"], _ALWAYS
    most = SingleExpression(lambda _: float(formula), frozenset())
    if isinstance(formula, str):
        most = limit_formula(fields, _SCHEMA, LimitFacts(), WORD, "max(200, 5 * usual)")
    if "unless" in fields:
        unless = table_expression(fields, "unless", PieceKind.CONDITION, _SCHEMA, WORD)
    return Limit(
        **given,
        most=most.value,
        excused=unless.value,
        asks_past=not _OF_PAST.isdisjoint(most.named | unless.named),
        asks_sent=not _SENT.isdisjoint(most.named | unless.named),
        asks_sent_most=_SENT_MOST in most.named | unless.named,
        asks_place=_ELSEWHERE in most.named | unless.named,
    )
