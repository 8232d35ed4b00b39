"""The tools around the counter store: on a store that nobody has open, and beside a writer that
runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import secret, state_files
from oborona.cli import main
from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.desk.owner import as_owner_of
from oborona.desk.shingle import shingle_of, type_of
from oborona.errors import StoreError
from oborona.lock import hold, holder
from oborona.message.shingle_name import name_of
from oborona.message.shingles import ShingleType
from oborona.policy.fact_table import NAMES as RULE_NAMES
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, Window
from tests.counters.pages import break_branches

PATIENCE_S = 60.0  # against hangs
SENDERS = [Shingle(ShingleType.FROM, 0xABC << 52 | number) for number in range(5)]
OBORONA = Path(sys.executable).parent / "oborona"


def run(state: Path, *words: object, data: str | None = None) -> Result:
    """Run `oborona counters`."""
    told = ["--state", str(state), "counters", *map(str, words)]
    return CliRunner().invoke(main, told, input=data, catch_exceptions=False)


def add(
    worker: LmdbCounters, number: int, amounts: Amounts, prefix: CounterPrefix = CounterPrefix.IN
) -> None:
    worker.add(CountedPieces(shingles=(SENDERS[number],), pairs=()), amounts, time.time(), prefix)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder whose counters are 10, 20, ... of five senders, the first of them spam, and 7
    of one that is ours.
    """
    folder = tmp_path / "state"
    folder.mkdir()
    secret.make(folder)  # which a state is begun with
    writer = LmdbCounterWriter(folder / "counters")
    worker = LmdbCounters(folder / "counters", "worker-0", environment=writer.environment)
    for number in range(5):
        add(worker, number, Amounts(seen=10 * (number + 1), spam=int(number == 0)))
    add(worker, 2, Amounts(seen=7), CounterPrefix.OUT)
    worker.close()
    writer.step(time.time())
    writer.keep_top()
    writer.close()
    return folder


