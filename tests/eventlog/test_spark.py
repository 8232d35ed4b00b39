"""The same rules and facts on Spark, in a Java of its own."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules.compare import compare_rules
from oborona.eventlog.rules.compile import compile_rules
from oborona.eventlog.rules.facts import with_facts
from tests.eventlog.made_rows import source
from tests.eventlog.random_expressions import LOG, ExpressionMaker, rows_of, rules_of
from tests.eventlog.test_facts import NEEDED, THRESHOLDS, random_rows
from tests.eventlog.test_random_expressions import differences
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
    """Tables of one session, read from files."""

    def __init__(self, folder: Path) -> None:
        from pyspark.sql import SparkSession

        self.session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .getOrCreate()
        )
        self.ibis = ibis.pyspark.connect(self.session)
        self._folder = folder
        self._tables = 0

    def table(self, rows: pa.Table) -> ibis.Table:
        """Return a table of rows."""
        self._tables += 1
        name = f"rows_{self._tables}"
        pq.write_table(rows, self._folder / f"{name}.parquet", coerce_timestamps="us")
        return self.ibis.read_parquet(self._folder / f"{name}.parquet", table_name=name)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTables]:
    install_spark()
    tables = SparkTables(tmp_path_factory.mktemp("spark"))
    yield tables
    tables.session.stop()


def test_spark_says_of_each_row_what_its_function_says(spark: SparkTables) -> None:
    for seed in range(EXPRESSIONS // AT_ONCE):
        run = spark.ibis.to_pyarrow
        assert differences(seed, AT_ONCE, run, TableEngine.PYSPARK, spark.table) == []


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
