"""Limits on flows, as a policy has them: tables whose expressions are checked and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from oborona.policy.expression.schema import Fact, FactSchema, PieceKind
from oborona.policy.expression.single_expression import SingleExpression
from oborona.policy.flow_limit_table import (
    FlowCount,
    FlowLimitTable,
    FlowSubject,
    FlowWindowName,
)
from oborona.policy.named_tables import Fields
from oborona.policy.sender_facts import SenderFacts, sender_facts
from oborona.policy.table_expressions import limit_formula, table_expression
from oborona.types import RuleMode, Stage

WORD: Final = "flow limit"


class FlowFacts(SenderFacts, kw_only=True):
    """What `limit` and `unless` may name, under the names of their fields."""

    address: str = ""
    account: str | None = None
    streams: float = 0.0


FLOW_FACTS: Final = (
    Fact(
        name="address",
        type=str,
        stage=Stage.CONNECT,
        doc="address of the machine; of a network or customer that of the account which sent most",
        example="192.0.2.5",
    ),
    Fact(
        name="account",
        type=str,
        stage=Stage.CONNECT,
        doc="id of the account that has the address; none where nobody is known to",
        example="firm-17",
        optional=True,
    ),
    *sender_facts(Stage.CONNECT),
    Fact(
        name="streams",
        type=float,
        stage=Stage.CONNECT,
        doc="streams of `each` in the window",
        example=120.0,
    ),
)
_SCHEMA: Final = FactSchema(facts=FLOW_FACTS, findings={})


class FlowLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit on flows that is switched on."""

    name: str
    each: FlowSubject
    count: FlowCount
    window: FlowWindowName
    limit: float | str  # as given; a text is a formula
    unless: str = ""
    mode: RuleMode = RuleMode.LIVE
    # None where the formula gives no number
    most: Callable[[FlowFacts], float | None]
    excused: Callable[[FlowFacts], bool]

    @property
    def shadow(self) -> bool:
        """Whether no account is stopped for it."""
        return self.mode is RuleMode.SHADOW


def flow_limit_of(fields: Fields) -> FlowLimit | None:
    """Return the limit that files give together; None if switched off.

    Raises:
        PolicyError: an expression that can't be used.
    """
    given: dict[str, Any] = {
        key: field.value
        for key, field in fields.items()
        if key in FlowLimitTable.__struct_fields__ and key not in ("enabled", "why")
    }
    if "enabled" in fields and not fields["enabled"].value:
        return None
    formula = given["limit"]
    most = SingleExpression(lambda _: float(formula), frozenset())
    if isinstance(formula, str):
        most = limit_formula(fields, _SCHEMA, FlowFacts(), WORD, "max(100, 0.5 * streams)")
    excused = SingleExpression(lambda _: False, frozenset())
    if "unless" in fields:
        excused = table_expression(fields, "unless", PieceKind.CONDITION, _SCHEMA, WORD)
    return FlowLimit(**given, most=most.value, excused=excused.value)