@pytest.fixture
def running(state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A writer as a daemon has it."""
    process = subprocess.Popen([OBORONA, "--state", state, "writer"], stderr=subprocess.DEVNULL)

    def holds() -> bool:
        """The process itself opens the store once to see whether it may.

        Its child then is the writer.
        """
        found = holder(state / "counters/writer.lock")
        return found is not None and found.pid != process.pid

    until(holds)
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def seen(state: Path, shingle: Shingle, prefix: CounterPrefix = CounterPrefix.IN) -> int:
    async def read() -> int:
        with open_reader(state / "counters") as store:
            [totals] = await store.read([shingle], time.time(), prefix)
            return totals[Window.FORTNIGHT][Metric.SEEN]

    return asyncio.run(read())


def test_top_prints_the_heaviest_first(state: Path) -> None:
    told = run(state, "top", "from", "--limit", 3)
    assert told.exit_code == 0, told.stderr
    rows = [line.split() for line in told.stdout.splitlines() if "from:" in line]
    assert [(row[0], row[-1]) for row in rows] == [
        (name_of(SENDERS[4]), "50"),
        (name_of(SENDERS[3]), "40"),
        (name_of(SENDERS[2]), "30"),
    ]


def test_top_as_json_takes_type_metric_window_and_service(state: Path) -> None:
    told = json.loads(
        run(
            state,
            "top",
            int(ShingleType.FROM),
            "--metric",
            "spam",
            "--window",
            "fortnight",
            "--json",
        ).stdout
    )
    assert told == {
        "type": "from",
        "prefix": "in",
        "metric": "spam",
        "window": "fortnight",
        "top": [{"shingle": name_of(SENDERS[0]), "count": 1}],
    }
    ours = json.loads(run(state, "top", "from", "--prefix", "out", "--json").stdout)
    assert ours["top"] == [{"shingle": name_of(SENDERS[2]), "count": 7}]
    assert shingle_of(ours["top"][0]["shingle"]) == SENDERS[2]


def test_a_type_may_be_spelt_as_the_program_or_as_rules_spell_it() -> None:
    for name, kind in RULE_NAMES.items():
        assert type_of(name) is type_of(kind.name.lower()) is type_of(str(int(kind))) is kind


def test_top_of_nothing_says_so_and_of_no_type_is_wrong_usage(state: Path) -> None:
    assert "no subject counted seen in window day" in run(state, "top", "subject").stdout
    wrong = run(state, "top", "sbject")
    assert wrong.exit_code == 2
    assert "there are" in wrong.stderr


def test_stats_tells_what_is_there(state: Path) -> None:
    told = run(state, "stats", "--types")
    assert told.exit_code == 0, told.stderr
    lines = [line.split() for line in told.stdout.splitlines()]
    assert ["records", "6"] in lines
    assert ["written", "by", "nobody", "now"] in lines
    shares = [line.split("│") for line in told.stdout.splitlines() if " from " in line]
    assert [[cell.strip() for cell in row[:3]] for row in shares] == [
        ["in", "from", "5"],
        ["out", "from", "1"],
    ]
    found = json.loads(run(state, "stats", "--types", "--json").stdout)
    assert (found["records"], found["writer"], found["lag_s"]) == (6, None, 0)
    assert [(one["prefix"], one["type"], one["records"]) for one in found["types"]] == [
        ("in", ShingleType.FROM, 5),
        ("out", ShingleType.FROM, 1),
    ]


def test_stats_tells_what_waits_when_nobody_writes(state: Path) -> None:
    worker = LmdbCounters(state / "counters", "worker-7")
    add(worker, 0, Amounts(seen=1))
    worker.close()
    found = json.loads(run(state, "stats", "--json").stdout)
    [spool] = found["spools"]
    assert spool["worker"] == "worker-7"
    assert found["waiting_bytes"] == spool["bytes"] > 0
    assert 0 <= found["lag_s"] < PATIENCE_S
    assert "worker-7" in run(state, "stats").stdout


def test_doctor_tells_how_far_the_writer_is_behind(state: Path) -> None:
    def told() -> str:
        words = ["--state", str(state), "doctor"]
        result = CliRunner().invoke(main, words, catch_exceptions=False, env={"COLUMNS": "200"})
        return next(line for line in result.stdout.splitlines() if "backlog" in line)

    assert "OK" in told()
    worker = LmdbCounters(state / "counters", "worker-7")
    worker.add(CountedPieces(shingles=(SENDERS[0],), pairs=()), Amounts(seen=1), time.time())
    worker.flush(time.time() - 3600)
    worker.close()
    assert "WARN" in told()
    assert "36" in told()
    assert "start the daemon" in told()
    with hold(state / "counters/writer.lock", "a writer"):
        assert "FAIL" in told()
        assert "does not keep up" in told()


def test_verify_ends_with_1_when_something_is_wrong(state: Path) -> None:
    told = run(state, "verify")
    assert (told.exit_code, "6 records" in told.stdout, "no problems" in told.stdout) == (
        0,
        True,
        True,
    )
    writer = LmdbCounterWriter(state / "counters")
    with writer.environment.begin(write=True) as txn:
        txn.put(b"\1x", b"no cell")
        txn.put(b"\0unknown", b"")
    writer.close()
    told = run(state, "verify")
    assert told.exit_code == 1
    assert b"\1x".hex() in told.stdout
    assert "2 problems" in told.stdout


@pytest.mark.parametrize("length", [8192, 12288])
@pytest.mark.parametrize(
    "words",
    [("top", "from"), ("stats",), ("stats", "--types"), ("verify",), ("show", name_of(SENDERS[0]))],
)
def test_a_file_that_was_cut_is_said_to_be_damaged(
    state: Path, words: tuple[str, ...], length: int
) -> None:
    os.truncate(state / "counters" / state_files.COUNTERS_DATA, length)
    ran = subprocess.run(
        [OBORONA, "--state", state, "counters", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == os.EX_IOERR, ran.stderr
    assert "shorter than its pages" in ran.stderr


def test_verify_says_that_a_page_ends_its_reader(state: Path) -> None:
    writer = LmdbCounterWriter(state / "counters")
    worker = LmdbCounters(state / "counters", "worker-0", environment=writer.environment)
    many = tuple(Shingle(ShingleType.FROM, number << 48) for number in range(2000))
    worker.add(CountedPieces(shingles=many, pairs=()), Amounts(seen=2), time.time())
    worker.close()
    writer.step(time.time())
    writer.close()
    assert run(state, "verify").exit_code == 0
    break_branches(state / "counters" / state_files.COUNTERS_DATA)
    told = run(state, "verify")
    assert told.exit_code == 1
    assert "SIGABRT" in told.stdout
    assert "1 problems" in told.stdout


def test_show_draws_what_our_people_sent(state: Path) -> None:
    incoming = run(state, "show", name_of(SENDERS[2]))
    assert incoming.exit_code == 0, incoming.stderr
    assert all(" 30 " in line for line in incoming.stdout.splitlines() if line.startswith("seen"))
    outgoing = run(state, "show", name_of(SENDERS[2]), "--prefix", "out")
    assert outgoing.exit_code == 0, outgoing.stderr
    assert all(" 7 " in line for line in outgoing.stdout.splitlines() if line.startswith("seen"))
    assert "seen" in incoming.stdout
    assert "seen" in outgoing.stdout


@pytest.mark.parametrize("prefix", list(CounterPrefix))
def test_every_service_is_shown_and_has_a_top_and_is_forgotten(
    tmp_path: Path, prefix: CounterPrefix
) -> None:
    writer = LmdbCounterWriter(tmp_path / "counters")
    worker = LmdbCounters(tmp_path / "counters", "worker-0", environment=writer.environment)
    now = time.time()
    worker.add(CountedPieces(shingles=(SENDERS[1],), pairs=()), Amounts(seen=3), now, prefix)
    worker.take_back([SENDERS[1]], Amounts(seen=1), now, prefix)
    worker.close()
    writer.step(time.time())
    writer.keep_top()
    writer.close()
    shown = run(tmp_path, "show", name_of(SENDERS[1]), "--prefix", prefix)
    assert [" 2 " in line for line in shown.stdout.splitlines() if line.startswith("seen")] == [
        True,
        True,
    ]
    ranks = json.loads(run(tmp_path, "top", "from", "--prefix", prefix, "--json").stdout)
    assert ranks["top"] == [{"shingle": name_of(SENDERS[1]), "count": 2}]
    shares = json.loads(run(tmp_path, "stats", "--types", "--json").stdout)["types"]
    assert [share["prefix"] for share in shares] == [prefix]
    assert run(tmp_path, "verify").exit_code == 0
    assert (
        f"{prefix}, in two weeks: seen 2"
        in run(tmp_path, "forget", name_of(SENDERS[1]), "--prefix", prefix, "--yes").stdout
    )


def test_show_looks_at_its_argument_before_the_store(tmp_path: Path) -> None:
    for wrong in ("neither", "form:00ff00ff00ff00ff"):
        told = run(tmp_path, "show", wrong)
        assert told.exit_code == 2
        assert "no counter store" not in told.stderr


@contextmanager
def nobody(folder: Path) -> Iterator[None]:
    """Be somebody whose the folder is; root may open everything."""
    if os.geteuid():
        yield
        return
    for words in (["stats"], ["compact", "--help"], ["forget", name_of(SENDERS[0])]):
        run(
            folder, *words, data="n\n"
        )  # imports what it needs while the interpreter's own folder may be entered
    CliRunner().invoke(main, ["--state", str(folder), "doctor"])
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65_534, 65_534)
    with as_owner_of(folder):
        yield


@pytest.fixture
def within_reach() -> Iterator[Path]:
    """A folder that others than root can get to; those of pytest are closed."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_without_permission_to_look_who_writes_is_unknown(within_reach: Path) -> None:
    counters = within_reach / "counters"
    LmdbCounterWriter(counters).close()
    with hold(counters / "writer.lock", "a writer"):
        (counters / "writer.lock").chmod(0)
        with nobody(within_reach):
            found = json.loads(run(within_reach, "stats", "--json").stdout)
            told = run(within_reach, "stats")
            words = ["--state", str(within_reach), "doctor"]
            looked = CliRunner().invoke(main, words, catch_exceptions=False, env={"COLUMNS": "200"})
    assert found["writer"].startswith("unknown")
    assert "written by" in told.stdout
    assert "unknown: no permission" in told.stdout
    [line] = [line for line in looked.stdout.splitlines()[:-1] if "process" in line]
    assert "WARN" in line
    assert "unknown" in line


@pytest.mark.parametrize("words", [("compact",), ("stats",), ("forget", name_of(SENDERS[0]))])
def test_without_permission_to_enter_each_says_so(
    within_reach: Path, words: tuple[str, ...]
) -> None:
    LmdbCounterWriter(within_reach / "counters").close()
    with nobody(within_reach):
        within_reach.chmod(0)
        told = run(within_reach, *words)
        within_reach.chmod(0o700)
    assert told.exit_code == os.EX_NOPERM, told.stderr
    assert "Permission denied" in told.stderr


def test_compact_tells_before_and_after(state: Path) -> None:
    before = (state / "counters" / state_files.COUNTERS_DATA).stat()
    told = run(state, "compact")
    assert told.exit_code == 0, told.stderr
    assert "before" in told.stdout
    assert not os.path.samestat(before, (state / "counters" / state_files.COUNTERS_DATA).stat())
    assert seen(state, SENDERS[4]) == 50


def test_forget_asks_first(state: Path) -> None:
    told = run(state, "forget", name_of(SENDERS[1]), data="n\n")
    assert told.exit_code == 1
    assert "seen 20" in told.stdout
    assert list((state / "counters").glob("spool/*")) == []
    told = run(state, "forget", name_of(SENDERS[1]), data="y\n")
    assert told.exit_code == 0
    assert "when the writer runs again" in told.stdout
    assert seen(state, SENDERS[1]) == 20
    writer = LmdbCounterWriter(state / "counters")
    writer.step(time.time())
    writer.close()
    assert [seen(state, sender) for sender in SENDERS] == [10, 0, 30, 40, 50]


def test_forget_of_no_shingle_is_wrong_usage(state: Path) -> None:
    assert run(state, "forget", "from:12", "--yes").exit_code == 2
    assert run(state, "forget", "form:00ff00ff00ff00ff", "--yes").exit_code == 2


def test_beside_a_running_writer(state: Path, running: subprocess.Popen[bytes]) -> None:
    ours = str(holder(state / "counters/writer.lock"))
    busy = run(state, "compact")
    assert busy.exit_code == os.EX_CONFIG
    assert ours in busy.stderr
    assert "stop it first" in busy.stderr
    assert json.loads(run(state, "stats", "--json").stdout)["writer"] == ours
    assert run(state, "verify").exit_code == 0
    assert run(state, "top", "from").exit_code == 0
    told = run(state, "forget", name_of(SENDERS[2]), "--prefix", "out", "--yes")
    assert ours in told.stdout
    until(lambda: seen(state, SENDERS[2], CounterPrefix.OUT) == 0)
    assert seen(state, SENDERS[2]) == 30
    worker = LmdbCounters(state / "counters", "worker-0")
    add(worker, 0, Amounts(seen=90))
    worker.close()
    until(lambda: seen(state, SENDERS[0]) == 100)


def test_a_writer_that_ends_leaves_its_heaviest(
    state: Path, running: subprocess.Popen[bytes]
) -> None:
    worker = LmdbCounters(state / "counters", "worker-0")
    add(worker, 0, Amounts(seen=90))
    worker.close()
    until(lambda: seen(state, SENDERS[0]) == 100)
    running.send_signal(signal.SIGTERM)
    assert running.wait(PATIENCE_S) == 0
    top = json.loads(run(state, "top", "from", "--json").stdout)["top"]
    assert top[0] == {"shingle": name_of(SENDERS[0]), "count": 100}
    assert run(state, "compact").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("top", "from"),
        ("stats",),
        ("verify",),
        ("compact",),
        ("show", "1:00ff00ff00ff00ff"),
        ("forget", "1:00ff00ff00ff00ff", "--yes"),
    ],
)
def test_without_a_store_each_says_so_and_makes_none(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    told = run(tmp_path, *words)
    assert told.exit_code == os.EX_IOERR
    assert "no counter store" in told.stderr
    # what acts has its rows, be it refused
    audit_log = (
        {state_files.BEGUN, state_files.AUDIT} if words[0] in {"compact", "forget"} else set()
    )
    assert {path.name for path in tmp_path.iterdir()} == audit_log


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_what_root_makes_belongs_to_the_daemon() -> None:
    with tempfile.TemporaryDirectory() as name:  # others can't get through the folders of pytest
        folder = Path(name)
        os.chown(folder, 65_534, 65_534)
        with as_owner_of(folder):
            (folder / "made").touch()
        made = (folder / "made").stat()
        assert (made.st_uid, made.st_gid) == (65_534, 65_534)
        with pytest.raises(StoreError), as_owner_of(folder):
            raise StoreError
    assert (os.geteuid(), os.getegid()) == (0, os.getgid())
