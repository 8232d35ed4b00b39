"""What pages of the console cost, with several people at once.

    python benchmarks/console.py                  100,000 messages of a day, ten people, 30 s
    python benchmarks/console.py --messages 10000000 --days 14 --mail --state /var/tmp/ten
    python benchmarks/console.py --only "follow, nothing new"      one kind of pages

Fills a made-up journal with its search files (`benchmarks/searched_days.py`; ten million take some
7 GB and 5 minutes of CPU), starts desk and console as processes of their own, and has people open
pages one after the other: each without a pause, which tells what it can bear, or with --pause
seconds of reading between two pages, which tells what people wait.  Prints JSON lines: for each
kind of page how many, the median, the 95th and 99th of a hundred in milliseconds of wall, and
octets as they come (gzip); CPU milliseconds of desk and console for a page of each kind, opened by
one person, and of all; memory (PSS) of both, before and after; and what they take while nobody
looks.

With --mail all is one daemon, which takes mail at half of what it can meanwhile
(`benchmarks/beside_mail.py`), in --turns with nobody there, with all people, and with a process
that computes as much as pages took and does nothing else: how long scans take is in its lines, in
milliseconds, and the median of the turns at the end.
--state keeps the journal in a folder, and takes it from there where there is one.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import os
import random
import re
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.beside_mail import MailBeside, begin_bursts
from benchmarks.search import print_line, questions
from benchmarks.searched_days import fill_days
from benchmarks.servers import oborona
from oborona import state_files
from oborona.daemon.state import prepare_state
from oborona.ident import to_text
from oborona.journal import schema
from oborona.journal.texts import unpack_text
from oborona.people.person import Person
from oborona.people.rights import Role
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore, new_person

OBORONA: Final = str(Path(sys.executable).with_name("oborona"))
TOKENS: Final = "tokens"  # files in the state folder
PORT: Final = "port"
COUNTED: Final = 100  # pages of a kind
IDLE_S: Final = 20.0
START_S: Final = 60.0
TICKS: Final = os.sysconf("SC_CLK_TCK")


def main(asked: argparse.Namespace) -> None:
    """Fill, start, look."""
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        state = asked.state or Path(name) / "state"
        if not (state / TOKENS).exists():
            make_state(state, asked)
        (state / PORT).unlink(missing_ok=True)
        drawn = random.Random(7)  # noqa: S311 - the same for each run
        paths = [
            one for one in pages(state / state_files.JOURNAL, drawn) if asked.only in {"", one[0]}
        ]
        tokens = (state / TOKENS).read_text().split()
        print_line(load=os.getloadavg(), cores=os.cpu_count())
        if asked.mail:
            beside_mail(Path(name), state, tokens, paths, asked)
            return
        with running(state, "desk") as desk, running(state, "console") as console:
            both = (desk.pid, console.pid)
            get(port_of(state), tokens[0], "/track")
            print_line(pss_mb=[megabytes(pid) for pid in both])
            before = [seconds(pid) for pid in both]
            time.sleep(IDLE_S)
            idle = [seconds(pid) - at for pid, at in zip(both, before, strict=True)]
            print_line(idle_percent_of_a_core=[round(100 * one / IDLE_S, 2) for one in idle])
            count(port_of(state), tokens[0], paths, both)
            look(port_of(state), tokens, paths, both, asked)
            print_line(pss_mb=[megabytes(pid) for pid in both])


def make_state(state: Path, asked: argparse.Namespace) -> None:
    """Make a state folder with a journal, its search files, and people who are signed in."""
    wall, cpu = time.perf_counter(), time.process_time()
    prepare_state(state)
    (state / state_files.JOURNAL).unlink()
    fill_days(state, asked.messages, asked.days, time.time())
    (state / TOKENS).write_text(" ".join(sign_in(state, asked.people)))
    octets = sum(one.stat().st_size for one in state.rglob("*") if one.is_file())
    print_line(
        messages=asked.messages,
        days=asked.days,
        made_in_s=round(time.perf_counter() - wall),
        cpu_s=round(time.process_time() - cpu),
        gb=round(octets / 1e9, 1),
    )


def beside_mail(
    folder: Path,
    state: Path,
    tokens: list[str],
    paths: list[tuple[str, str]],
    asked: argparse.Namespace,
) -> None:
    """Have mail judged with nobody there, with everybody, and beside so much computing."""
    port = port_of(state)
    settings = {
        "console.enabled": "true",
        "console.listen": f"inet:127.0.0.1:{port}",
        "journal.max_rows": str(2 * asked.messages),  # none is dropped meanwhile
    }
    with oborona(
        folder / "daemon",
        transport="native",
        workers=1,
        pictures=False,
        settings={**settings, "log.level": "info"},
        state=state,
    ) as server:
        served = {name: child_named(server.pids["oborona"], name) for name in ("desk", "console")}
        get(port, tokens[0], "/track")
        (folder / "mail").mkdir()
        mail = MailBeside(folder / "mail", server)
        print_line(mail_per_s=round(mail.rate, 1))
        p99 = defaultdict[str, list[float]](list)
        for _ in range(asked.turns):
            told = mail.end(mail.begin(asked.seconds))
            print_line(people=0, **told)
            p99["nobody"].append(told["scan_ms"]["p99"])
            load = mail.begin(asked.seconds)
            number, spent = look(port, tokens, paths, tuple(served.values()), asked)
            told = mail.end(load)
            print_line(people=len(tokens), **told)
            p99["people"].append(told["scan_ms"]["p99"])
            load = mail.begin(asked.seconds)
            with begin_bursts(sum(spent) / number, number / asked.seconds, asked.seconds):
                told = mail.end(load)
            print_line(bursts=round(sum(spent) / number, 4), **told)
            p99["bursts"].append(told["scan_ms"]["p99"])
        print_line(scan_p99_ms={one: statistics.median(times) for one, times in p99.items()})
        print_line(pss_mb=[megabytes(pid) for pid in served.values()])


def child_named(parent: int, name: str) -> int:
    """Return the process of a daemon that has a name."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            if (
                Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
                == f"oborona: {name}".encode()
            ):
                return int(pid)
        time.sleep(0.1)
    raise TimeoutError(name)


