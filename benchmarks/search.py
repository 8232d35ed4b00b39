"""What search files cost the keeper, and what a search costs with them and without.

    python benchmarks/search.py                    a million messages of a day, some minutes, 1 GB
    python benchmarks/search.py --copies 10        ten such days, of one that is drawn; 10 GB
    python benchmarks/search.py --state FOLDER     of a state folder that `benchmarks/console.py`
                                                   has filled: searches alone, with its files

Fills a made-up journal (`benchmarks/search_journal.py`), has its search files made, and asks for
the first page of 20.  Prints JSON lines: CPU microseconds and octets a message of the files, made
at once, and in steps of five seconds of mail as the keeper makes them; then for each kind of
question, of 20 drawn from messages, the median and the 95th of a hundred in milliseconds of CPU and
of wall, with the files and by reading all; how many were found, and how many searches came to no
end within two seconds.  Search files stay open from one search to the next, as in the desk.
"""

from __future__ import annotations

import argparse
import json
import os
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
from benchmarks.searched_days import copy_day
from oborona import ident, state_files
from oborona.desk.followed_site import KEPT_DAYS
from oborona.journal.query import parse_query
from oborona.journal.search import JournalSearch
from oborona.journal.words.day_files import DayFiles
from oborona.journal.words.days import day_of
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
    print_line(load=os.getloadavg(), cores=os.cpu_count())
    if asked.state:
        ask(asked.state / state_files.JOURNAL, None)
        return
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
            copy_day(path, folder, day_of(ident.first_id_at(START)), number)
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


def ask(path: Path, folder: Path | None) -> None:
    """Ask, and print what it costs.

    Args:
        path: the journal.
        folder: of its search files, to ask without them, too; None = with them alone.
    """
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
        line: dict[str, Any] = {"question": kind, "files": cost(path, texts)}
        if folder is not None:
            aside = folder.with_name("aside")
            folder.rename(aside)
            try:
                line["scan"] = cost(path, texts)
            finally:
                aside.rename(folder)
        print_line(**line)


def cost(path: Path, texts: list[str]) -> dict[str, Any]:
    """Return what some questions cost."""
    walls, cpus, found, cut = list[float](), list[float](), 0, 0
    files = DayFiles(KEPT_DAYS)
    for text in texts:
        wall, cpu = time.perf_counter(), time.process_time()
        with JournalSearch(path, files=files) as journal:
            query = parse_query(text, START)
            found += sum(1 for _ in journal.find(query, PAGE, within_s=WITHIN_S))
            cut += journal.reached is not None
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    files.close()
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
    parser.add_argument("--state", type=Path, default=None)
    main(parser.parse_args())
