"""`oborona signature`: what an analyst types, and what comes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.desk.doctor import signatures
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.metrics import REGISTRY
from oborona.stores.signatures.follower import SIGNATURES, STALE
from oborona.telemetry.status import WorkerStatus, write_status
from tests.letters import CORPUS
from tests.peers.oborona import SETTINGS

Run = Callable[..., Result]
LETTER = "From: Ann <ann@a.example>\nSubject: news\n\n{}\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "state").mkdir()

    def call(*words: str, status: int = 0, stdin: str = "") -> Result:
        settings = ["--state", str(tmp_path / "state"), "--set", "site.name=mx.test"]
        result = CliRunner().invoke(main, [*settings, *words], input=stdin, catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return call


def mail(folder: Path, *texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number:04}.eml").write_text(LETTER.format(text))
    return folder


def listed(run: Run, *words: str) -> dict[str, dict[str, Any]]:
    lines = run("signature", "list", "--json", *words).stdout.splitlines()
    return {one["id"]: one for one in map(json.loads, lines)}


def shipped_marks() -> int:
    """Return how many lines of the mark lists that ship are no comment."""
    files = (SETTINGS.parent / "policy.d").glob("marks-*.list")
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return sum(bool(line.strip()) and not line.startswith("#") for line in lines)


def of_the_store(line: str) -> list[str]:
    """Return what `signature test` found, without the lists that ship, whose ids have a colon."""
    return [one for one in json.loads(line)["signatures"] if ":" not in one]


def test_a_signature_from_its_birth_to_its_end(run: Run, tmp_path: Path) -> None:
    added = run(
        "signature", "add", "cheap pills by post", "--reason", "pharma", "--owner", "anna", "--json"
    )
    assert json.loads(added.stdout) == {"id": "s1", "new": True}
    assert (
        "the same, and is there already"
        in run("signature", "add", "Cheap, pills by post", "--reason", "x").stdout
    )
    raw = mail(tmp_path / "mail", "CHEAP pills by post!")
    (one,) = map(json.loads, run("check", "--json", str(raw)).stdout.splitlines())
    assert (one["verdict"], one["decided_by"]) == ("spam", "SIGNATURE_SPAM")
    assert one["rules"][0]["say"] == 's1 "cheap pills by post" by anna: pharma'
    assert "s1" in run("signature", "list").stdout
    run("signature", "expire", "s1", "now")
    assert listed(run)["s1"]["expired"]
    (one,) = map(json.loads, run("check", "--json", str(raw)).stdout.splitlines())
    assert one["verdict"] == "accept"
    run("signature", "expire", "s1", "7")
    shown = json.loads(run("signature", "show", "s1").stdout)
    assert 6 * 86_400 < shown["expires"] - shown["created"] < 8 * 86_400
    run("signature", "remove", "s1")
    assert listed(run) == {}
    assert listed(run, "--all")["s1"]["state"] == "removed"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["add", "pill", "--reason", "x"], "the phrase is too short"),
        (["add", "(", "--kind", "pattern", "--reason", "x"], "missing )"),
        (["add", "cheap pills"], "Missing option '--reason'"),
        (["add", "cheap pills", "--reason", "x", "--expires", "soon"], "neither a number of days"),
        (["add", "cheap pills", "--reason", "x", "--expires", "0"], "neither a number of days"),
        (
            ["add", "cheap pills", "--reason", "x", "--expires", "9999999"],
            "neither a number of days",
        ),
        (["add", "cheap pills", "--reason", "x", "--expires", "0001-01-01"], "nor a day to come"),
        (["add", "cheap pills", "--reason", "x", "--expires", "2020-01-01"], "nor a day to come"),
        (["add", "cheap pills", "--reason", "x", "--score", "nan"], "no number"),
        (["show", "s7"], "no signature 's7'"),
        (["remove", "PILLS"], "no signature 'PILLS'"),
        (["accept", "s7"], "no signature 's7'"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    run: Run, words: list[str], why: str
) -> None:
    assert why in run("signature", *words, status=2).stderr
    assert listed(run, "--all") == {}


def test_a_phrase_of_good_mail_is_not_added(run: Run, tmp_path: Path) -> None:
    ham = str(mail(tmp_path / "ham", *["see you at the office"] * 9, "the minutes of our board"))
    refused = run("signature", "add", "see you at the", "--reason", "x", "--ham", ham, status=1)
    assert "not added: 9 of 10 good messages have it" in refused.stderr
    assert (
        "s1 added" in run("signature", "add", "cheap pills", "--reason", "x", "--ham", ham).stdout
    )
    assert listed(run)["s1"]["hits"]["total"] == 0, "trying is not finding"


def test_many_are_imported_in_one_step_or_not_at_all_and_come_back_as_they_were(
    run: Run, tmp_path: Path
) -> None:
    broken = run(
        "signature", "import", "-", "--kind", "domain", stdin="bad.example\nno domain\n", status=2
    )
    assert "2: this is no domain" in broken.stderr
    assert listed(run) == {}
    kept = run(
        "signature",
        "import",
        "-",
        "--kind",
        "domain",
        "--skip-broken",
        stdin="# x\nbad.example\nno domain\n",
    )
    assert "1 added" in kept.stdout
    run("signature", "add", "cheap pills", "--reason", "x", "--score", "30", "--shadow", "--good")
    file = tmp_path / "all.jsonl"
    run("signature", "export", str(file))
    before = listed(run)
    run("signature", "remove", "s1", "s2")
    assert "2 added, 0 were" in run("signature", "import", str(file)).stdout
    after = listed(run)
    assert [{**one, "id": ""} for one in before.values()] == [
        {**one, "id": ""} for one in after.values()
    ]
    assert "0 added, 2 were there already" in run("signature", "import", str(file)).stdout
    assert "import" in run("signature", "import", "-", stdin='\xff\n{"id": 3}\n', status=2).stderr


def test_test_says_what_is_found_where(run: Run, tmp_path: Path) -> None:
    run("signature", "add", "cheap pills", "--reason", "x")
    raw = str(mail(tmp_path / "mail", "cheap pills", "golden watches", "nothing"))
    found = [
        of_the_store(line) for line in run("signature", "test", "--json", raw).stdout.splitlines()
    ]
    assert found == [["s1"], [], []]
    assert "1 of 3 messages" in run("signature", "test", raw, "--value", "golden watches").stdout


def test_signatures_are_proposed_accepted_declined_and_not_proposed_again(
    run: Run, tmp_path: Path
) -> None:
    spam = str(
        mail(
            tmp_path / "spam",
            *[f"dear {n} cheap pills by post today for {n}{n} you" for n in range(12)],
        )
    )
    ham = str(mail(tmp_path / "ham", *["see you at the office"] * 10))
    propose = ["signature", "propose", "--spam", spam, "--ham", ham]
    (one,) = map(json.loads, run(*propose, "--json").stdout.splitlines())
    assert (one["id"], one["value"], one["support"], one["of"]) == (
        "s1",
        "cheap pills by post today for",
        12,
        12,
    )
    assert one["good_mail"] == "0 of 10 good messages (under 30.00%)"
    assert listed(run) == {}, "nothing is in force"
    assert "s1" in run("signature", "proposals").stdout
    run("signature", "accept", "s1")
    assert "is no proposal, it is active" in run("signature", "decline", "s1", status=2).stderr
    assert listed(run)["s1"]["state"] == "active"
    run("signature", "remove", "s1")
    assert run(*propose, "--json").stdout == "", "a person has decided about it"
    bad = str(mail(tmp_path / "bad", *["we met, cheap pills by post today for all"] * 3))
    assert run(*propose[:4], "--ham", bad, "--json", "--dry-run").stdout == "", "good mail has it"


def test_proposals_from_half_of_real_spam_find_the_other_half_and_hardly_any_good_mail(
    run: Run, tmp_path: Path
) -> None:
    folders = {}
    for name, pattern in (("spam", "spam-*"), ("ham", "*-ham-*")):
        for half in (0, 1):
            folder = tmp_path / f"{name}{half}"
            folder.mkdir()
            for number, file in enumerate(sorted(CORPUS.glob(f"{pattern}/*.txt"))[half::8]):
                (folder / f"{number}.eml").write_bytes(file.read_bytes())
            folders[name, half] = str(folder)
    run("signature", "propose", "--spam", folders["spam", 0], "--ham", folders["ham", 0])
    run("signature", "accept", *(one for one in listed(run, "--all")))
    hit = {
        name: [
            bool(of_the_store(line))
            for line in run("signature", "test", "--json", folders[name, 1]).stdout.splitlines()
        ]
        for name in ("spam", "ham")
    }
    assert sum(hit["spam"]) > 0.25 * len(hit["spam"])
    assert sum(hit["ham"]) < 0.02 * len(hit["ham"])


@pytest.mark.parametrize("at", ["1e300", "-1", "253402300801"])
def test_a_time_that_no_clock_tells_is_refused(run: Run, at: str) -> None:
    line = (
        f'{{"id":"s1","flag":"spam","kind":"phrase","value":"cheap pills by '
        f'post","expires":{at}}}\n'
    )
    assert (
        "before 1970 or after 9999" in run("signature", "import", "-", stdin=line, status=2).stderr
    )
    assert listed(run) == {}


def test_what_is_over_can_be_added_again(run: Run) -> None:
    words = ("signature", "add", "cheap pills by post", "--reason", "again")
    assert run(*words).stdout == "s1 added\n"
    run("signature", "expire", "s1", "now")
    assert run(*words).stdout == "s2 added\n"


def test_the_doctor_counts_them_and_says_when_their_store_is_broken(
    run: Run, tmp_path: Path
) -> None:
    state = tmp_path / "state"

    def said() -> list[CheckReport]:
        return list(signatures.signatures(CliContext(None, state, ())))

    (report,) = said()
    assert (report.state, "is not there yet" in report.words) == (CheckState.WARN, True)
    run("signature", "add", "cheap pills by post", "--reason", "x")
    run("signature", "add", "cheap pills by mail", "--reason", "x", "--shadow")
    run("signature", "add", "cheap pills by car", "--reason", "x")
    run("signature", "expire", "s3", "now")
    (report,) = said()
    assert report.state is CheckState.OK
    marks = shipped_marks()
    assert marks > 1000, "the lists that ship are found"
    assert (
        f"2 in force (0 of policy files, 1 in shadow mode), {marks} words of mark lists, 1 "
        "expired, 0 proposals wait"
    ) in report.words
    now = time.time()
    SIGNATURES.replace({("broken",): 2})
    STALE.set(1)
    write_status(
        state, WorkerStatus(worker=1, pid=1, time=now, policy="x", metrics=REGISTRY.snapshot())
    )
    assert [one.state for one in said()] == [CheckState.OK, CheckState.FAIL, CheckState.WARN]
    for file in state.glob("signatures.db*"):
        file.unlink()
    (state / "signatures.db").write_text("no database at all, but long enough to be one of them")
    assert (said()[0].state, "is damaged" in said()[0].words) == (CheckState.FAIL, True)
