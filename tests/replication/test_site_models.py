"""One final model on all machines of a site: trained on one, the same on all with all that was said
of it, and whole after whatever was killed or damaged.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.config import Settings
from oborona.config.final_trainer import FinalTrainingSettings
from oborona.daemon.final_trainer import process
from oborona.daemon.final_trainer.installation import follow_report, note_failure
from oborona.daemon.final_trainer.process import FinalTrainer
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.membership import begin_site, join_site
from oborona.daemon.site.model_follower import SiteModelFollower, catch_up_models
from oborona.daemon.site.snapshot_duty import renew_snapshots
from oborona.desk.doctor.site_models import site_models
from oborona.errors import StoreError
from oborona.heartbeat import StopSignal
from oborona.policy.fact_table import SCHEMA
from oborona.policy.models.final.comparison import ComparisonResult, PairedComparison
from oborona.policy.models.final.file import encode, version
from oborona.policy.models.final.succession import TrainingReport
from oborona.replication.link import link_path, read_link
from oborona.replication.log import ReplicationLog
from oborona.replication.site_lock import LockLostError, SiteLock
from oborona.stores.final_model import FollowedFinalModel
from oborona.stores.final_training_plan import TrainingPlan
from oborona.stores.final_training_record import (
    installed_version,
    read_record,
    readable_choice,
    replacing,
)
from oborona.stores.site_models.level import (
    FILES,
    SiteModelsRefusedError,
    gather,
    held_files,
    level_here,
    unlevel_files,
)
from oborona.stores.site_models.store import LEVEL, SiteModelStore
from oborona.stores.site_models.turn import LOCK, training_waits
from tests.peers.postgresql import Postgresql
from tests.replication.machines import following, new_state, persons, two_machines
from tests.stores.test_final_model import HTML_IS_GOOD, HTML_IS_SPAM
from tests.whole.gate import eventually

GOOD, SPAM = encode(HTML_IS_GOOD), encode(HTML_IS_SPAM)
BETTER = PairedComparison(spam=100, ham=500, gained=50)


@contextmanager
def running(*machines: Path) -> Iterator[None]:
    """Follow the log and the site's models on some machines within, as their keepers do."""
    with ExitStack() as stack:
        for state in machines:
            stack.enter_context(following(state))
            stop = threading.Event()
            thread = threading.Thread(target=SiteModelFollower(state).run, args=(stop,))
            thread.start()
            stack.callback(thread.join)
            stack.callback(stop.set)
        yield


@contextmanager
def training(state: Path) -> Iterator[None]:
    """Let a machine have the turn to train within."""
    link = read_link(state)
    assert link is not None
    with SiteLock(link, LOCK) as lock:
        eventually(lock.held)
        yield


def report_of(octets: bytes, at: float, in_force: str = "") -> TrainingReport:
    """Return a report that lets a model take over."""
    assert BETTER.result is ComparisonResult.BETTER
    return TrainingReport(
        at=at, trained=version(octets), comparison=BETTER, newest=BETTER, in_force=in_force
    )


def run(state: Path, *words: str) -> Result:
    """Run `oborona model final` on a machine, whose policy folder is empty."""
    policy = state.parent / "policy.d"
    policy.mkdir(exist_ok=True)
    (policy / "10.toml").write_text("[verdict]\nspam_score = 100\n")
    return CliRunner().invoke(
        main,
        [
            *("--state", os.fspath(state)),
            *("--set", f"paths.policy={policy}", "--set", "paths.shipped_policy=none"),
            *("model", "final", *words),
        ],
    )


def ran(state: Path, *words: str) -> str:
    """Run it, and return what it says."""
    told = run(state, *words)
    assert told.exit_code == 0, (told.output, told.exception)
    return told.output


def reported(state: Path) -> str:
    """Return what `oborona doctor` says of the models of a machine."""
    (report,) = site_models(CliContext(None, state, ()))
    return f"{report.state} {report.words}"


def unlevel(state: Path) -> list[str]:
    with SiteModelStore(state / state_files.SITE_MODELS, make=False) as store:
        return unlevel_files(state, store)


def wait_same(first: Path, second: Path) -> None:
    eventually(lambda: held_files(first) == held_files(second))


