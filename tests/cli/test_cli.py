"""The command line: what each command prints, and its exit status."""

from __future__ import annotations

import json
import mailbox
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import __version__
from oborona.cli import main
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.message.shingles import Hasher, ShingleType
from oborona.secret import make
from oborona.types import Amounts, CountedPieces
from tests.letters import CORPUS
from tests.policy.models.final.made import leave_to_rules

LETTER = (
    b"From: Ann <ann@a.example>\nTo: bob@b.example\nSubject: Lunch\nDate: Fri, 20 Nov 2026 "
    b"10:00:00 +0000\nMessage-ID: <1@a.example>\n\nAt noon?\n"
)
GTUBE = LETTER + b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\n"


def run(*words: object, data: bytes | None = None) -> Result:
    return CliRunner().invoke(
        main, [str(word) for word in words], input=data, catch_exceptions=False
    )


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    path = tmp_path / "letter.eml"
    path.write_bytes(LETTER)
    return path


def objects(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_version_and_help() -> None:
    assert __version__ in run("--version").stdout
    told = run("--help").stdout
    for command in (
        "serve",
        "worker",
        "writer",
        "keeper",
        "check",
        "explain",
        "dissect",
        "policy",
        "counters",
        "doctor",
    ):
        assert command in told
        assert run(command, "--help").exit_code == 0


def test_check_prints_one_object_a_message(state: Path, letter: Path, tmp_path: Path) -> None:
    leave_to_rules(state)
    (tmp_path / "bad.eml").write_bytes(GTUBE)
    result = run(
        "--state",
        state,
        "check",
        "--json",
        letter,
        tmp_path / "bad.eml",
        "--ip",
        "192.0.2.7",
        "--helo",
        "h",
        "--from",
        "x@x.example",
    )
    good, bad = objects(result)
    assert result.exit_code == 0
    assert (good["verdict"], good["score"], good["decided_by"]) == ("accept", 0, "below-threshold")
    assert isinstance(good["score"], float)
    assert (bad["verdict"], bad["decided_by"]) == ("reject", "GTUBE")
    assert bad["rules"][0]["name"] == "GTUBE"  # type: ignore[index]
    assert set(bad["rules"][0]) >= {"name", "score", "say"}  # type: ignore[index]
    assert {"name": "gtube", "evidence": ""} in bad["findings"]  # type: ignore[operator]
    kinds = {shingle["name"] for shingle in good["shingles"]}  # type: ignore[attr-defined]
    assert {"from", "client_ip", "client_network", "helo", "mail_from"} <= kinds
    assert all(set(shingle) == {"type", "name", "hash"} for shingle in good["shingles"])  # type: ignore[attr-defined]


def test_check_counts_nothing_and_needs_no_state(state: Path, letter: Path) -> None:
    assert run("--state", state, "check", letter).exit_code == 0
    assert not state.exists()


def test_check_reads_mbox_maildir_folder_and_standard_input(state: Path, tmp_path: Path) -> None:
    box = mailbox.mbox(str(tmp_path / "box"))
    for _ in range(3):
        box.add(LETTER)
    box.flush()
    box.close()
    maildir = mailbox.Maildir(str(tmp_path / "maildir"))
    maildir.add(LETTER)
    maildir.add(GTUBE)
    names = [
        one["file"] for one in objects(run("--state", state, "check", "--json", tmp_path / "box"))
    ]
    assert names == [f"{tmp_path}/box#{number}" for number in (1, 2, 3)]
    verdicts = {
        one["verdict"]
        for one in objects(run("--state", state, "check", "--json", tmp_path / "maildir"))
    }
    assert verdicts == {"accept", "reject"}
    assert [
        one["file"] for one in objects(run("--state", state, "check", "--json", "-", data=GTUBE))
    ] == ["-"]


def test_a_saved_message_with_a_from_line_is_one_message(state: Path, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    path.write_bytes(
        b"From ann@a.example  Thu Aug 22 12:36:23 2002\n" + LETTER + b"\nFrom here on\nit rains\n"
    )
    assert len(objects(run("--state", state, "check", "--json", path))) == 1


def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    state: Path, letter: Path, tmp_path: Path
) -> None:
    result = run("--state", state, "check", "--json", tmp_path / "missing", letter)
    assert result.exit_code == os.EX_NOINPUT
    assert "missing" in result.stderr
    assert len(objects(result)) == 1


def test_every_message_of_the_corpus_is_scored(state: Path) -> None:
    """6,046 real messages, one object each, and good mail that is lost stays a rarity."""
    files = sorted(CORPUS.glob("*/*.txt"))
    assert len(files) == 6046
    scored = objects(run("--state", state, "check", "--json", *files))
    assert [one["file"] for one in scored] == [str(file) for file in files]
    lost = [one for one in scored if "ham" in str(one["file"]) and one["verdict"] != "accept"]
    assert len(lost) < 5


def test_wrong_settings_and_policies_end_with_their_place(tmp_path: Path, letter: Path) -> None:
    settings = tmp_path / "oborona.toml"
    settings.write_text('[paths]\npolicy = "p"\n\n[worker]\nproceses = 2\n')
    result = run("--config", settings, "check", letter)
    assert result.exit_code == os.EX_CONFIG
    assert f"{settings}:5:1: " in result.stderr
    assert "processes" in result.stderr, "it says what was meant"

    settings.write_text('[paths]\npolicy = "p"\nshipped_policy = "none"\n')
    (tmp_path / "p").mkdir()
    (tmp_path / "p/10.toml").write_text(
        '[[rule]]\nname = "X"\nwhen = "from.adress == \'\'"\nscore = 1\n'
    )
    result = run("--config", settings, "policy", "check")
    assert result.exit_code == os.EX_CONFIG
    assert f"{tmp_path}/p/10.toml:3:9: rule X: when: " in result.stderr
    assert "from.address" in result.stderr

    assert run("--set", "worker.processes", "policy", "check").exit_code == 2
    assert run("--set", "worker.processes=many", "policy", "check").exit_code == os.EX_CONFIG


def test_policy_show_tells_each_origin(tmp_path: Path) -> None:
    (tmp_path / "policy.d").mkdir()
    (tmp_path / "policy.d/10.toml").write_text(
        '[[rule]]\nname = "X"\nwhen = "helo == \'\'"\nscore = 1\n'
    )
    (tmp_path / "policy.d/90-local.toml").write_text(
        '[verdict]\nreject_score = 300\n[[rule]]\nname = "X"\nscore = 7\n'
    )
    (tmp_path / "oborona.toml").write_text("[worker]\nprocesses = 3\n")
    result = run(
        "--config",
        tmp_path / "oborona.toml",
        "--set",
        "log.level=debug",
        "policy",
        "show",
        "--origin",
    )
    lines = dict(line.split(" = ", 1) for line in result.stdout.splitlines())
    assert lines["worker.processes"].endswith("oborona.toml:2")
    assert lines["log.level"] == '"debug"    # command line'
    assert lines["worker.drain_s"].endswith("# default")
    assert lines["verdict.reject_score"].endswith("90-local.toml:2")
    assert lines["rule.X.when"].endswith("10.toml:3")
    assert lines["rule.X.score"].startswith("7")
    assert lines["rule.X.score"].endswith("90-local.toml:5")


def test_policy_check_fails_when_good_mail_would_be_lost(state: Path, tmp_path: Path) -> None:
    ham = tmp_path / "ham"
    ham.mkdir()
    (ham / "1.eml").write_bytes(LETTER)
    assert run("--state", state, "policy", "check", "--ham", ham).exit_code == 0
    (ham / "2.eml").write_bytes(GTUBE)
    result = run("--state", state, "policy", "check", "--ham", ham)
    assert result.exit_code == 1
    assert "decided by GTUBE" in result.stdout


async def _count(state: Path, times: int) -> str:
    state.mkdir()
    shingle = Hasher(make(state).shingles).shingle(ShingleType.FROM, "ann@a.example")
    writer = LmdbCounterWriter(state / "counters")
    counters = LmdbCounters(state / "counters", "worker-0")
    import time

    for _ in range(times):
        counters.add(CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=1), time.time())
    counters.flush(time.time())
    writer.step(time.time())
    counters.close()
    writer.close()
    return f"from:{shingle.hash:016x}"


