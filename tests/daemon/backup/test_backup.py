"""A backup of a daemon at work, put back: every answer is as before.

What is damaged, newer, in use or half done is refused and touches nothing.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest
from msgspec import structs

from oborona import secret, state_files, store_birth
from oborona.config import Settings, load_settings
from oborona.daemon.backup import disk
from oborona.daemon.backup.creation import create_backup
from oborona.daemon.backup.manifest import MANIFEST, SUMS, read_manifest, seal_backup
from oborona.daemon.backup.restore import restore_backup
from oborona.daemon.state import prepare_state
from oborona.errors import StoreError, StoreForeign, StoreFull, StoreVersion
from oborona.stores.counters import open_writer
from tests.peers.oborona import PROGRAM, SETTINGS, Oborona
from tests.peers.postfix import Postfix, available
from tests.whole.gate import eventually

LETTER = (
    "From: Ann <ann{number}@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch "
    "{number}\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\n"
    "Message-ID: <{number}@a.example>\r\n\r\nShall we meet at noon at the corner of the old "
    "market, as every day of the week number {number}?\r\n"
)
LETTERS = 3

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not available(), reason="needs root and Postfix"),
    pytest.mark.slow,
]


def ok(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answers(oborona: Oborona) -> dict[str, object]:
    """What a site is asked: the journal, messages as they were judged with all their counts, who
    was pinned.
    """
    told: dict[str, object] = {}
    for ident, queue_id, subject in journaled(oborona.state):
        explained = json.loads(ok(oborona.run("explain", queue_id, "--json")))
        told[subject] = [ident, explained["then"], explained["counts"], explained["feedback"]]
    told["pinned"] = ok(oborona.run("reputation", "log"))
    return told


def journaled(state: Path) -> list[tuple[int, str, str]]:
    with closing(sqlite3.connect(f"file:{state}/journal.db?mode=ro", uri=True)) as journal:
        asked = "SELECT id, queue_id, subject FROM verdict WHERE subject LIKE 'Lunch%' ORDER BY id"
        return journal.execute(asked).fetchall()


def counted(oborona: Oborona) -> bool:
    """Whether all letters are journaled, and their counts in the store."""
    said = oborona.run("doctor").stdout
    return len(journaled(oborona.state)) == LETTERS and "0.0 KiB in spools" in said


@dataclass(frozen=True)
class BackedUp:
    """A daemon that has judged mail, the backup that was taken while it ran, and what it answered
    then.
    """

    oborona: Oborona
    backup: Path
    answers: dict[str, object]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackedUp]:
    folder = tmp_path_factory.mktemp("site")
    with Oborona() as oborona, Postfix(oborona.milter) as postfix:
        for number in range(1, LETTERS + 1):
            assert postfix.send(LETTER.format(number=number).encode())[-1].startswith("250")
        ok(oborona.run("reputation", "set", "ann1@a.example", "bad", "--reason", "sells nothing"))
        eventually(lambda: counted(oborona), 30)
        before = answers(oborona)
        assert "9 stores" in ok(oborona.run("backup", str(folder / "backup")))
        assert postfix.send(LETTER.format(number=99).encode())[-1].startswith("250"), "it goes on"
        yield BackedUp(oborona, folder / "backup", before)


@pytest.fixture
def copy(site: BackedUp, tmp_path: Path) -> Path:
    """A backup to be broken."""
    shutil.copytree(site.backup, tmp_path / "backup")
    return tmp_path / "backup"


@pytest.fixture
def state(open_folder: Path) -> Path:
    return open_folder / "state"


def put_back(
    site: BackedUp, backup: Path, state: Path, *more: str
) -> subprocess.CompletedProcess[str]:
    words = ["--config", str(SETTINGS), "--state", str(state), "restore", str(backup), *more]
    return subprocess.run(
        [PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False
    )


def untouched(state: Path) -> bool:
    return not state.exists() or not any(state.iterdir())


def test_every_answer_is_as_before(site: BackedUp, state: Path) -> None:
    ok(put_back(site, site.backup, state))
    with Oborona(state=state) as other:
        assert answers(other) == site.answers
        told = json.loads(other.run("doctor", "--json").stdout)
        # the machine's own mail server asks nobody of these tests
        assert [one for one in told if one["state"] == "FAIL" and "server" not in one["what"]] == []
        assert not list(state.rglob("*damaged*"))
        assert "set aside" not in other.log()


def test_it_is_for_its_owner_alone_and_its_sums_are_those_of_sha256sum(site: BackedUp) -> None:
    for path in [site.backup, *site.backup.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    subprocess.run(
        ["sha256sum", "--quiet", "--strict", "-c", SUMS], cwd=site.backup, check=True, timeout=60
    )
    assert not list(site.backup.parent.glob("*.unfinished"))


def test_nothing_is_written_over(site: BackedUp, tmp_path: Path) -> None:
    done = site.oborona.run("backup", str(site.backup))
    assert (done.returncode, "is there already" in done.stderr) == (os.EX_IOERR, True)
    read_manifest(site.backup)


def test_what_does_not_fit_is_refused_before_it_begins(
    site: BackedUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "LEAST_ROOM", 1 << 60)
    with pytest.raises(StoreFull, match="MiB are needed"):
        restore_backup(site.backup, state=tmp_path / "state", force=False)
    assert untouched(tmp_path / "state")
    loaded = load_settings(SETTINGS, {"paths.state": str(site.oborona.state)})
    with pytest.raises(StoreFull, match="MiB are needed"):
        create_backup(loaded, tmp_path / "backup", nullcontext)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]


def test_a_running_daemon_is_not_pulled_from_under(site: BackedUp) -> None:
    done = put_back(site, site.backup, site.oborona.state, "--force")
    assert (done.returncode, "stop it first" in done.stderr) == (os.EX_CONFIG, True)


def test_a_state_that_is_there_stays_or_is_set_aside(site: BackedUp, state: Path) -> None:
    restore_backup(site.backup, state=state, force=False)
    (state / "secret").write_bytes(bytes(32))
    done = put_back(site, site.backup, state)
    assert (done.returncode, "holds a state already" in done.stderr) == (os.EX_CONFIG, True)
    assert (state / "secret").read_bytes() == bytes(32)
    ok(put_back(site, site.backup, state, "--force"))
    assert (state / "secret").read_bytes() == (site.backup / "state/secret").read_bytes()
    [aside] = state.glob("before-restore-*")
    assert (aside / "secret").read_bytes() == bytes(32)
    assert (aside / "journal.db").exists()


def test_each_kind_of_damage_is_refused_and_touches_nothing(
    site: BackedUp, copy: Path, state: Path
) -> None:
    def damaged(words: str) -> None:
        with pytest.raises(StoreError, match=f"damaged.*{re.escape(words)}"):
            restore_backup(copy, state=state, force=False)
        assert untouched(state)

    for name in (
        "state/journal.db",
        "state/secret",
        "state/counters/data.mdb",
        "settings/oborona.toml",
        MANIFEST,
    ):
        path = copy / name
        sound = path.read_bytes()
        for broken in (sound[:-1], bytes([sound[0] ^ 1]) + sound[1:], b""):
            path.write_bytes(broken)
            damaged(f"{name} is not what was written")
        path.unlink()
        damaged(f"{name} is missing")
        path.symlink_to("/etc/passwd")
        damaged(name)
        path.unlink()
        path.write_bytes(sound)
    (copy / "state/more.db").touch()
    damaged("state/more.db does not belong to it")
    (copy / "state/more.db").unlink()
    sums = (copy / SUMS).read_text()
    for text in (
        "",
        sums.replace("  manifest.json", "  manifest"),
        sums + "0" * 64 + "  ../../etc/passwd\n",
        "\0" * 100,
    ):
        (copy / SUMS).write_text(text)
        damaged(SUMS)
    (copy / SUMS).write_bytes(b"\xff" * 100)
    damaged("")


def test_one_of_a_newer_oborona_is_refused(site: BackedUp, copy: Path, state: Path) -> None:
    manifest = read_manifest(copy)
    for newer, words in (
        (
            structs.replace(manifest, stores=manifest.stores | {"journal.db": 99}),
            "journal.db is of version 99",
        ),
        (structs.replace(manifest, stores=manifest.stores | {"dreams.db": 1}), "no such store"),
        (structs.replace(manifest, format=2), "format 2"),
    ):
        (copy / MANIFEST).unlink()
        (copy / SUMS).unlink()
        seal_backup(copy, newer)
        with pytest.raises(StoreVersion, match=words):
            restore_backup(copy, state=state, force=False)
        assert untouched(state)


def test_what_is_no_backup_is_none(site: BackedUp, tmp_path: Path, state: Path) -> None:
    with pytest.raises(StoreError, match="is no backup of Oborona"):
        restore_backup(tmp_path, state=state, force=False)


@pytest.mark.parametrize("after_s", [0.2, 0.4, 0.6, 0.8])
def test_a_backup_that_is_killed_leaves_nothing_under_its_name(
    site: BackedUp, tmp_path: Path, after_s: float
) -> None:
    target = tmp_path / "backup"
    kill(site.oborona.command("backup", str(target)), after_s)
    if target.exists():  # it was faster
        read_manifest(target)
        return
    ok(site.oborona.run("backup", str(target)))
    read_manifest(target)
    assert [path.name for path in tmp_path.iterdir()] == ["backup"]


@pytest.mark.parametrize("copied", [0, 1, 4, 9])
def test_a_restore_that_is_killed_starts_no_daemon_and_goes_on(
    site: BackedUp, state: Path, copied: int
) -> None:
    restore_backup(site.backup, state=state, force=False)
    (state / "of_before").touch()
    child = os.fork()
    if not child:
        dies_after(copied)
        restore_backup(site.backup, state=state, force=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert (state / state_files.RESTORING).exists()
    with pytest.raises(
        StoreForeign, match=r"was put back in part: `oborona restore .*` ended before its end"
    ):
        prepare_state(state)
    restore_backup(site.backup, state=state, force=False)
    assert not (state / state_files.RESTORING).exists()
    [aside] = state.glob("before-restore-*")
    assert (aside / "of_before").exists()
    same = filecmp.dircmp(site.backup / "state", state, ignore=[aside.name])
    assert (same.left_only, same.right_only, same.diff_files) == ([], [], [])


@pytest.mark.parametrize("older", [False, True], ids=["ours", "of a version without records"])
def test_what_was_put_back_is_what_was_begun(
    site: BackedUp, state: Path, older: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """In the place of a state that was lost, and of another one: nothing is told of as lost."""
    restore_backup(site.backup, state=state, force=False)
    prepare_state(state)
    (state / "journal.db").unlink()
    prepare_state(state)
    assert "begun anew" in caplog.text
    caplog.clear()
    restore_backup(site.backup, state=state, force=True)
    if older:
        shutil.rmtree(state / state_files.BEGUN)
        for file in state.glob("*.db"):
            with closing(sqlite3.connect(file)) as db:
                db.execute("DROP TABLE begun")
    prepare_state(state)
    open_writer(Settings(), state).close()
    told = [one.getMessage() for one in caplog.records]
    assert not [
        one for one in told if "was copied here" not in one and "no record of it" not in one
    ], told
    assert not any(one.lost_at for one in store_birth.read_records(state).values())
    assert store_birth.read_record(state, "journal.db") is not None


def dies_after(copied: int) -> None:
    """Let the process be killed in the middle of a file, after so many of them."""
    left = iter(range(copied))

    def copy_or_die(source: BinaryIO, target: BinaryIO) -> None:
        if next(left, None) is None:
            target.write(source.read(100))
            target.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        target.write(source.read())

    shutil.copyfileobj = copy_or_die  # type: ignore[assignment]


def kill(command: list[str], after_s: float) -> None:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(after_s)
        process.kill()


def test_settings_come_back_where_they_were_and_what_is_there_is_kept(open_folder: Path) -> None:
    etc, backup = open_folder / "etc", open_folder / "backup"
    (etc / "policy.d").mkdir(parents=True)
    (etc / "policy.d/90-local.toml").write_text(
        '[[rule]]\nname = "MINE"\nwhen = "links > 99"\nscore = 1\nsay = "many"\n'
    )
    (etc / "tokens").write_text("0123456789abcdef0123\n")
    (etc / "tokens").chmod(0o640)
    (etc / "oborona.toml").write_text(
        f'[paths]\nstate = "../state"\n[intake]\nhttp_listen = '
        f'"inet:127.0.0.1:1"\nhttp_token_file = "{etc}/tokens"\n'
    )
    (open_folder / "state").mkdir()
    secret.make(open_folder / "state")
    command = [str(PROGRAM), "--config", str(etc / "oborona.toml")]
    ok(
        subprocess.run(
            [*command, "backup", str(backup)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    )
    before = {path.name: path.read_bytes() for path in etc.rglob("*") if path.is_file()}

    (etc / "oborona.toml").write_text("# another\n")
    shutil.rmtree(etc / "policy.d")
    (etc / "tokens").unlink()
    shutil.rmtree(open_folder / "state")
    ok(
        subprocess.run(
            [PROGRAM, "restore", backup], capture_output=True, text=True, timeout=60, check=False
        )
    )
    there = {path.name: path.read_bytes() for path in etc.rglob("*") if path.is_file()}
    [aside] = (name for name in there if "before-restore" in name)
    assert there.pop(aside) == b"# another\n"
    assert there == before
    assert stat.S_IMODE((etc / "tokens").stat().st_mode) == 0o640
    secret.load(open_folder / "state")
