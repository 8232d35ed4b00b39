"""Every command as somebody without rights, over a state that is there, closed, missing, empty,
foreign or of a newer Oborona: one clear line, a documented status, nothing changed; and the same
with an output that is closed or full.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.cli.command_index import load_index
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.message.shingles import Hasher, ShingleType
from oborona.recheck.moves import MoveStore
from oborona.secret import make
from oborona.types import Amounts, CountedPieces
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, WORDS, journal, policy, run
from tests.cli.stranger import NOBODY

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else"),
    pytest.mark.slow,
    pytest.mark.timeout(900),
]
ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = {0, 1, 2, 65, 66, 71, 74, 75, 77, 78}
WHEN = 1_795_000_000.0
NEWER = 4000


@pytest.fixture(scope="module")
def site() -> Iterator[Path]:
    """A folder that a stranger may look into, with policy, mails and a state of all stores."""
    folder = Path("/var/tmp") / f"oborona-strangers-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        rules = policy(folder / "policy", LINKS, WORDS)
        (folder / "mails").mkdir()
        (folder / "mails/a.eml").write_bytes(LUNCH)
        (folder / "letter.eml").write_bytes(LOTTERY)
        state = folder / "state"
        state.mkdir()
        shingle = Hasher(make(state).shingles).shingle(ShingleType.FROM, "ann@a.example")
        with (
            closing(LmdbCounterWriter(state / "counters")) as writer,
            closing(LmdbCounters(state / "counters", "worker-0")) as counters,
        ):
            counters.add(CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=1), WHEN)
            counters.flush(WHEN)
            writer.step(WHEN)
        journal(state, rules, [LUNCH, LOTTERY])
        run(state, rules, "learn", "spam", str(folder / "letter.eml"))
        run(state, rules, "personal", "allow", "ann@b.example", "maria@c.example")
        run(state, rules, "signature", "add", "buy my pills now", "--reason", "x")
        run(state, rules, "reputation", "set", "192.0.2.7", "bad", "--reason", "x", "--for", "1d")
        MoveStore(state / state_files.MOVES).close()
        yield folder
    finally:
        shutil.rmtree(folder)


def opened(state: Path) -> Path:
    for path in (state, *state.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return state


def copied(site: Path, name: str) -> Path:
    return Path(shutil.copytree(site / "state", site / name))


def foreign(state: Path) -> Path:
    for path in state.rglob("*"):
        if path.is_file():
            path.write_bytes(b"not of Oborona, whatever its name says\n" * 300)
    return state


def newer(state: Path) -> Path:
    for path in state.rglob("*.db"):
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {NEWER}")
    return state


def state_of(site: Path, kind: str) -> Path:
    match kind:
        case "readable":
            return opened(copied(site, kind))
        case "closed":
            state = opened(copied(site, kind))
            state.chmod(0o700)
            return state
        case "missing":
            return site / "nowhere/state"
        case "empty":
            (site / kind).mkdir(mode=0o755)
            return site / kind
        case "foreign":
            return opened(foreign(copied(site, kind)))
        case _:
            return opened(newer(copied(site, kind)))


def walked(site: Path, state: Path, *options: str) -> list[dict[str, Any]]:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.cli.stranger", str(site), str(state), *options],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def wrong(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs that did not end as they should."""
    return [
        one
        for one in found
        if "Traceback" in one["stderr"]
        or "Exception ignored" in one["stderr"]
        or one["status"] not in DOCUMENTED
        or (one["status"] > 1 and not one["stderr"].strip())
        or one["changed"]
    ]


@pytest.mark.parametrize("kind", ["readable", "closed", "missing", "empty", "foreign", "newer"])
def test_a_stranger_gets_one_clear_line_and_changes_nothing(site: Path, kind: str) -> None:
    state = state_of(site, kind)
    found = walked(site, state, "--watch", str(site))
    assert len(found) > 75
    assert {one["words"][0] for one in found} > load_index().keys() - {
        "serve", "worker", "writer", "keeper", "reader", "trainer", "intake", "opensmtpd-filter", "metrics",
    }  # fmt: skip
    assert wrong(found) == []
    refused = [one for one in found if one["status"] == os.EX_NOPERM]
    assert all("run it as root" in one["stderr"] for one in refused)
    if kind in ("readable", "closed"):
        assert len(refused) > 30, "what may not be read is said to be that"


@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "owner"])
def test_root_and_the_owner_of_foreign_files_get_a_clear_line_too(site: Path, user: int) -> None:
    state = opened(foreign(copied(site, f"foreign-{user}")))
    for path in (state, *state.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    found = walked(site, state, "--user", str(user))
    assert wrong(found) == []


@pytest.mark.parametrize("out", ["closed", "full"])
def test_an_output_that_takes_nothing_ends_a_command_without_ado(site: Path, out: str) -> None:
    state = copied(site, f"out-{out}")
    assert wrong(walked(site, state, "--user", "0", "--out", out)) == []


def test_daemons_of_a_stranger_end_with_a_clear_line(site: Path) -> None:
    state = opened(copied(site, "daemons"))
    state.chmod(0o700)
    found = walked(site, state, "--only", "all", "--watch", str(state))
    daemons = [
        one
        for one in found
        if one["words"][0] in ("serve", "worker", "writer", "keeper", "reader", "trainer", "intake")
    ]
    assert len(daemons) == 7
    assert wrong(daemons) == []
    assert all(one["status"] for one in daemons)


def test_what_root_may_read_is_read_though_the_daemon_may_not(site: Path) -> None:
    state, own = copied(site, "owned"), site / "roots"
    for path in (state, *state.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    own.mkdir(mode=0o700)
    for kind in ("spam", "ham"):
        (own / kind / "cur").mkdir(parents=True)
        (own / kind / "new").mkdir()
        (own / kind / "cur/1").write_bytes(LUNCH.replace(b"<1@", f"<{kind}@".encode()))
        (own / kind / "cur/1").chmod(0o600)
    for name, text in (
        ("book.csv", "Name,E-mail 1 - Value\nMaria,maria@c.example\n"),
        ("their.list", "192.0.2.9\n"),
    ):
        (own / name).write_text(text)
        (own / name).chmod(0o600)
    for words in (
        ["learn", "spam", str(own / "spam/cur/1")],
        ["learn", "ham", str(own / "ham")],
        ["check", str(own / "spam")],
        ["explain", str(own / "spam/cur/1")],
        ["signature", "propose", "--spam", str(own / "spam")],
        ["personal", "import", "ann@b.example", str(own / "book.csv")],
        ["list", "import", "deny", str(own / "their.list")],
    ):
        run(state, site / "policy", *words)
    assert all(path.stat().st_uid == NOBODY for path in state.iterdir()), (
        "what was written is the daemon's"
    )
