"""The doctor as it is asked: each check, kept for a while, and the same as the command prints."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.desk.asks.doctor import ChecksQuestion, DoctorQuestion, list_checks, report_doctor
from oborona.desk.call import CallError
from oborona.desk.doctor import examination
from oborona.desk.doctor.examination import KEPT_S, KeptReports, checks
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import StoreError
from tests.desk.desk_site import CALLER, DeskSite

FAST = ["policy", "state", "stores", "signatures", "pins", "personal", "audit"]


def test_some_checks_can_be_asked_for(tmp_path: Path) -> None:
    told = report_doctor(DeskSite(tmp_path), CALLER, DoctorQuestion(checks=FAST))
    assert {found.check for found in told.findings} <= set(FAST)
    assert [found.what for found in told.findings][:3] == ["settings", "contact", "policy"]
    assert told.summary.startswith("whether mail is filtered can't be told from here")
    msgspec.json.encode(told)


def test_the_names_of_checks_can_be_asked_for(tmp_path: Path) -> None:
    names = list_checks(DeskSite(tmp_path), CALLER, ChecksQuestion()).checks
    assert set(FAST) < set(names)
    assert names == list(checks(None))


def test_there_is_no_such_check(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="no check 'x'"):
        report_doctor(DeskSite(tmp_path), CALLER, DoctorQuestion(checks=["policy", "x"]))


def test_a_report_is_kept_for_a_while_and_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, now = [], [5.0]

    def check(site: Site) -> Iterator[CheckReport]:
        looks.append(site)
        yield CheckReport("one", CheckState.OK, "is well")
        raise StoreError("is gone")

    monkeypatch.setattr(examination, "checks", lambda _folder: {"one": check})
    kept, site = KeptReports(lambda: now[0]), DeskSite(tmp_path)
    threads = [
        threading.Thread(target=lambda: list(kept.reports(site, (), None))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looks) == 1
    reports = [report.words for _, report in kept.reports(site, (), None)]
    assert reports == ["is well", "can't be looked at: is gone"]
    now[0] += KEPT_S
    list(kept.reports(site, (), None))
    assert len(looks) == 2


def test_the_command_prints_what_the_ask_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = {name: check for name, check in checks(None).items() if name in FAST}
    monkeypatch.setattr(examination, "checks", lambda _folder: fast)
    told = report_doctor(DeskSite(tmp_path), CALLER, DoctorQuestion())
    done = CliRunner().invoke(main, ["--state", str(tmp_path), "doctor", "--json"])
    found = [(one["what"], one["state"], one["hint"]) for one in msgspec.json.decode(done.stdout)]
    assert [one[0] for one in found][3:] == [one.what for one in told.findings][3:]
    plain = CliRunner().invoke(main, ["--state", str(tmp_path), "doctor"])
    assert plain.stdout.splitlines()[-1] == told.summary
