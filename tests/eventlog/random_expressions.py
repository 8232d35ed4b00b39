# ruff: noqa: RUF001 - letters that look alike are the point
"""Random expressions of the rules' language over a log, and random rows: what engines and the
function of one row are held equal by.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules.columns import column_of, table_schema
from oborona.eventlog.rules.compile import CheckedTree
from oborona.eventlog.rules.cost import written_size
from oborona.eventlog.rules.networks import address_columns
from oborona.policy.event_columns import ColumnKind
from oborona.policy.event_logs import RuledLog
from oborona.policy.event_rules import LogRules
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.rules import Rule
from oborona.types import RuleMode

LOG: Final = RuledLog(
    name="CLICKS",
    columns={
        "agent": ColumnKind.TEXT,
        "place": ColumnKind.TEXT,
        "price": ColumnKind.NUMBER,
        "weight": ColumnKind.NUMBER,
        "robot": ColumnKind.FLAG,
        "shown": ColumnKind.TIME,
        "tags": ColumnKind.SET,
        "client": ColumnKind.ADDRESS,
    },
    events=("click", "show", "buy-now"),
)
LISTS: Final = {"AGENTS": ("curl", "Ab", "ПРИВЕТ"), "NOBODY": (), "OFFICE": ("192.0.2.0/24",)}
SCHEMA: Final = LOG.schema(LISTS)
COLUMNS: Final = table_schema(LOG, SCHEMA)
MOST_DEPTH: Final = 4
MOST_SIZE: Final = 3_000  # operations of one expression, so that many fit into one statement

_NUMBERS: Final = (
    "price", "weight", "person.day[click]", "person.kinds", "person.gap", "person.since[show]",
    "person.distinct[agent]", "threshold['buy-now']", "person.score", "time.now", "shown",
    "person.minute",
)  # fmt: skip
_LITERALS: Final = (
    "0", "1", "2", "3", "0.5", "0.1", "2.675", "0.025", "7", "100", "1e-9", "1000000",
    "1000000000000000", "300",
)  # fmt: skip
TEXTS: Final = (
    "", "a", "A", "Ab", "ab", "İ", "i̇", "ΑΣ", "ας", "ασ", "Σ", "straße", "ПРИВЕТ", "привет", "🤦🏼‍♂️",
    "curl", "curl/8.5", "a\nb", "é", "e\u0301", "ẞ", "ſ", "K", "k", "ﬁ", "192.0.2.7", "%", "_", "'",
    "ΑΣ ΒΣ.", "ΑΣ'", "\u1e9e\u03a3\u00ad", ",", "\\", "ǅ", "\U0001e900", "İΣ",
)  # fmt: skip
PATTERNS: Final = (
    "a", "^a", "b$", "a.b", "(?i)curl", "(?i)привет", "(?s)a.b", r"\bab\b", r"[^a-z]", r"\w+", r"\d", r"\s",
    "^$", "(?i)k", "(?i)s", "(?:a|b)+$", "[А-я]", "^(curl|ab)", r"^.{2,3}$", "(?m)^b", "(?m)a$", r"\S{3,}",
    r"\.", "(?i)[k-s]", r"[^\w]", r"\W$",
)  # fmt: skip
_NETWORKS: Final = (
    "'192.0.2.0/24'", "('192.0.2.7', '2001:db8::/32')", "'::/0'", "'0.0.0.0/0'", "OFFICE",
    "('::ffff:0:0/96', '10.0.0.0/8')", "'2001:db8::1:0/112'",
)  # fmt: skip
_ADDRESSES: Final = (
    "192.0.2.7", "192.0.3.1", "::ffff:192.0.2.9", "2001:db8::1", "2001:db8::1:5", "10.1.1.1", "::1", "::", "nonsense", "",
    "255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::1%eth0",
)  # fmt: skip
_ZONES: Final = ("", "'Europe/Moscow'", "'Europe/Berlin'", "'Asia/Kathmandu'", "'America/St_Johns'")
VALUES: Final = (
    None, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 2.675, 1.005, 0.025, -0.025,
    0.285, 1.115, 1e15, 2.0**53, -(2.0**53), 1e308, -1e308, 5e-324, 1e-9, 3.0, 7.0, -7.0, 100.0, 0.1, 0.3, 1e22,
    4503599627370497.5, 999999999999999.4, 0.45, 8.5, 123456.7895,
)  # fmt: skip


def emitted(tree: CheckedTree, engine: TableEngine = TableEngine.DUCKDB) -> ir.BooleanValue:
    """Return an expression over an empty table."""
    return tree.condition(
        ibis.table(COLUMNS, name="rows"), SCHEMA, LOG, engine, lambda _: ibis.literal(False)
    )


class ExpressionMaker:
    """Makes expressions of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def condition(self) -> str:
        """Return a condition that the checker takes."""
        while True:
            text = self._condition(self._random.randint(1, MOST_DEPTH))
            try:
                if written_size(emitted(CheckedTree(text, SCHEMA))) <= MOST_SIZE:
                    return text
            except ExpressionFault:
                continue

    def number(self) -> str:
        """Return a number that the checker takes."""
        while True:
            text = self._number(self._random.randint(1, MOST_DEPTH))
            try:
                # once it is written out, twice
                if written_size(emitted(CheckedTree(f"{text} == 0.25", SCHEMA))) <= MOST_SIZE:
                    return text
            except ExpressionFault:
                continue

    def _one(self, *makers: Callable[[], str]) -> str:
        return self._random.choice(makers)()

    def _pick(self, several: tuple[str, ...]) -> str:
        return self._random.choice(several)

    def _number(self, depth: int) -> str:
        if depth <= 0:
            return self._one(lambda: self._pick(_NUMBERS), lambda: self._pick(_LITERALS))
        less = depth - 1
        n, c, t = partial(self._number, less), partial(self._condition, less), partial(self._text, less)  # fmt: skip
        return self._one(
            lambda: self._pick(_NUMBERS),
            lambda: f"({n()} {self._pick(('+', '-', '*', '/', '//', '%'))} {n()})",
            lambda: f"({n()} {self._pick(('/', '//', '%'))} {n()})",
            lambda: f"-{n()}",
            lambda: f"abs({n()})",
            lambda: f"round({n()})",
            lambda: f"round({n()}, {self._random.randint(0, 9)})",
            lambda: f"{self._pick(('min', 'max'))}({n()}, {n()}, {n()})",
            lambda: f"share({n()}, {n()})",
            lambda: f"log_odds({n()})",
            lambda: f"len({t()})",
            lambda: "len(tags)",
            lambda: f"{self._pick(('hour', 'weekday'))}({self._pick(_ZONES)})",
            lambda: f"({c()} + {n()})",
            lambda: f"({n()} if {c()} else {self._one(n, lambda: 'none')})",
        )

    def _text(self, depth: int) -> str:
        if depth <= 0:
            return self._one(
                lambda: self._pick(("agent", "place", "event", "client")),
                lambda: repr(self._pick(TEXTS)),
            )
        less = depth - 1
        return self._one(
            lambda: self._pick(("agent", "place")),
            lambda: f"lower({self._text(less)})",
            lambda: f"({self._text(less)} if {self._condition(less)} else {self._text(less)})",
        )

    def _condition(self, depth: int) -> str:
        if depth <= 0:
            return self._pick(("robot", "duplicate", "person.abnormal", "true", "robot == none"))
        less = depth - 1
        n, c, t = partial(self._number, less), partial(self._condition, less), partial(self._text, less)  # fmt: skip
        sign = partial(self._pick, ("<", "<=", ">", ">=", "==", "!="))
        return self._one(
            lambda: f"{n()} {sign()} {n()}",
            lambda: f"{n()} {sign()} {n()} {sign()} {n()}",
            lambda: f"({c()} and {c()})",
            lambda: f"({c()} or {c()})",
            lambda: f"not ({c()})",
            lambda: f"not ({n()} {sign()} {n()})",
            lambda: f"{t()} {self._pick(('==', '!=', 'in', 'not in'))} {t()}",
            lambda: f"{t()} {self._pick(('in', 'not in'))} {self._list()}",
            lambda: f"{n()} {self._pick(('in', 'not in'))} (1, 2, 0.5, 3)",
            lambda: (
                f"{self._pick((repr(self._pick(TEXTS)), 'agent', 'lower(agent)'))} {self._pick(('in', 'not in'))} tags"
            ),
            lambda: f"{self._pick(('contains', 'startswith', 'endswith'))}({t()}, {t()})",
            lambda: f"{self._pick(('startswith', 'endswith'))}({t()}, {self._list()})",
            lambda: (
                f"{self._pick(('contains', 'startswith', 'endswith'))}(tags, {self._pick(TEXTS)!r})"
            ),
            lambda: f"{self._pick(('startswith', 'endswith'))}(tags, {self._list()})",
            lambda: f"matches({t()}, r'{self._pick(PATTERNS)}')",
            lambda: f"in_networks(client, {self._pick(_NETWORKS)})",
            lambda: (
                f"{self._pick(('agent', 'price', 'robot', 'person.gap', n()))} {self._pick(('==', '!='))} none"
            ),
            lambda: f"(robot {self._pick(('==', '!='))} {c()})",
            lambda: f"({c()} if {c()} else {c()})",
        )

    def _list(self) -> str:
        return self._one(
            lambda: self._pick(("AGENTS", "NOBODY")),
            lambda: (
                f"[{', '.join(repr(self._pick(TEXTS)) for _ in range(self._random.randint(0, 3)))}]"
            ),
        )