def count(port: str, token: str, paths: list[tuple[str, str]], pids: tuple[int, ...]) -> None:
    """Have one person open pages of each kind, and print what CPU they took."""
    kinds = defaultdict[str, list[str]](list)
    for kind, path in paths:
        kinds[kind].append(path)
    for kind, found in kinds.items():
        before = [seconds(pid) for pid in pids]
        for number in range(COUNTED):
            get(port, token, found[number % len(found)])
        spent = [seconds(pid) - at for pid, at in zip(pids, before, strict=True)]
        print_line(page=kind, cpu_ms=[round(1000 * one / COUNTED, 2) for one in spent])


def sign_in(state: Path, number: int) -> list[str]:
    """Return tokens of sessions of so many analysts."""
    with PeopleStore(state / state_files.PEOPLE) as store:
        sessions = SessionBook(store, step_required=False)
        return [
            sessions.begin(store.add(_analyst(f"ann{one}")), "", "benchmark", time.time())
            for one in range(number)
        ]


def _analyst(name: str) -> Person:
    nothing = frozenset[str]()
    return new_person(
        name, roles=frozenset({Role.ANALYST}), domains=nothing, addresses=nothing, language="en",
        made_by="benchmark", now=time.time(),
    )  # fmt: skip


def pages(path: Path, drawn: random.Random) -> Iterator[tuple[str, str]]:
    """Yield kinds of pages with paths of them, of messages that are there."""
    with closing(schema.open_reader(path)) as db:
        db.row_factory = sqlite3.Row
        low, high = db.execute("SELECT min(id), max(id) FROM verdict").fetchone()
        low += (high - low) // 10  # the oldest may go meanwhile, with their time
        found = [
            dict(db.execute("SELECT * FROM verdict WHERE id >= ? LIMIT 1", (number,)).fetchone())
            for number in (drawn.randint(low, high) for _ in range(40))
        ]
    for told in found:
        yield "message", f"/message/{to_text(told['id'])}"
        for kind, query in questions(told).items():
            if kind not in {"size alone", "two letters"}:
                yield "track", f"/track?q={quote(query)}"
        yield "overview", "/overview"
        yield "follow", f"/track/new?newer={to_text(told['id'])}&q={quote('verdict:junk')}"
        yield "entity", f"/entity/{quote(unpack_text(told['client_ip']), safe='')}"
        yield "around", f"/entity/{quote(unpack_text(told['client_ip']), safe='')}/around"
    newest = high
    for query in ("", "verdict:junk", "to:joe"):
        yield "follow, nothing new", f"/track/new?newer={to_text(newest)}&q={quote(query)}"


