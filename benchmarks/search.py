"""What search files cost the keeper, and what a search costs with them and without.

    python benchmarks/search.py                    a million messages of a day, some minutes, 1 GB
    python benchmarks/search.py --copies 10        ten such days, of one that is drawn; 10 GB

Fills a made-up journal (`benchmarks/search_journal.py`), has its search files made, and asks for
the first page of 20.  Prints JSON lines: CPU microseconds and octets a message of the files, made
at once, and in steps of five seconds of mail as the keeper makes them; then for each kind of
question, of 20 drawn from messages, the median and the 95th of a hundred in milliseconds of CPU and
of wall, with the files and by reading all; how many were found, and how many searches came to no
end within two seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.search_journal import SearchedMail, fill
from oborona import ident, state_files
from oborona.journal import rows
from oborona.journal.query import parse_query
from oborona.journal.search import JournalSearch
from oborona.journal.words.day_file import day_of, day_path, first_of
from oborona.journal.words.writer import SearchWriter

START: Final = 1_795_132_800.0  # a midnight, UTC
DAY_S: Final = 86_400.0
DRAWN: Final = 20
PAGE: Final = 20
WITHIN_S: Final = 2.0
STEP_S: Final = 5.0
STEPS: Final = 200


def questions(row: dict[str, Any]) -> dict[str, str]:
    """Return a question of each kind that a message answers, or none does."""
    sender, person = row["sender"], json.loads(row["recipients"])[0]
    local, _, domain = sender.partition("@")
    word, *others = row["subject"].split()
    return {
        "newest": "",
        "spam": "verdict:spam",
        "sender": f"from:{sender}",
        "sender's domain": f"domain:{domain}",
        "recipient": f"to:{person}",
        "sender and recipient": f"from:{domain} to:{person}",
        "any word": local,
        "two words of the subject": f"subject:{word} subject:{others[0]}",
        "begins so": f"from:{local[:5]}*",
        "rule and score": f"rule:{json.loads(row['rules'])[-1]['name']} score>150",
        "ip": f"ip:{row['client_ip']}",
        "network": f"ip:{row['client_ip']}/24",
        "queue id, any word": row["queue_id"],
        "Message-ID": f"message:{row['message_id']}",
        "nobody": f"from:{local}x9z@{domain}",
        "nobody, Cyrillic": "subject:жщыэ",
        "size alone": "size>399990",
        "two letters": "subject:zq",
    }


def main(asked: argparse.Namespace) -> None:
    """Fill, follow and ask."""
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        path = Path(name) / state_files.JOURNAL
        fill(path, SearchedMail(), START, asked.days * DAY_S, asked.rows)
        folder, end = Path(name) / state_files.SEARCH, START + asked.days * DAY_S
        print_line(journal_b=round(path.stat().st_size / asked.rows), rows=asked.rows)
        rate = asked.rows / asked.days / DAY_S
        print_line(files="as mail comes", **follow(folder, path, asked, rate))
        shutil.rmtree(folder)
        began = time.process_time()
        with closing(SearchWriter(folder, path)) as writer:
            while writer.follow(end + 600):
                pass
        spent = time.process_time() - began
        octets = sum(one.stat().st_size for one in folder.iterdir())
        print_line(
            files="at once",
            cpu_us=round(1e6 * spent / asked.rows, 1),
            octets=round(octets / asked.rows),
        )
        for number in range(1, asked.copies):
            copy_day(path, folder, number)
        ask(path, folder)


def follow(folder: Path, path: Path, asked: argparse.Namespace, rate: float) -> dict[str, Any]:
    """Make the files of the last messages in steps as the keeper does; return what it cost."""
    end = START + asked.days * DAY_S
    now = end - STEPS * STEP_S * max(1.0, 400 / rate / STEP_S)
    step = (end - now) / STEPS
    times = list[float]()
    with closing(SearchWriter(folder, path)) as writer:
        while writer.follow(now):
            pass
        began = time.process_time()
        for _ in range(STEPS):
            now += step
            at = time.perf_counter()
            while writer.follow(now):
                pass
            times.append(time.perf_counter() - at)
        spent = time.process_time() - began
    return {
        "step_s": round(step, 1),
        "cpu_us": round(1e6 * spent / (rate * step * STEPS), 1),
        "step_ms": [round(1000 * one, 1) for one in (statistics.median(times), max(times))],
    }


def copy_day(path: Path, folder: Path, number: int) -> None:
    """Have the messages of the first day come on a later one, too, with ids of their own."""
    first = day_of(ident.first_id_at(START))
    shift, end = first_of(first + number) - first_of(first), first_of(first + 1)
    columns = rows.VERDICT_COLUMNS.partition(", ")[2]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            f"INSERT INTO verdict (id, {columns}) SELECT id + ?, {columns} FROM verdict "  # noqa: S608 - names of ours
            "WHERE id < ?",
            (shift, end),
        )
        db.execute("UPDATE tally SET rows = (SELECT count(*) FROM verdict)")
    later = day_path(folder, first + number)
    shutil.copy(day_path(folder, first), later)
    with closing(sqlite3.connect(later)) as db, db:
        db.execute("UPDATE block SET last = last + ? ", (shift,))


def ask(path: Path, folder: Path) -> None:
    """Ask, and print what it costs."""
    drawn = random.Random(2)  # noqa: S311 - for drawing alone
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        low, high = db.execute("SELECT min(id), max(id) FROM verdict").fetchone()
        drawn_rows = [
            dict(
                db.execute(
                    "SELECT * FROM verdict WHERE id >= ? LIMIT 1", (drawn.randint(low, high),)
                ).fetchone()
            )
            for _ in range(DRAWN)
        ]
    kinds = [questions(row) for row in drawn_rows]
    for kind in kinds[0]:
        texts = list(dict.fromkeys(one[kind] for one in kinds))
        line = dict[str, Any](question=kind)
        for way in ("files", "scan"):
            aside = folder.with_name("aside")
            if way == "scan":
                folder.rename(aside)
            try:
                line[way] = cost(path, texts)
            finally:
                if way == "scan":
                    aside.rename(folder)
        print_line(**line)


def cost(path: Path, texts: list[str]) -> dict[str, Any]:
    """Return what some questions cost."""
    walls, cpus, found, cut = list[float](), list[float](), 0, 0
    with JournalSearch(path) as journal:
        for text in texts:
            wall, cpu = time.perf_counter(), time.process_time()
            query = parse_query(text, START)
            found += sum(1 for _ in journal.find(query, PAGE, within_s=WITHIN_S))
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
            cut += journal.reached is not None
    return {
        "cpu_ms": quantiles(cpus),
        "wall_ms": quantiles(walls),
        "found": round(found / len(texts), 1),
        "cut": cut,
    }


def quantiles(times: list[float]) -> list[float]:
    """Return the median and the 95th of a hundred, in milliseconds."""
    ordered = sorted(times)
    return [
        round(1000 * one, 1)
        for one in (statistics.median(ordered), ordered[int(len(ordered) * 0.95)])
    ]


def print_line(**fields: object) -> None:
    """Print a line of JSON."""
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    main(parser.parse_args())
