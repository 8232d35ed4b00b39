"""The `[[event_rule]]` tables of policy files: conditions on the rows of a log of events.

[[event_rule]]
name = "PARDONS_ONLY"
log  = "FEEDBACK"
when = "event == 'pardon' and person.day[complaint] == 0 and person.day[pardon] > 3"
say  = "{person.day[pardon]:d} pardons in a day, and not one complaint"

The language is that of `[[rule]]`, over the columns of the log (`oborona.policy.event_logs`).  A
rule has no score: the names of those that fire are a column of the checked row.  `fired(OTHER)`
asks for another rule of the same log.  A rule with `over = "day"` looks at a whole day once it is
over, and not at each table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.errors import PolicyError
from oborona.policy.event_logs import RuledLog
from oborona.policy.expression import CompiledRules, FactSchema, compile_rules
from oborona.policy.expression.rule_set import RuleWarning
from oborona.policy.faults import PolicyFaults
from oborona.policy.named_tables import MAX_TEXT, Enabled, Fields, Name, TableSort, Why, refuse
from oborona.policy.own_event_logs import OWN_LOGS
from oborona.policy.rule_tests import FailedRuleTest, run_tests
from oborona.policy.rules import MAX_TESTS, Rule, tests
from oborona.toml import TomlPlace, did_you_mean
from oborona.types import RuleMode

MAX_EVENT_RULES: Final = 2_000


class EventRuleSpan(StrEnum):
    """What a rule looks at."""

    TABLE = "table"  # each table when it is checked, and the whole day again
    DAY = "day"  # the whole day alone


class EventRuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an `[[event_rule]]` table; this is their only list."""

    name: Name
    log: (
        Annotated[str, Meta(max_length=64, description="The event log whose rows it looks at.")]
        | UnsetType
    ) = UNSET
    when: Annotated[str, Meta(max_length=MAX_TEXT, description="The condition.")] | UnsetType = (
        UNSET
    )
    say: (
        Annotated[str, Meta(max_length=1000, description="Its words in the explanation.")]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: counted, and no part of the checked row.")]
        | UnsetType
    ) = UNSET
    over: (
        Annotated[
            EventRuleSpan,
            Meta(
                description="table: each table when it is checked, and the whole day again. day: "
                "the whole day alone, once it is over."
            ),
        ]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET
    test: (
        Annotated[
            list[Any],
            Meta(
                max_length=MAX_TESTS,
                description="Cases that `oborona policy check` tries it with.",
                extra={"allowed": f"tables, each under [[event_rule.test]], at most {MAX_TESTS}"},
            ),
        ]
        | UnsetType
    ) = UNSET


DECLARED_ELSEWHERE: Final = "event_log"
DECLARE_SO: Final = (
    "[[event_log]] is no table of the policy: a log of others is declared in a file of its own, "
    "eventlog.d/NAME.toml beside oborona.toml, with its columns and, as events = [...], its kinds of "
    "events; our own logs need no declaration. Remove this table"
)
EVENT_RULES: Final = TableSort(
    "event_rule", "event rule", EventRuleTable, MAX_EVENT_RULES, (("log",), ("when",)), tests
)


class LogRules:
    """The rules of one log, checked, and compiled to the function of one row.

    Attributes:
        log: the log.
        schema: what they may name.
        compiled: the function of a facts object.
    """

    def __init__(
        self, log: RuledLog, rules: Iterable[Rule], lists: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Check the rules.

        Raises:
            PolicyError: conditions or words that can't be used, each with its place.
        """
        self.log = log
        self.schema: FactSchema = log.schema(lists)
        self.compiled: CompiledRules = compile_rules(tuple(rules), self.schema)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them, those switched off included."""
        return self.compiled.rules


class EventPolicy:
    """What a policy says of logs of events.

    Args:
        logs: all that are known, by name.
        lists: named texts.
        rules_over: the rules over each log, those over logs that are not known, too.
        by_log: the rules of each log that is known: all of them look at whole days.
        of_tables: those of them that look at each table.
        unchecked: what is to be said of each rule over a log that is not known, with its place.
    """

    def __init__(
        self,
        logs: Mapping[str, RuledLog] = MappingProxyType({}),
        lists: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        rules_over: Mapping[str, tuple[Rule, ...]] = MappingProxyType({}),
        by_log: Mapping[str, LogRules] = MappingProxyType({}),
        of_tables: Mapping[str, LogRules] = MappingProxyType({}),
        unchecked: tuple[PolicyError, ...] = (),
    ) -> None:
        self.logs = logs
        self.lists = lists
        self.rules_over = rules_over
        self.by_log = by_log
        self.of_tables = of_tables
        self.unchecked = unchecked

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of all logs."""
        return tuple(rule for rules in self.rules_over.values() for rule in rules)

    @property
    def warnings(self) -> tuple[RuleWarning, ...]:
        """What is allowed, and hardly meant."""
        return tuple(one for rules in self.by_log.values() for one in rules.compiled.warnings)

    def refuse_unchecked(self) -> None:
        """Refuse rules over logs that are not known.

        Raises:
            PolicyError: there are such rules, each with its place.
        """
        faults = PolicyFaults()
        for problem in self.unchecked:
            with faults:
                raise problem
        faults.end()

    def failed_tests(self) -> Iterator[FailedRuleTest]:
        """Yield the tests beside the rules that fail."""
        for rules in self.by_log.values():
            yield from run_tests(rules.compiled, ())


NO_EVENTS: Final = EventPolicy()


def event_policy(
    logs: Iterable[RuledLog],
    lists: Iterable[Fields],
    rules: Iterable[Fields],
    faults: PolicyFaults,
) -> EventPolicy:
    """Return what files say together.

    Args:
        logs: that are declared, beside our own.
        lists: tables of named lists.
        rules: tables of rules.
        faults: gets each rule that can't be used, with its place.
    """
    known = {log.name: log for log in (*OWN_LOGS, *logs)}
    named = {table["name"].value: tuple(table["entries"].value) for table in lists}
    of: dict[str, list[tuple[EventRuleSpan, Rule]]] = {name: [] for name in known}
    unchecked = []
    for fields in rules:
        log, place = fields["log"]
        if log not in known:
            unchecked.append(refuse(_undeclared(fields["name"].value, log, known), place))
        of.setdefault(log, []).append((_span(fields), _rule(fields)))
    by_log: dict[str, LogRules] = {}
    of_tables: dict[str, LogRules] = {}
    for name, one in known.items():
        spanned = of[name]
        with faults:
            by_log[name] = LogRules(one, [rule for _, rule in spanned], named)
            # by themselves: fired() of one of them can't name a rule over days
            some = [rule for span, rule in spanned if span is EventRuleSpan.TABLE]
            whole = len(some) == len(spanned)
            of_tables[name] = by_log[name] if whole else LogRules(one, some, named)
    rules_over = {name: tuple(rule for _, rule in spanned) for name, spanned in of.items()}
    return EventPolicy(known, named, rules_over, by_log, of_tables, tuple(unchecked))


def _undeclared(rule: str, log: str, known: Iterable[str]) -> str:
    hint = did_you_mean(log, known)
    return f"event rule {rule}: no event log is called {log[:60]}{hint}" + (
        "" if hint.endswith("?") else f"; a file eventlog.d/{log[:60].lower()}.toml declares it"
    )


def _span(fields: Fields) -> EventRuleSpan:
    return fields["over"].value if "over" in fields else EventRuleSpan.TABLE


def _rule(fields: Fields) -> Rule:
    places: dict[str, TomlPlace] = {key: field.place for key, field in fields.items()}
    values = {key: field.value for key, field in fields.items() if key not in ("log", "over")}
    return Rule(score=0.0, places=places, **values)
