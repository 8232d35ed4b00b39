"""What the journal would cost in PostgreSQL, by partitions of a day, beside what it costs as files.

    python benchmarks/journal_in_postgresql.py                  a million messages of two days, 3 GB
    python benchmarks/journal_in_postgresql.py --rows 2000000

The mail of `benchmarks/search.py` goes into a table with the indexes that the journal's questions
need: by id, queue id and Message-ID, and by runs of three letters (`pg_trgm`) of all that `find`
searches.  Prints JSON lines: rows a second and CPU of the server's process of `COPY` with indexes
in place, as mail comes, in batches of 400; octets of the table and of each index; the first page of
20 of some questions, milliseconds of CPU of the server's process and of wall, median and 95th of a
hundred; how long it takes to drop a day.  Evidence is left out: it is nine tenths of a journal, and
nothing searches it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from benchmarks.search_journal import SearchedMail
from tests.peers.postgresql import Postgresql

START: Final = 1_795_132_800.0  # a midnight, UTC
DAY_S: Final = 86_400.0
DAYS: Final = 2
BATCH: Final = 400  # messages of a copy: a second and a half of ten million a day on one machine
DRAWN: Final = 20
PAGE: Final = 20
TABLE: Final = """
CREATE EXTENSION pg_trgm;
CREATE TABLE verdict (
    id bigint NOT NULL, time double precision NOT NULL, verdict text NOT NULL, score real NOT NULL,
    line real NOT NULL, decided_by text NOT NULL, partial smallint NOT NULL,
    policy_version text NOT NULL, size integer NOT NULL, queue_id text, message_id text,
    message_key bigint, client_ip text NOT NULL, helo text NOT NULL, sender text NOT NULL,
    login text NOT NULL, recipients text NOT NULL, subject text NOT NULL, rules text NOT NULL,
    author text, words text NOT NULL, PRIMARY KEY (id, time)
) PARTITION BY RANGE (time);
"""
INDEXES: Final = """
CREATE INDEX ON verdict (queue_id);
CREATE INDEX ON verdict (message_key);
CREATE INDEX ON verdict USING gin (words gin_trgm_ops);
"""
TICKS: Final = os.sysconf("SC_CLK_TCK")


def main(asked: argparse.Namespace) -> None:
    """Fill, ask, and drop a day."""
    with Postgresql(sync=True) as server:
        assert server.process is not None
        with psycopg.connect(server.address, autocommit=True) as db:
            db.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
            db.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
        server.end()
        server.start()
        with psycopg.connect(server.address, autocommit=True) as db:
            db.execute(TABLE)
            for day in range(DAYS):
                begin = START + day * DAY_S
                db.execute(
                    f"CREATE TABLE verdict_{day} PARTITION OF verdict"
                    f" FOR VALUES FROM ({begin}) TO ({begin + DAY_S})"
                )
            db.execute(INDEXES)
            drawn = _fill(db, asked.rows)
            _sizes(db, asked.rows)
            db.execute("VACUUM ANALYZE verdict")
            _sizes(db, asked.rows)
            _ask(db, drawn)
            began = time.perf_counter()
            db.execute("DROP TABLE verdict_0")
            _tell(what="a day dropped", ms=round((time.perf_counter() - began) * 1e3, 1))


def _fill(db: psycopg.Connection[Any], number: int) -> list[tuple[Any, ...]]:
    """Put mail in as it comes; return some of it."""
    choice, drawn, waiting = random.Random(1), list[Any](), list[Any]()  # noqa: S311 - a draw
    wall = cpu = 0.0
    steps = list[float]()
    for batch in SearchedMail().rows(START, DAYS * DAY_S, number):
        waiting += [_row(row) for row in batch]
        drawn += choice.sample(waiting[-len(batch) :], 1)
        before, began = _server_cpu(db), time.perf_counter()
        while len(waiting) >= BATCH:
            step = time.perf_counter()
            with db.cursor().copy("COPY verdict FROM STDIN") as copy:
                for row in waiting[:BATCH]:
                    copy.write_row(row)
            del waiting[:BATCH]
            steps.append(time.perf_counter() - step)
        wall += time.perf_counter() - began
        cpu += _server_cpu(db) - before
    steps.sort()
    _tell(
        what="copy, indexes in place",
        rows_a_second=round(number / wall),
        server_us_a_message=round(cpu / number * 1e6, 1),
        batch_ms=[round(steps[int(len(steps) * at)] * 1e3) for at in (0.5, 0.99)],
        most_ms=round(steps[-1] * 1e3),
    )
    return choice.sample(drawn, DRAWN)


def _row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of the table of one of the journal's, with what is searched as one text."""
    kept = (*row[:19], row[20])
    searched = " ".join(str(row[place]) for place in (9, 10, 12, 13, 14, 15, 16, 17, 18, 20))
    return (*kept, searched.lower())


def _sizes(db: psycopg.Connection[Any], number: int) -> None:
    rows = db.execute(
        "SELECT regexp_replace(c.relname, '^verdict_[0-9]+', 'verdict'), sum(pg_table_size(c.oid))"
        " FROM pg_class c WHERE c.relname LIKE 'verdict%' AND c.relkind IN ('r', 'i') GROUP BY 1"
    ).fetchall()
    _tell(what="octets a message", **{name: round(float(size) / number, 1) for name, size in rows})


def _ask(db: psycopg.Connection[Any], drawn: list[tuple[Any, ...]]) -> None:
    asked: dict[str, list[tuple[float, float]]] = {}
    for row in drawn:
        local, _, domain = row[14].partition("@")
        for what, words in {
            "sender": [row[14]],
            "recipient": [json.loads(row[16])[0]],
            "two words of the subject": row[17].split()[:2],
            "ip": [f" {row[12]} "],
            "queue id, any word": [row[9]],
            "nobody": [f"{local}x9z@{domain}"],
        }.items():
            wanted = " AND ".join(["words LIKE %s"] * len(words))
            before, began = _server_cpu(db), time.perf_counter()
            db.execute(
                f"SELECT id FROM verdict WHERE {wanted} ORDER BY id DESC LIMIT {PAGE}".encode(),  # noqa: S608
                [f"%{word.lower()}%" for word in words],
            ).fetchall()
            wall = time.perf_counter() - began
            asked.setdefault(what, []).append((_server_cpu(db) - before, wall))
    for what, taken in asked.items():
        cpu, walls = (sorted(times) for times in zip(*taken, strict=True))
        _tell(what=what, cpu_ms=_spread(cpu), wall_ms=_spread(walls))


def _spread(times: list[float]) -> list[float]:
    """Return the median and the 95th of a hundred of some seconds, in milliseconds."""
    return [round(statistics.median(times) * 1e3), round(times[int(0.95 * len(times))] * 1e3)]


def _server_cpu(db: psycopg.Connection[Any]) -> float:
    """Return the seconds of CPU that the server's process of a connection has taken."""
    fields = Path(f"/proc/{db.info.backend_pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _tell(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    main(parser.parse_args())