def look(
    port: str,
    tokens: list[str],
    paths: list[tuple[str, str]],
    pids: tuple[int, ...],
    asked: argparse.Namespace,
) -> tuple[int, list[float]]:
    """Have everybody open pages, and print what each kind took.

    Returns:
        how many pages, and the seconds of CPU of each process.
    """
    took: dict[str, list[tuple[float, int]]] = defaultdict(list)
    until, pause_s = time.monotonic() + asked.seconds, asked.pause
    before = [seconds(pid) for pid in pids]

    def walk(token: str, seed: int) -> None:
        drawn = random.Random(seed)  # noqa: S311 - the same for each run
        while time.monotonic() < until:
            kind, path = drawn.choice(paths)
            at = time.perf_counter()
            size = get(port, token, path)
            took[kind].append((1000 * (time.perf_counter() - at), size))
            if pause_s:
                time.sleep(drawn.expovariate(1 / pause_s))

    walkers = [threading.Thread(target=walk, args=(token, at)) for at, token in enumerate(tokens)]
    for walker in walkers:
        walker.start()
    for walker in walkers:
        walker.join()
    number = sum(map(len, took.values()))
    spent = [seconds(pid) - at for pid, at in zip(pids, before, strict=True)]
    for kind, all_of in sorted(took.items()):
        times = [ms for ms, _ in all_of]
        cuts = statistics.quantiles(times * 2 if len(times) == 1 else times, n=100)
        sizes = [size for _, size in all_of]
        print_line(
            page=kind,
            number=len(all_of),
            ms=[round(cuts[at - 1], 1) for at in (50, 95, 99)],
            octets=round(statistics.median(sizes)),
        )
    print_line(pages=number, cpu_ms_a_page=[round(1000 * one / number, 2) for one in spent])
    return number, spent


def get(port: str, token: str, path: str) -> int:
    """Return how many octets a page has; it is one."""
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    with closing(connection):
        headers = {"Cookie": f"__Host-oborona={token}", "Accept-Encoding": "gzip"}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            page = gzip.decompress(body) if answer.getheader("Content-Encoding") else body
            said = " ".join(re.sub(r"<[^>]+>", " ", page.decode()).split())
            raise AssertionError(f"{path}: {answer.status}, {said[:500]}")
        return len(body)


@contextmanager
def running(state: Path, role: str) -> Iterator[subprocess.Popen[bytes]]:
    """The child that serves a role, as a process whose pid is its own."""
    settings = {
        "console.enabled": "true",
        "console.listen": f"inet:127.0.0.1:{port_of(state)}",
        "paths.state": str(state),
    }
    sets = [f"--set={name}={value}" for name, value in settings.items()]
    with (state / f"{role}.log").open("wb") as log:
        process = subprocess.Popen([OBORONA, *sets, role], stdout=log, stderr=log)
        try:
            process.pid = child_of(process.pid)
            yield process
        finally:
            os.kill(parent_of(process.pid), signal.SIGTERM)
            process.wait(30)


def child_of(pid: int) -> int:
    """Return the process that a supervisor has started, once it serves."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            time.sleep(3)
            return int(children[0])
        time.sleep(0.1)
    raise TimeoutError(pid)


def parent_of(pid: int) -> int:
    """Return the process that started another."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def port_of(state: Path) -> str:
    """Return a free port, the same for a state folder."""
    kept = state / PORT
    if not kept.exists():
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            kept.write_text(str(listener.getsockname()[1]))
    return kept.read_text()


def seconds(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def megabytes(pid: int) -> float:
    """Return the proportional set size of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return round(sum(int(one.split()[1]) for one in lines if one.startswith("Pss:")) / 1024, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--mail", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--state", type=Path, default=None)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=None)
    main(parser.parse_args())
