"""The final model of a process follows its file: what is broken leaves the old one, and says so
once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.counters.memory import MemoryCounters
from oborona.desk.doctor.model import final
from oborona.desk.doctor.report import CheckState
from oborona.message.shingles import Hasher
from oborona.metrics import MetricsSnapshot
from oborona.policy.counts import MessageCounts
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.load import load_policy
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final.features import NAME
from oborona.policy.models.final.file import MAX_OCTETS, TrainedModel, encode, version
from oborona.policy.models.final.summary import TrainingSummary
from oborona.policy.rules import VerdictLines
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.stores.final_model import FollowedFinalModel
from oborona.telemetry import status
from oborona.types import Action, Envelope
from tests.daemon.reader.plans import eventually
from tests.policy.models.final.made import trees

HTML_IS_SPAM = TrainedModel(
    features=("html",),
    trees=trees([[0]], [[0.5]], [[-3.0, 5.0]]),
    calibration=Calibration(),
    policy="abc",
    trained_at=1.7e9,
    summary=TrainingSummary(),
)
HTML_IS_GOOD = msgspec.structs.replace(HTML_IS_SPAM, trees=trees([[0]], [[0.5]], [[5.0, -3.0]]))
LETTER = b"From: ann@a.example\r\nContent-Type: text/html\r\n\r\n<p>a few words of a letter</p>\r\n"
LIVE = "[final]\nmode = 'live'\nspam = 0.9\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / state_files.FINAL_MODEL


def put(path: Path, octets: bytes) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(octets)
    fresh.replace(path)


def said(followed: FollowedFinalModel) -> str:
    facts = Facts(known=MessageCounts(), html=True)
    hits = followed.weigh(facts, (), FinalTable(), VerdictLines(), RuleGroups())
    return hits[0].say if hits else ""


def test_it_comes_changes_and_goes_with_its_file(path: Path) -> None:
    followed = FollowedFinalModel(path, SCHEMA)
    assert not followed.look()
    assert said(followed) == ""
    put(path, encode(HTML_IS_SPAM))
    assert followed.look()
    assert said(followed) == "p=0.9933; rules alone 0"
    assert followed.version == version(encode(HTML_IS_SPAM))
    assert not followed.look()
    put(path, encode(HTML_IS_GOOD))
    assert followed.look()
    assert said(followed) == "p=0.0474; rules alone 0"
    path.unlink()
    assert followed.look()
    assert (said(followed), followed.version) == ("", "")


BROKEN = {
    "empty": b"",
    "cut": encode(HTML_IS_GOOD)[:-1],
    "changed": encode(HTML_IS_GOOD)[:-1] + b"?",
    "foreign": b"\x7fELF" + bytes(1000),
    "of other facts": encode(msgspec.structs.replace(HTML_IS_GOOD, features=("text.wonders",))),
    "too large": bytes(MAX_OCTETS + 1),
}


def test_the_doctor_says_which_model_is_in_use_and_what_workers_refuse(path: Path) -> None:
    asked = CliContext(None, path.parent, ())
    shipped, _training = final(asked)
    assert (shipped.what, shipped.state) == ("shipped model", CheckState.OK)
    put(path, encode(HTML_IS_SPAM))
    used = version(encode(HTML_IS_SPAM))

    def worker(number: int, used: str = "", wrong: str = "") -> None:
        said = status.WorkerStatus(
            worker=number,
            pid=1,
            time=time.time(),
            metrics=MetricsSnapshot(),
            policy="abc",
            final=used,
            final_wrong=wrong,
        )
        status.write_status(path.parent, said)

    worker(0, used)
    (_, _, fine) = final(asked)
    assert (fine.state, used in fine.words) == (CheckState.OK, True)
    worker(0)
    worker(1, wrong="it sees what is not known here")
    assert [(one.state, one.words.partition(":")[0]) for one in final(asked)][3:] == [
        (CheckState.WARN, "worker 0 does not use it yet"),
        (CheckState.FAIL, "worker 1"),
    ]
    put(path, b"broken")
    (wrong,) = final(asked)
    assert (wrong.state, str(path) in wrong.words) == (CheckState.FAIL, True)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_leaves_the_old_model_and_is_told_once(path: Path, kind: str) -> None:
    followed = FollowedFinalModel(path, SCHEMA)
    put(path, encode(HTML_IS_SPAM))
    followed.look()
    put(path, BROKEN[kind])
    assert followed.look()
    assert followed.error is not None
    assert said(followed) == "p=0.9933; rules alone 0"
    assert not followed.look()
    put(path, encode(HTML_IS_SPAM))
    assert followed.look()  # it is right again
    assert followed.error is None


def test_a_folder_in_its_place_is_an_error_and_no_fault(path: Path) -> None:
    path.mkdir()
    followed = FollowedFinalModel(path, SCHEMA)
    assert followed.look()
    assert "Is a directory" in str(followed.error)
    assert said(followed) == ""


async def test_it_is_followed_while_mail_flows_and_the_log_says_so(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "oborona.final")
    followed = FollowedFinalModel(path, SCHEMA)
    followed.begin()

    def logged(words: str) -> bool:
        return any(words in record.getMessage() for record in caplog.records)

    watching = asyncio.create_task(followed.watch())
    try:
        for octets, words in (
            (encode(HTML_IS_SPAM), "final model loaded"),
            (b"broken", "final model refused, the old one stays"),
            (None, "no final model"),
        ):
            path.unlink(missing_ok=True) if octets is None else put(path, octets)
            await eventually(partial(logged, words))
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.INFO, logging.ERROR, logging.INFO]


async def judged(folder: Path, followed: FollowedFinalModel, policy: str) -> Scan:
    (folder / "one.toml").write_text(policy)
    site = ScanSite(
        name="mx.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters(), final=followed
    )
    return await scan(LETTER, Envelope(), site, load_policy(folder, SCHEMA), NoInquiry(), now=1.7e9)


async def test_in_a_scan_shadow_explains_and_live_decides(path: Path, tmp_path: Path) -> None:
    followed = FollowedFinalModel(path, SCHEMA)
    put(path, encode(HTML_IS_SPAM))
    followed.look()
    shadow = await judged(tmp_path, followed, "[verdict]\n")
    assert (shadow.verdict.action, shadow.verdict.score) == (Action.ACCEPT, 0)
    assert NAME in {hit.name for hit in shadow.verdict.rules}
    live = await judged(tmp_path, followed, LIVE)
    assert (live.verdict.action, live.verdict.decided_by) == (Action.SPAM, NAME)
    os.unlink(path)  # noqa: PTH108
    followed.look()
    without = await judged(tmp_path, followed, LIVE)
    assert (without.verdict.action, without.verdict.score, without.verdict.rules) == (
        Action.ACCEPT,
        0,
        (),
    )