def test_what_one_trained_is_in_force_on_all_and_rolled_back_from_any(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    judges = FollowedFinalModel.of_site(second, SCHEMA)
    with running(first, second):
        with training(first):
            follow_report(first, report_of(SPAM, 1e9), SPAM, words=7)
        wait_same(first, second)
        assert judges.look()
        assert judges.version == version(SPAM)
        assert judges.better, "whether it is in shadow or not is the site's, too"
        assert read_record(second).words == 7
        assert read_record(second).automatic == (version(SPAM),)
        with training(second):  # the next one goes on from what the first has found
            follow_report(second, report_of(GOOD, 1.1e9, version(SPAM)), GOOD, words=9)
        wait_same(first, second)
        assert [one.at for one in read_record(first).reports] == [1e9, 1.1e9]
        assert installed_version(first) == readable_choice(first).own == version(GOOD)
        assert version(SPAM) in ran(first, "rollback")
        wait_same(first, second)
        assert installed_version(second) == readable_choice(second).own == version(SPAM)
        assert read_record(second).held_by == "rollback"
        ran(second, "auto")
        ran(first, "remove")
        wait_same(first, second)
        assert held_files(second).keys() == {
            state_files.FINAL_TRAINING,
            state_files.FINAL_MODEL_BEFORE,
            state_files.FINAL_CHOICE,
        }
        judges.look()
        assert judges.version == ""


def test_who_was_away_begins_with_it_and_who_is_cut_off_judges_by_what_it_had(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with replacing(first) as files:
        files.install(SPAM)
    assert catch_up_models(second) == ""
    assert installed_version(second) == version(SPAM)
    link = link_path(second).read_bytes()
    address = postgresql.address.replace(str(postgresql.port), "1")
    link_path(second).write_bytes(link.replace(postgresql.address.encode(), address.encode()))
    with replacing(first) as files:
        files.install(GOOD)
    before = held_files(second)
    assert "can't be reached" in catch_up_models(second)
    refused = run(second, "rollback")
    assert refused.exit_code
    assert "the site's log can't be reached" in str(refused.output) + str(refused.exception)
    assert "can't be reached" in training_waits(second)
    assert held_files(second) == before
    assert unlevel(second) == [], "what it knows it judges by"
    link_path(second).write_bytes(link)
    with running(second):
        wait_same(first, second)


def test_one_machine_trains_and_who_has_lost_the_turn_publishes_nothing(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    assert training_waits(first) == "no machine of the site trains now"
    with training(second):
        assert training_waits(second) == ""
        assert training_waits(first) == "mx2 trains for all machines of the site"
        before = held_files(first)
        with pytest.raises(LockLostError):
            follow_report(first, report_of(SPAM, 1e9), SPAM, words=7)
        with pytest.raises(LockLostError):
            note_failure(first, "late", 1e9)
        assert held_files(first) == before
        told = ran(first, "status")
        assert "next training: waits, mx2 trains for all machines of the site" in told
        assert "not installed" not in told, "what is missing here matters to nobody"
        assert "the same on all machines of the site, as mx1 at" in told


TRAINS = (
    "import json,os,sys;o=json.loads(sys.argv[1]);os.chdir(o['work']);"
    "open('model','wb').write(open(o['state']+'/one','rb').read());"
    "open(o['state']+'/trained','a').write('.');"
    "open('outcome.json','w').write(open(o['state']+'/outcome').read())"
)


def test_the_process_trains_where_the_turn_is(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "training_plan", lambda *_: TrainingPlan(0.0, ""))
    machines = two_machines(tmp_path, postgresql.address)
    settings = Settings(final_training=FinalTrainingSettings(busy_load=10_000))
    for state in machines:
        (state / "one").write_bytes(SPAM)
        outcome = {"report": msgspec.to_builtins(report_of(SPAM, 1e9))}
        (state / "outcome").write_bytes(msgspec.json.encode(outcome))
    trainers = [
        FinalTrainer(settings, state, StopSignal(), program=(sys.executable, "-c", TRAINS))
        for state in machines
    ]
    with running(*machines), training(machines[1]):
        for trainer in trainers:
            trainer.step()
        assert [(state / "trained").exists() for state in machines] == [False, True]
        wait_same(*machines)
        assert installed_version(machines[0]) == version(SPAM)


def test_killed_in_the_midst_it_is_whole_and_the_same_on_all(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    published = 0
    with running(second):
        for turn in range(8):
            program = subprocess.Popen(
                [sys.executable, "-m", "tests.replication.site_model_program", os.fspath(first)],
                stdout=subprocess.PIPE,
            )
            assert program.stdout is not None
            for _ in range(2):
                program.stdout.readline()
            time.sleep(0.015 * turn)  # another place in what it does each time
            program.send_signal(signal.SIGKILL)
            published = int((program.stdout.read().split() or [b"2"])[-1])
            program.wait()
            program.stdout.close()
            catch_up_models(first)
            wait_same(first, second)
            assert unlevel(first) == unlevel(second) == []
            record, choice = read_record(second), readable_choice(second)
            assert choice == record.choice
            assert choice.own == installed_version(second) != ""
            assert record.words >= published, "what was acknowledged is in force"


def test_a_damaged_model_in_the_log_is_refused_and_said(
    tmp_path: Path, postgresql: Postgresql, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with replacing(first) as files:
        files.install(SPAM)
    catch_up_models(second)
    with replacing(first) as files:
        files.install(GOOD)
    packed = zlib.compress(GOOD, LEVEL)
    ((statements,),) = postgresql.rows(
        "SELECT statements FROM oborona.change WHERE store = 'site-models.db'"
        " ORDER BY number DESC LIMIT 1"
    )
    assert packed in statements
    damaged = statements.replace(packed, packed[:-9] + bytes(9))
    postgresql.rows(
        "UPDATE oborona.change SET statements = %s WHERE store = 'site-models.db'"
        " AND number = (SELECT max(number) FROM oborona.change WHERE store = 'site-models.db')",
        damaged,
    )
    before = held_files(second)
    assert reported(second).startswith("OK what the site has, since")
    why = catch_up_models(second)
    assert reported(second).startswith("WARN")
    assert "final.model is damaged, and is not used; those here stay in force" in reported(second)
    assert "what the site has as final.model is damaged, and is not used" in why
    with running(second):
        eventually(lambda: "does not judge by the site's final models" in caplog.text)
    assert held_files(second) == before
    assert "is damaged, and is not used" in run(second, "rollback").output
    with replacing(first) as files:  # the next model mends it
        files.install(encode(msgspec.structs.replace(HTML_IS_SPAM, trained_at=1.0)))
        files.remove(state_files.FINAL_MODEL_BEFORE)
    assert catch_up_models(second) == ""
    assert held_files(second) == held_files(first)


def test_a_model_that_a_machine_can_t_use_leaves_it_what_it_had(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    with replacing(first) as files:
        files.install(SPAM)
    catch_up_models(second)
    before = held_files(second)
    newer = encode(msgspec.structs.replace(HTML_IS_SPAM, features=("fact.of.next.year",)))
    choice = b'{"own": "", "of_next_year": 1}'
    store = SiteModelStore(first / state_files.SITE_MODELS)
    with store, store.transaction():  # as a newer Oborona would
        store.replace(
            {state_files.FINAL_MODEL: newer, state_files.FINAL_CHOICE: choice},
            machine="mx1",
            now=1.0,
        )
    assert "this machine can't use final.model of its site" in catch_up_models(second)
    assert held_files(second) == before, "nor any part of it"
    with pytest.raises(SiteModelsRefusedError), replacing(second):
        pass
    assert held_files(second) == before


def test_what_a_machine_had_is_set_aside_and_what_it_keeps_is_its_own_again(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = new_state(tmp_path / "mx1"), new_state(tmp_path / "mx2")
    for state, octets, at in ((first, SPAM, 1.0), (second, GOOD, 2.0)):
        with replacing(state) as files:
            files.install(octets)
            files.hold("install", at)
    (first / state_files.FINAL_SHIPPED).write_bytes(b"broken, and so not in force")
    begin_site(first, postgresql.address, "mx1", "1")
    aside = {
        path.name.split(".before-")[0] for path in join_site(second, postgresql.address, "mx2", "1")
    }
    assert aside == {state_files.FINAL_MODEL, state_files.FINAL_TRAINING}
    (kept,) = second.glob("final.model.before-site-*")
    assert kept.read_bytes() == GOOD
    assert installed_version(second) == version(SPAM)
    assert not (second / state_files.FINAL_SHIPPED).exists()
    (second / state_files.FINAL_MODEL).write_bytes(encode(HTML_IS_GOOD)[:40])
    level_here(second)  # by hand it is nobody's
    assert installed_version(second) == version(SPAM)
    assert len(list(second.glob("final.model.before-site-*"))) >= 1
    leave_site(second)
    with replacing(second) as files:
        files.install(GOOD)
    level_here(second)
    assert installed_version(second) == version(GOOD)
    assert installed_version(first) == version(SPAM)


def test_a_site_of_an_older_oborona_goes_on_and_has_them_once_joined_again(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    # as the machines were before: neither the log nor their links know of it
    postgresql.rows("DELETE FROM oborona.snapshot WHERE store = 'site-models.db'")
    postgresql.rows("DELETE FROM oborona.position WHERE store = 'site-models.db'")
    postgresql.rows("DELETE FROM oborona.change WHERE store = 'site-models.db'")
    postgresql.rows("DELETE FROM oborona.store WHERE name = 'site-models.db'")
    older = {name: kind for name, kind in COMMON_KINDS.items() if name != state_files.SITE_MODELS}
    for state in (first, second):
        link = read_link(state)
        assert link is not None
        stores = tuple(name for name in link.stores if name != state_files.SITE_MODELS)
        link_path(state).write_bytes(
            msgspec.json.encode(msgspec.structs.replace(link, stores=stores))
        )
        for path in state.glob("site-models.db*"):
            path.unlink()
    for state, octets in ((first, SPAM), (second, GOOD)):
        with replacing(state) as files:
            files.install(octets)
    assert installed_version(first) != installed_version(second), "each has its own"
    join_site(first, postgresql.address, "mx1", "2")
    with following(second, older), running(first):
        with persons(first) as store:
            assert store.persons() == []
        with replacing(first) as files:
            files.install(encode(msgspec.structs.replace(HTML_IS_SPAM, trained_at=2.0)))
        link = read_link(second)
        assert link is not None
        log = ReplicationLog(link.address, link.machine)
        eventually(lambda: {one.name for one in log.machines()} == {"mx1", "mx2"})
        assert renew_snapshots(log, second, log.heads()) == []
        log.close()
        assert installed_version(second) == version(GOOD)
        assert training_waits(second) == ""
    join_site(second, postgresql.address, "mx2", "2")
    assert held_files(second) == held_files(first)


def test_models_in_the_log_become_a_snapshot_before_they_fill_it(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    link = read_link(first)
    assert link is not None
    monkeypatch.setattr("oborona.daemon.site.snapshot_duty.LARGE", 2_000)
    with replacing(first) as files:
        files.install(SPAM)
    log = ReplicationLog(link.address, link.machine)
    try:
        assert renew_snapshots(log, first, log.heads()) == []
        for number in range(60):
            with replacing(first) as files:
                files.write(state_files.FINAL_SHIPPED, os.urandom(4_000) + bytes([number]))
                files.kept = {state_files.FINAL_MODEL_BEFORE: os.urandom(4_000)}
        assert renew_snapshots(log, first, log.heads()) == [state_files.SITE_MODELS]
    finally:
        log.close()
    assert catch_up_models(second) == ""
    assert held_files(second) == held_files(first)


def test_where_each_machine_learns_for_itself_it_trains_for_itself(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = two_machines(tmp_path, postgresql.address)
    own = (state_files.EVENTS, state_files.FEEDBACK, state_files.SITE_MODELS)
    for table in ("snapshot", "position", "change"):
        postgresql.rows(f"DELETE FROM oborona.{table} WHERE store = ANY(%s)", list(own))
    postgresql.rows("DELETE FROM oborona.store WHERE name = ANY(%s)", list(own))
    for state in (first, second):  # of a site that was begun before reports were common
        leave_site(state)
    with replacing(second) as files:
        files.install(GOOD)
    join_site(second, postgresql.address, "mx2", "1")
    link = read_link(second)
    assert link is not None
    assert not set(link.stores) & set(own)
    assert installed_version(second) == version(GOOD)
    assert training_waits(second) == ""


@pytest.mark.parametrize("name", FILES)
def test_what_can_t_be_read_is_told(tmp_path: Path, name: str) -> None:
    state = new_state(tmp_path / "mx1")
    (state / name).mkdir()
    with pytest.raises(StoreError, match=name):
        gather(state, "mx1", anew=True)