async def test_counters_show_draws_a_shingle_and_the_pieces_of_a_file(
    state: Path, letter: Path
) -> None:
    name = await _count(state, 12)
    import asyncio

    told = await asyncio.to_thread(run, "--state", state, "counters", "show", name)
    assert told.exit_code == 0, told.stderr
    assert name in told.stdout
    assert "12" in told.stdout
    told = await asyncio.to_thread(run, "--state", state, "counters", "show", letter)
    assert name in told.stdout
    assert "were not seen in two weeks" in told.stdout
    assert (
        await asyncio.to_thread(run, "--state", state, "counters", "show", "nonsense:12")
    ).exit_code == 2


def test_counters_show_without_a_store_says_so(state: Path) -> None:
    result = run("--state", state, "counters", "show", "from:00ff00ff00ff00ff")
    assert result.exit_code == os.EX_IOERR
    assert "no counter store" in result.stderr


def test_explain_of_a_file_shows_facts_and_counts(state: Path, letter: Path) -> None:
    told = run("--state", state, "explain", "-v", letter)
    assert told.exit_code == 0
    assert "from.address" in told.stdout
    assert "from:" in told.stdout


def test_explain_of_nothing_known_says_so(state: Path) -> None:
    assert run("--state", state, "explain", "0S9YJ9Z0C04MC").exit_code == os.EX_IOERR


def test_doctor_looks_at_everything(state: Path, tmp_path: Path) -> None:
    result = run("--state", state, "--set", f"doors.milter.listen=unix:{tmp_path}/m.sock", "doctor")
    for what in (
        "settings",
        "policy",
        "state",
        "counters",
        "listener",
        "socket",
        "resolver",
        "mail server",
    ):
        assert what in result.stdout
    assert result.exit_code == 1, "nothing runs: mail is not filtered"
    (tmp_path / "m.sock").mkdir()
    told = run(
        "--state", state, "--set", f"doors.milter.listen=unix:{tmp_path}/m.sock", "doctor", "--json"
    )
    assert told.exit_code == 1
    socket = next(one for one in json.loads(told.stdout) if one["what"] == "listener")
    assert socket["state"] == "FAIL"
