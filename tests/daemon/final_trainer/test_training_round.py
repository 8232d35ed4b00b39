"""A site's own model, from its journal and what people said to what workers follow: it takes over
when it is better, and nothing that goes wrong puts anything else in force.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest
from click.testing import CliRunner

from oborona import state_files
from oborona.cli import main
from oborona.config import Settings
from oborona.config.confinement import ConfinementSettings
from oborona.config.final_trainer import FinalTrainingSettings
from oborona.config.settings import PathSettings
from oborona.daemon.final_trainer.installation import (
    finish_interrupted,
    follow_report,
    keep_page,
)
from oborona.daemon.final_trainer.process import FinalTrainer
from oborona.daemon.final_trainer.training_round import TrainingRound, run_round
from oborona.feedback.final import train as training_of
from oborona.feedback.label_store import LabelStore
from oborona.heartbeat import StopSignal
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy
from oborona.policy.models.final.choice import NO_CHOICE, ShippedStanding, encode_choice
from oborona.policy.models.final.comparison import ComparisonResult
from oborona.policy.models.final.file import decode, encode, version
from oborona.policy.models.final.succession import TrainingReport
from oborona.stores.final_model import SHIPPED_FILE, FollowedFinalModel, read_choice
from oborona.stores.final_training_record import (
    installed_version,
    read_record,
    readable_choice,
)
from tests.daemon.final_trainer.made_site import made_site, rules
from tests.stores.test_final_model import HTML_IS_GOOD

SPAM, HAM = 220, 800
MOST: Final = 20_000


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Policy, TrainingRound]:
    """A site that is better judged by its own model, and the round that says so."""
    root = tmp_path_factory.mktemp("site")
    policy = rules(root / "policy.d")
    made_site(root / "state", policy, spam=SPAM, ham=HAM, now=time.time() - 3 * 86_400)
    return root, policy, run_round(root / "state", policy, most=MOST, now=time.time())


@pytest.fixture
def site(lived: tuple[Path, Policy, TrainingRound], tmp_path: Path) -> Path:
    """The state folder of a copy of that site."""
    for name in (state_files.JOURNAL, state_files.FEEDBACK):
        with (
            sqlite3.connect(lived[0] / "state" / name) as db,
            sqlite3.connect(tmp_path / name) as copy,
        ):
            db.backup(copy)
    (tmp_path / state_files.FINAL_SHIPPED).write_bytes(
        (lived[0] / "state" / state_files.FINAL_SHIPPED).read_bytes()
    )
    return tmp_path


def follow(state: Path, found: TrainingRound) -> None:
    follow_report(state, found.report, found.model, words=SPAM + HAM)


def run(state: Path, folder: Path, *words: str) -> str:
    told = CliRunner().invoke(
        main,
        [
            "--state",
            os.fspath(state),
            "--set",
            f"paths.policy={folder}",
            "--set",
            "paths.shipped_policy=none",
            *("model", "final", *words),
        ],
    )
    assert told.exit_code == 0, (told.output, told.exception)
    return told.output


def test_a_model_that_sees_what_the_rules_do_not_takes_over(
    lived: tuple[Path, Policy, TrainingRound], site: Path
) -> None:
    report = lived[2].report
    assert (report.spam, report.ham) == (SPAM, HAM)
    assert report.comparison.result is ComparisonResult.BETTER
    assert report.comparison.first_caught > 0.95
    assert report.comparison.second_caught == 0.0
    assert report.comparison.lost == 0
    models = FollowedFinalModel.of_site(site, SCHEMA)
    models.look()
    assert not models.better
    follow(site, lived[2])
    models.look()
    assert models.version == report.trained == models.choice.own
    assert models.better
    told = run(site, lived[0] / "policy.d", "status")
    assert "live: found better" in told
    assert "last report at" in told
    assert "next training: waits, people have spoken of 0 messages since the last" in told
    data = json.loads(run(site, lived[0] / "policy.d", "status", "--json"))
    assert data["live"]
    assert data["training"]["last"]["result"] == "better"
    assert data["training"]["waits"]


def test_of_what_is_known_no_identity_and_no_verdict_of_a_model_is_seen(
    lived: tuple[Path, Policy, TrainingRound],
) -> None:
    features = decode(lived[2].model).features
    assert features
    hidden = ("FINAL_MODEL", "SHIPPED_MODEL", "KARMA", "time.", "date.", "as_number", "traps")
    assert not [name for name in features for word in hidden if word in name]


def test_the_same_site_gives_the_same_model(lived: tuple[Path, Policy, TrainingRound]) -> None:
    again = run_round(lived[0] / "state", lived[1], most=MOST, now=lived[2].report.at)
    assert version(again.model) == lived[2].report.trained


def test_words_taken_back_are_not_learned(
    lived: tuple[Path, Policy, TrainingRound], site: Path
) -> None:
    with LabelStore(site / state_files.FEEDBACK) as store:
        spam = [one.id for one in store.last(2000) if one.kind == "spam"]
        store.take_back(spam[:170], reason="wrong", by="test", now=time.time())
    found = run_round(site, lived[1], most=MOST, now=time.time())
    assert found.report.spam == SPAM - 170
    assert "80 of each are the least" in found.report.why_not


def test_without_the_library_the_shipped_model_is_tried_all_the_same(
    lived: tuple[Path, Policy, TrainingRound], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / state_files.FINAL_SHIPPED).unlink()
    assert SHIPPED_FILE.exists()
    monkeypatch.setattr(training_of, "find_spec", lambda _: None)
    found = run_round(site, lived[1], most=MOST, now=time.time())
    assert "./setup ml" in found.report.why_not
    assert found.model == b""
    assert found.report.shipped
    assert found.report.confirming.ham == HAM
    follow(site, found)
    assert readable_choice(site).shipped_version == found.report.shipped
    assert readable_choice(site).shipped in set(ShippedStanding)
    assert "it is not trained by itself" in run(site, lived[0] / "policy.d", "status")


def test_what_a_person_installed_is_not_replaced_until_they_say_so(
    lived: tuple[Path, Policy, TrainingRound], site: Path, tmp_path: Path
) -> None:
    folder = lived[0] / "policy.d"
    (tmp_path / "theirs").write_bytes(encode(HTML_IS_GOOD))
    run(site, folder, "install", str(tmp_path / "theirs"))
    follow(site, lived[2])
    assert installed_version(site) == version(encode(HTML_IS_GOOD))
    assert readable_choice(site).own == ""
    assert "was chosen by `install`" in run(site, folder, "status")
    run(site, folder, "auto")
    follow(site, lived[2])
    assert installed_version(site) == readable_choice(site).own == lived[2].report.trained
    run(site, folder, "rollback")
    assert installed_version(site) == version(encode(HTML_IS_GOOD))
    assert readable_choice(site).own == "", "it never was found better"
    follow(site, lived[2])
    assert installed_version(site) == version(encode(HTML_IS_GOOD))
    run(site, folder, "rollback")
    assert readable_choice(site).own == lived[2].report.trained, "this one was"
    run(site, folder, "remove")
    follow(site, lived[2])
    assert installed_version(site) == ""


def test_a_model_of_an_older_site_that_no_record_knows_is_a_persons(
    lived: tuple[Path, Policy, TrainingRound], site: Path
) -> None:
    (site / state_files.FINAL_MODEL).write_bytes(encode(HTML_IS_GOOD))
    follow(site, lived[2])
    assert installed_version(site) == version(encode(HTML_IS_GOOD))


@pytest.mark.parametrize("octets", [b"", b"{", b"\xff" * 100, b"[" * 100_000, b'{"reports": 3}'])
def test_a_damaged_record_holds_what_is_installed(
    lived: tuple[Path, Policy, TrainingRound], site: Path, octets: bytes
) -> None:
    (site / state_files.FINAL_TRAINING).write_bytes(octets)
    follow(site, lived[2])
    assert installed_version(site) == ""
    assert read_record(site).held_by == "a record that is damaged"


def test_who_was_killed_before_the_choice_writes_it_when_it_starts_again(
    lived: tuple[Path, Policy, TrainingRound], site: Path
) -> None:
    follow(site, lived[2])
    chosen = read_choice(site / state_files.FINAL_CHOICE)
    (site / state_files.FINAL_CHOICE).unlink()
    finish_interrupted(site)
    assert read_choice(site / state_files.FINAL_CHOICE) == chosen
    # killed before the model: what was in force stays, and is not said to be better
    (site / state_files.FINAL_CHOICE).write_bytes(encode_choice(NO_CHOICE))
    (site / state_files.FINAL_MODEL).unlink()
    finish_interrupted(site)
    assert readable_choice(site) == NO_CHOICE


def test_the_pages_of_the_last_trainings_are_kept(tmp_path: Path) -> None:
    for day in range(5):
        keep_page(tmp_path, f"page {day}", at=1e9 + 86_400 * day, most=3)
    pages = sorted((tmp_path / state_files.FINAL_REPORTS).iterdir())
    assert [page.read_text() for page in pages] == ["page 2", "page 3", "page 4"]
    keep_page(tmp_path, "none", at=2e9, most=0)
    assert not list((tmp_path / state_files.FINAL_REPORTS).iterdir())


def settings(folder: Path, *, confined: bool = False, minutes: float = 10.0) -> Settings:
    return Settings(
        paths=PathSettings(policy=os.fspath(folder), shipped_policy="none"),
        final_training=FinalTrainingSettings(minutes=minutes, busy_load=10_000),
        confine=ConfinementSettings(system_calls=confined),
    )


@pytest.fixture
def stop() -> StopSignal:
    return StopSignal()


def test_a_process_of_its_own_trains_confined_and_leaves_a_page(
    lived: tuple[Path, Policy, TrainingRound], site: Path, stop: StopSignal
) -> None:
    trainer = FinalTrainer(settings(lived[0] / "policy.d", confined=True), site, stop)
    trainer.step()
    record = read_record(site)
    assert record.failed == ""
    assert record.last is not None
    assert record.last.comparison.result is ComparisonResult.BETTER
    assert record.words == SPAM + HAM
    assert record.automatic == record.chosen == (installed_version(site),)
    assert readable_choice(site).own == installed_version(site)
    (page,) = (site / state_files.FINAL_REPORTS).iterdir()
    assert "How people told what it is" in page.read_text()
    assert not (site / state_files.FINAL_WORK).exists()
    assert trainer.step() > 0, "nothing is new"
    assert read_record(site) == record


GOOD: Final = "import json,os,sys;o=json.loads(sys.argv[1]);os.chdir(o['work']);"
OUTCOME: Final = (
    "open('outcome.json','w').write(json.dumps({'report':{'at':1e9,'trained':'0123456789ab',"
    "'comparison':{'spam':100,'ham':500,'gained':50}}}))"
)
FAULTS: Final = {
    "killed": (GOOD + "os.kill(os.getpid(),9)", "ended by SIGKILL"),
    "no outcome": (GOOD, "left no outcome"),
    "half an outcome": (GOOD + "open('outcome.json','w').write('{\"rep')", "left no outcome"),
    "no model": (GOOD + OUTCOME, "no model of ours"),
    "half a model": (
        GOOD + "open('model','wb').write(open(o['state']+'/one','rb').read()[:-7]);" + OUTCOME,
        "cut or changed",
    ),
    "another model": (
        GOOD + "open('model','wb').write(open(o['state']+'/one','rb').read());" + OUTCOME,
        "not the one that its report tells of",
    ),
    "full disk": (GOOD + "raise OSError(28,'No space left on device')", "status 1"),
    "for ever": ("import time;time.sleep(600)", "longer than"),
    "own fault": (
        GOOD + "open('outcome.json','w').write(json.dumps({'fault':'it broke'}))",
        "it broke",
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_whatever_becomes_of_a_training_what_is_in_force_stays(
    lived: tuple[Path, Policy, TrainingRound], site: Path, stop: StopSignal, kind: str
) -> None:
    follow(site, lived[2])
    (site / state_files.FINAL_TRAINING).write_bytes(
        msgspec.json.encode(
            msgspec.structs.replace(read_record(site), reports=(), words=0)
        )  # it is time again
    )
    (site / "one").write_bytes(encode(HTML_IS_GOOD))
    model = (site / state_files.FINAL_MODEL).read_bytes()
    choice = (site / state_files.FINAL_CHOICE).read_bytes()
    code, why = FAULTS[kind]
    within = settings(lived[0] / "policy.d", minutes=0.1 if kind == "for ever" else 10.0)
    trainer = FinalTrainer(within, site, stop, program=(sys.executable, "-c", code))
    trainer.step()
    assert (site / state_files.FINAL_MODEL).read_bytes() == model
    assert (site / state_files.FINAL_CHOICE).read_bytes() == choice
    assert why in read_record(site).failed
    assert not (site / state_files.FINAL_WORK).exists()
    asked = read_record(site).failed_at
    trainer.step()
    assert read_record(site).failed_at == asked, "not again before it is time"


def test_nothing_is_begun_on_a_busy_machine_or_while_people_said_too_little(
    lived: tuple[Path, Policy, TrainingRound], site: Path, stop: StopSignal, tmp_path: Path
) -> None:
    must_not: Callable[[Path], FinalTrainer] = lambda state: FinalTrainer(  # noqa: E731
        msgspec.structs.replace(
            settings(lived[0] / "policy.d"), final_training=FinalTrainingSettings()
        ),
        state,
        stop,
        load=lambda: 1.5,
        program=("/nonexistent",),
    )
    assert must_not(site).step() > 60
    (tmp_path / "empty").mkdir()
    must_not(tmp_path / "empty").step()
    for state in (site, tmp_path / "empty"):
        assert read_record(state).tried_at == 0.0


def test_a_report_of_other_models_than_those_in_force_says_nothing_of_them(
    lived: tuple[Path, Policy, TrainingRound], site: Path
) -> None:
    follow(site, lived[2])
    worse = lived[2].report.comparison
    report = TrainingReport(
        at=time.time(),
        in_force="of yesterday",
        since=msgspec.structs.replace(worse, gained=0, missed=50),
    )
    follow_report(site, report, b"", words=1)
    assert readable_choice(site).own == lived[2].report.trained
