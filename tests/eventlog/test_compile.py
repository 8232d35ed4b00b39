"""Rules of a policy as columns of a table: modes, names, what an engine can't do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import ibis
import pytest

from oborona.config.eventlog import TableEngine
from oborona.errors import PolicyError
from oborona.eventlog.rules.columns import column_of
from oborona.eventlog.rules.compile import (
    compile_rules,
    live_names,
    needed_facts,
    with_rules,
)
from oborona.eventlog.rules.networks import halves
from oborona.eventlog.rules.row import RowRules
from oborona.policy.event_columns import ColumnKind
from oborona.policy.event_logs import RuledLog
from oborona.policy.event_rules import LogRules
from oborona.policy.expression import REFERENCE
from oborona.policy.expression.table_dialect import REFUSED
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from tests.eventlog.made_rows import source

CLICKS: Final = RuledLog(
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


def rule(name: str, when: str, more: str = "") -> str:
    return f"\n[[event_rule]]\nname = '{name}'\nlog = 'CLICKS'\nwhen = '''{when}'''\n{more}\n"


def loaded(folder: Path, *rules: str) -> LogRules:
    (folder / "10.toml").write_text("".join(rules))
    return load_policy(folder, SCHEMA, logs=[CLICKS]).events.by_log["CLICKS"]


ROWS: Final[list[dict[str, Any]]] = [
    {"event": "click", "price": 9.0, "agent": "curl"},
    {"event": "click", "price": 1.0},
    {"event": "show"},
]


def columns(rules: LogRules) -> list[list[str]]:
    made = ibis.memtable(source(ROWS))
    compiled = compile_rules(rules, rules.log)
    found = with_rules(made, compiled, live_names(rules)).order_by("id").to_pyarrow()
    assert found.column_names == [*made.columns, "rules"]
    names: list[list[str]] = found["rules"].to_pylist()
    return names


def test_a_row_shows_the_live_rules_that_fire_in_their_order(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        rule("Z_CLICK", "event == 'click'"),
        rule("A_DEAR", "price > 5"),
        rule("TRIED", "true", "mode = 'shadow'"),
        rule("OFF", "true", "enabled = false"),
    )
    assert columns(rules) == [["Z_CLICK", "A_DEAR"], ["Z_CLICK"], []]
    assert set(compile_rules(rules, rules.log)) == {"Z_CLICK", "A_DEAR", "TRIED"}
    assert needed_facts(rules) == {"event", "price"}


def test_no_live_rule_is_an_empty_list(tmp_path: Path) -> None:
    assert columns(loaded(tmp_path, rule("TRIED", "true", "mode = 'shadow'"))) == [[], [], []]


def test_a_rule_asks_for_others_as_the_function_of_a_row_does(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        rule("BOTH", "fired(CLICK) and fired(DEAR)"),
        rule("CLICK", "event == 'click'"),
        rule("DEAR", "price > 5"),
        rule("TRIED", "event == 'click'", "mode = 'shadow'"),
        rule("LIVE_OF_TRIED", "fired(TRIED)"),
        rule("TRIED_OF_TRIED", "fired(TRIED) and fired(CLICK)", "mode = 'shadow'"),
        rule("OFF", "true", "enabled = false"),
        rule("OF_OFF", "not fired(OFF)"),
    )
    compiled = compile_rules(rules, rules.log)
    made = ibis.memtable(source(ROWS))
    found = made.select("id", **{name: of(made) for name, of in compiled.items()}).order_by("id")
    by_row = RowRules(rules, rules.log)
    for row, flags in zip(ROWS, found.to_pyarrow().to_pylist(), strict=True):
        hits, failed = by_row.fired(row)
        assert failed == []
        assert {hit.name for hit in hits} == {name for name, flag in flags.items() if flag is True}


def test_an_expression_that_grows_too_long_is_refused_with_its_place(tmp_path: Path) -> None:
    nested = "price"
    for _ in range(9):
        nested = f"(({nested}) // ({nested[:40].count('p') or 1}.5 + weight % price))"
    rules = loaded(
        tmp_path, rule("SHORT", "price > 1"), rule("LONG", f"round(round({nested})) > 1")
    )
    with pytest.raises(PolicyError, match="rule LONG: when: is too long") as caught:
        compile_rules(rules, rules.log)
    assert (Path(caught.value.file).name, caught.value.line) == ("10.toml", 11)


def test_what_spark_cannot_do_is_refused_for_spark_alone(tmp_path: Path) -> None:
    rules = loaded(tmp_path, rule("GREEK", r"price > 1 and matches(agent, r'\p{Greek}')"))
    assert set(compile_rules(rules, rules.log)) == {"GREEK"}
    with pytest.raises(PolicyError, match=r"rule GREEK: when: pattern: \\p\{Greek\}") as caught:
        compile_rules(rules, rules.log, TableEngine.PYSPARK)
    assert caught.value.line == 5
    assert caught.value.column > 20


CALLED: Final = {
    "len": "len(agent) > 1",
    "min": "min(price, 1) > 0",
    "max": "max(price, 1) > 0",
    "abs": "abs(price) > 1",
    "round": "round(price, 1) > 1",
    "lower": "lower(agent) == 'curl'",
    "contains": "contains(agent, 'c')",
    "startswith": "startswith(agent, 'c')",
    "endswith": "endswith(agent, 'l')",
    "matches": "matches(agent, 'c.r')",
    "share": "share(price, 2) > 0.5",
    "log_odds": "log_odds(price) > 0",
    "in_networks": "in_networks(client, '192.0.2.0/24')",
    "fired": "fired(OTHER)",
    "hour": "hour() > 1",
    "weekday": "weekday('Europe/Moscow') > 1",
}


def test_every_function_is_calculated_for_tables_or_refused(tmp_path: Path) -> None:
    assert set(REFERENCE) == CALLED.keys() | REFUSED.keys()
    assert not CALLED.keys() & REFUSED.keys()
    texts = [rule(f"{name.upper()}", when) for name, when in CALLED.items()]
    rules = loaded(tmp_path, rule("OTHER", "robot"), *texts)
    for engine in TableEngine:
        assert len(compile_rules(rules, rules.log, engine)) == len(CALLED) + 1


def test_facts_have_columns_by_their_names() -> None:
    assert column_of("time.now") == "time"
    assert column_of("person.day[buy-now]") == "person_day_buy-now"
    assert column_of("agent") == "agent"


@pytest.mark.parametrize("text", [None, "", "x", "192.0.2", "1" * 46, "192.0.2.1/32"])
def test_what_is_no_address_has_no_halves(text: str | None) -> None:
    assert halves(text) is None


def test_an_ipv4_address_is_the_same_in_ipv6() -> None:
    assert halves("192.0.2.1") == halves("::ffff:192.0.2.1") != halves("::192.0.2.1")
