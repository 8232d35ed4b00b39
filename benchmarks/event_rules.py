"""What event rules cost: 100 rules over ten million rows, in CPU seconds and memory.

    python benchmarks/event_rules.py [--rows 10000000] [--rules 100] [--memory 600MB] [--json]

A made day of a log: persons by Zipf's law, twelve kinds of events, agents, addresses, prices.  Each
step reads Parquet and writes Parquet, in a process of its own with one thread of the engine:

    read        the rows are read and written again: what every step pays
    rules       the rules' column beside them, over facts that are there
    facts       counts, distinct agents and the time since the event before, of every row
    facts, rules  both in one statement
    by row      the same rules by the function of one row, of the first 20,000 rows
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import ibis
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.eventlog.rules.compile import (  # noqa: E402
    compile_rules,
    live_names,
    needed_facts,
    with_rules,
)
from oborona.eventlog.rules.facts import with_facts  # noqa: E402
from oborona.eventlog.rules.row import RowRules  # noqa: E402
from oborona.policy.event_columns import ColumnKind  # noqa: E402
from oborona.policy.event_logs import RuledLog  # noqa: E402
from oborona.policy.event_rules import LogRules  # noqa: E402
from oborona.policy.rules import Rule  # noqa: E402

KINDS: Final = tuple(f"kind{number}" for number in range(12))
LOG: Final = RuledLog(
    name="CLICKS",
    columns={
        "agent": ColumnKind.TEXT,
        "page": ColumnKind.TEXT,
        "price": ColumnKind.NUMBER,
        "robot": ColumnKind.FLAG,
        "client": ColumnKind.ADDRESS,
    },
    events=KINDS,
)
LISTS: Final = {"AGENTS": tuple(f"agent/{number}" for number in range(0, 400, 7))}
SORTS: Final = (  # each hits less than one row of a hundred
    "event == 'kind{k}' and price > {n} + 240",
    "price != none and price / 3 < 0.{n} and not (robot == true)",
    "person.day[kind{k}] > {n} * 20 and person.day[kind0] == 0",
    "matches(agent, r'(?i)agent/{n}[0-9]$') and robot == true",
    "agent in AGENTS and event == 'kind{k}' and price < 4",
    "person.gap != none and person.gap < 0.{k} and person.kinds == 1",
    "person.distinct[agent] > {n} + 350 and contains(page, '/{k}')",
    "in_networks(client, ('10.{k}.0.0/20', '192.0.2.0/24')) and price % 7 == {k}",
    "person.minute > {n} + 20 or duplicate and hour('Europe/Moscow') == {k}",
    "lower(page) == '/page/{n}' and price // 10 > {k}",
)
DAY: Final = """
SELECT i AS id, i - (random() < 0.01)::BIGINT AS key,
  floor(500000 * power(random(), 3))::BIGINT AS person,
  'kind' || (floor(12 * power(random(), 2)))::INT AS event,
  TIMESTAMP '2026-11-23' + to_microseconds((random() * 86400e6)::BIGINT) AS time,
  'agent/' || (random() * 400)::INT AS agent, '/page/' || (random() * 5000)::INT AS page,
  CASE WHEN random() < 0.1 THEN NULL ELSE floor(random() * 1000) / 4 END AS price,
  random() < 0.02 AS robot, '10.0.0.1' AS client,
  -9223372036854775808 AS client_high,
  -9223372036854775808 + (65535::BIGINT << 32) + 167772160 + (random() * 16e6)::BIGINT AS client_low
FROM range({rows}) t(i)"""
BY_ROW: Final = 20_000


def rules_of(count: int) -> LogRules:
    """Return rules of all sorts in turns, none like another."""
    texts = [
        SORTS[number % len(SORTS)].format(k=number % 12, n=number + 3) for number in range(count)
    ]
    rules = [Rule(name=f"R{place}", when=text, score=0.0) for place, text in enumerate(texts)]
    return LogRules(LOG, rules, LISTS)


def step(name: str, folder: Path, count: int, memory: str) -> None:
    """Do one step; print its figures as JSON."""
    con = ibis.duckdb.connect(threads=1, memory_limit=memory, temp_directory=str(folder / "spill"))
    rules = rules_of(count)
    out = folder / f"{name.replace(', ', '_')}.parquet"
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    rows = 0
    if name == "by row":
        by_row = RowRules(rules, LOG)
        table = con.read_parquet(folder / "facts.parquet").limit(BY_ROW).to_pyarrow().to_pylist()
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        rows = sum(bool(by_row.fired(row)[0]) for row in table)
    else:
        made = con.read_parquet(folder / ("facts.parquet" if name == "rules" else "day.parquet"))
        if "facts" in name:
            made = with_facts(made, LOG, needed_facts(rules))
        if "rules" in name:
            columns = compile_rules(rules, LOG)
            made = with_rules(made, columns, live_names(rules))
        con.to_parquet(made, out)
        if "rules" in name:
            rows = (
                con.read_parquet(out).filter(ibis._.rules.length() > 0).count().to_pyarrow().as_py()
            )
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {
                "step": name,
                "cpu_s": round(cpu, 2),
                "wall_s": round(time.perf_counter() - began, 2),
                "rss_mb": round(after.ru_maxrss / 1024),
                "marked": rows,
            }
        )
    )


def main() -> None:
    """Measure all steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        step(arguments.step, arguments.folder, arguments.rules, arguments.memory)
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        con = ibis.duckdb.connect(threads=1)
        con.raw_sql("SELECT setseed(0.5)")
        con.raw_sql(f"COPY ({DAY.format(rows=arguments.rows)}) TO '{folder}/day.parquet'")
        con.disconnect()
        assert pq.ParquetFile(folder / "day.parquet").metadata.num_rows == arguments.rows
        figures: list[dict[str, Any]] = []
        for name in ("read", "facts", "rules", "facts, rules", "by row"):
            done = subprocess.run(
                [sys.executable, __file__, "--step", name, "--folder", made,
                 "--rules", str(arguments.rules), "--memory", arguments.memory],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            figures.append(json.loads(done.stdout.splitlines()[-1]))
            if arguments.json:
                print(done.stdout.splitlines()[-1], flush=True)
    if arguments.json:
        return
    table = Table("step", "CPU s", "wall s", "MB", "marked rows")
    for figure in figures:
        table.add_row(
            *(str(figure[key]) for key in ("step", "cpu_s", "wall_s", "rss_mb", "marked"))
        )
    Console().print(f"{arguments.rules} rules, {arguments.rows:,} rows, {arguments.memory}", table)


if __name__ == "__main__":
    main()