def rules_of(texts: list[str]) -> LogRules:
    """Return expressions as the rules R0, R1, ... of the log."""
    rules = [
        Rule(name=f"R{number}", when=text, score=0.0, mode=RuleMode.LIVE)
        for number, text in enumerate(texts)
    ]
    return LogRules(LOG, rules, LISTS)


def rows_of(seed: int, count: int) -> pa.Table:
    """Return random rows with all columns that rules over the log may name."""
    chance = random.Random(seed)
    types = table_schema(LOG, SCHEMA).to_pyarrow()
    columns: dict[str, list[Any]] = {name: [] for name in types.names}
    for number in range(count):
        for name, column in columns.items():
            column.append(_value(chance, name, types.field(name).type, number))
    columns["client_high"], columns["client_low"] = address_columns(columns["client"])
    return pa.table(columns, schema=types)


def _value(chance: random.Random, name: str, kind: pa.DataType, number: int) -> Any:
    if name in ("client_high", "client_low"):
        return None  # made of the addresses
    if name == "id":
        return number
    if name == "event":
        return chance.choice((*LOG.events, "other", None))
    if name == "client":
        return chance.choice((None, *_ADDRESSES))
    if pa.types.is_timestamp(kind):
        return _time(chance)
    if pa.types.is_list(kind):
        return chance.choice(
            (None, [], [chance.choice(TEXTS)], [chance.choice((*TEXTS, None)) for _ in range(4)])
        )
    if pa.types.is_string(kind):
        return chance.choice((None, *TEXTS))
    if pa.types.is_boolean(kind):
        return chance.choice((None, True, False))
    if name.startswith(("person_day", "person_distinct")) or name in COUNTS:
        return chance.choice((None, 0, 1, 2, 3, 300))
    if pa.types.is_floating(kind):
        return chance.choice((*VALUES, chance.uniform(-10, 10), round(chance.uniform(-9, 9), 3)))
    return chance.choice((None, chance.randint(-5, 5)))


def _time(chance: random.Random) -> datetime | None:
    """Return a time: around the ends of what has an hour, a change of summer time, or any."""
    micros = {
        0: chance.randint(-(10**9), 10**9),
        1: 4_102_444_800 * 10**6 + chance.randint(-(10**9), 10**9),
        2: 1_774_746_000 * 10**6 + chance.randint(-5, 5),
    }.get(chance.randint(0, 9), chance.randint(0, 4_102_444_800 * 10**6 - 1))
    return None if chance.random() < 0.1 else datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001


COUNTS: Final = frozenset(column_of(fact.name) for fact in SCHEMA.facts if fact.type is int)
