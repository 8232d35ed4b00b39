"""The same rules, facts, tables and days on a cluster of Spark: two executors, each a process."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.expr import types as ir

from oborona.config.eventlog import TableEngine
from oborona.eventlog.daily.backfill import LogBackfill
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.periods import PERIODS
from oborona.eventlog.policy_rules import PolicyRules
from oborona.eventlog.rules.compare import compare_rules
from oborona.eventlog.rules.compile import compile_rules
from oborona.eventlog.rules.facts import with_facts
from oborona.eventlog.suppression.quiet_rule import EVERY
from oborona.eventlog.tables.parquet import read_table
from oborona.eventlog.thresholds import ThresholdRenewal
from oborona.policy.folders import PolicyFolders
from tests.eventlog.made_rows import source
from tests.eventlog.random_expressions import LOG, ExpressionMaker, rows_of, rules_of
from tests.eventlog.test_day_pass import DATE, DUE, PassedLog
from tests.eventlog.test_facts import NEEDED, THRESHOLDS, random_rows
from tests.eventlog.test_random_expressions import differences
from tests.eventlog.test_suppression import suppressed
from tests.eventlog.worlds import CLICKS, HASHER, made_rows, opened_log, tree
from tests.peers.spark import install_spark

EXPRESSIONS = int(
    os.environ.get("OBORONA_SPARK_EXPRESSIONS", "50")
)  # 500 in a long run: 10 minutes
AT_ONCE = 25

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
]


class SparkTables:
    """A cluster of two executors, processes of their own, and the tables that tests give it."""

    def __init__(self, work: Path) -> None:
        from oborona.eventlog.engines.spark import SparkEngine

        self.engine: EventEngine = SparkEngine(
            work,
            master="local-cluster[2,1,1024]",
            memory_mib=1024,
            settings={
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.executor.memory": "1024m",
                "spark.sql.shuffle.partitions": "2",
            },
        )
        self._tables = 0

    def table(self, rows: pa.Table) -> ir.Table:
        """Return a table of rows."""
        self._tables += 1
        return self.engine.table(f"rows_{self._tables}", rows)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTables]:
    install_spark()
    tables = SparkTables(tmp_path_factory.mktemp("spark"))
    yield tables
    tables.engine.close()


def test_spark_says_of_each_row_what_its_function_says(spark: SparkTables) -> None:
    for seed in range(EXPRESSIONS // AT_ONCE):
        assert (
            differences(seed, AT_ONCE, spark.engine.collect, TableEngine.PYSPARK, spark.table) == []
        )


def test_facts_of_persons_are_those_of_duckdb(spark: SparkTables) -> None:
    chance = random.Random(5)
    rows, history = source(random_rows(chance, 100, 40)), source(random_rows(chance, 0, 40))
    scores = pa.table({"person": [1, 2], "score": [0.5, 0.9]})

    def of(table: Any, engine: TableEngine) -> list[dict[str, Any]]:
        found = with_facts(
            table(rows),
            LOG,
            NEEDED,
            history=table(history),
            thresholds=THRESHOLDS,
            scores=table(scores),
            engine=engine,
        )
        of_rows: list[dict[str, Any]] = found.order_by("id").to_pyarrow().to_pylist()
        # Spark has times of a zone
        return [row | {"time": row["time"] and row["time"].replace(tzinfo=None)} for row in of_rows]

    by_duckdb = of(ibis.memtable, TableEngine.DUCKDB)
    assert of(spark.table, TableEngine.PYSPARK) == by_duckdb


def test_other_rules_are_compared_as_by_duckdb(spark: SparkTables) -> None:
    maker = ExpressionMaker(11)
    before = rules_of([maker.condition() for _ in range(4)])
    after = rules_of([maker.condition() for _ in range(4)])
    rows = rows_of(11, 60)
    found = [
        compare_rules(
            table(rows), compile_rules(before, LOG, engine), compile_rules(after, LOG, engine)
        )
        for table, engine in (
            (ibis.memtable, TableEngine.DUCKDB),
            (spark.table, TableEngine.PYSPARK),
        )
    ]
    assert found[0] == found[1]


RULES = """
[[event_rule]]
name = "CLICKED"
log  = "CLICKS"
when = "event == 'click' and amount >= 0"
say  = "a click"

[[event_rule]]
name = "FAST"
log  = "CLICKS"
when = "person.gap < 2 and person.day[show] > 1"
say  = "fast"
mode = "shadow"

[[event_rule]]
name = "MANY_PAGES"
log  = "CLICKS"
when = "person.distinct[page] > 5"
say  = "many pages"
over = "day"
"""


def test_tables_half_hours_and_days_are_those_of_duckdb(spark: SparkTables, tmp_path: Path) -> None:
    """From delivered tables over merges to a day that was gone over and one that is laid beside."""

    def made(name: str, engine: EventEngine | None, dialect: TableEngine) -> dict[str, Any]:
        state = tmp_path / name
        (state / "policy.d").mkdir(parents=True)
        (state / "policy.d/50-events.toml").write_text(RULES)
        rules = PolicyRules(PolicyFolders.of(state / "policy.d"), [CLICKS], dialect)
        with opened_log(state, engine=engine, rules=lambda: rules.of("clicks")) as log:
            passed = PassedLog(log, state, lambda: rules.of_day("clicks"))
            for person, rule in ((1, EVERY), (2, "CLICKED"), (3, "MANY_PAGES")):
                suppressed(log, HASHER.person(f"person {person}") or 0, rule)
            passed.deliver(*made_rows(5, 2, 160).values())
            passed.now = DUE
            assert passed.go_over() == 1
            side = LogBackfill(
                CLICKS, log.folder, log.store, log.engine, work=state / "work", scores=passed.scores
            )
            compared = side.judge(DATE, rules.of_day("clicks"), "side")
            renewal = ThresholdRenewal(
                CLICKS, log.folder, log.store, log.engine, clock=lambda: passed.now
            )
            proposed = renewal.proposed(DATE)
            days = {
                period.name: sorted(map(str, rows.to_pylist()))
                for period in PERIODS
                if (rows := (one := passed.delivered(period)).rows(one.files())) is not None
            }
            files = {
                path: read_table(log.folder.path / path).to_pylist()
                for path in tree(log.folder.path)
                if path.endswith(".parquet")
                and not path.startswith(("checked/30min", "checked/1d"))
            }
            fired = [dict(table.fired) for table in log.store.checked("clicks")]
            done = passed.book.last(DATE)
            assert done is not None
        return {
            "files": files,
            "days": days,
            "compared": compared,
            "proposed": proposed,
            "fired": [*fired, dict(done.fired)],
        }

    wanted = made("duckdb", None, TableEngine.DUCKDB)
    assert len(wanted["files"]) >= 11
    assert {"CLICKED (suppressed)", "FAST (suppressed)", "MANY_PAGES (suppressed)"} <= {
        name for one in wanted["fired"] for name in one
    }
    assert any(rule.after for rule in wanted["compared"].rules if rule.name == "MANY_PAGES")
    assert repr(made("spark", spark.engine, TableEngine.PYSPARK)) == repr(
        wanted
    )  # NaN is NaN there
