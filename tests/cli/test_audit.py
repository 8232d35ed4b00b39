"""`oborona audit`, and the rows of commands that change something."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oborona import secret, state_files
from oborona.cli import main, terminal_person
from oborona.cli.context import CliContext
from oborona.desk.doctor.audit import audit
from oborona.desk.doctor.report import CheckState

Run = Callable[..., Result]
HOSTILE = ["\x1b[2J\x07", "\udcff\ud800", "a\u202eb\n\rc", "[/bold]", '"}{', "ж" * 1_000_000]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    secret.make(folder)
    return folder


@pytest.fixture
def run(state: Path, tmp_path: Path) -> Run:
    policy = tmp_path / "policy.d"
    policy.mkdir()

    def call(*words: str, status: int = 0, stdin: str = "") -> Result:
        settings = ["--state", str(state), "--set", f"paths.policy={policy}"]
        result = CliRunner().invoke(main, [*settings, *words], input=stdin)
        assert result.exit_code == status, (result.output, result.exception)
        return result

    return call


def acts(run: Run, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("audit", "--json", *words).stdout.splitlines()]


def test_an_act_has_who_when_what_and_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_person, "LOGIN", Path("/nowhere"))
    monkeypatch.setenv("SUDO_USER", "anna")
    run("list", "add", "deny", "bad.example", "worse.example", "--reason", "spam of today")
    (one,) = acts(run)
    assert one["person"] == "anna"
    assert one["source"].startswith("sudo=anna uid=")
    assert (one["way"], one["place"].split()[0]) == ("terminal", os.uname().nodename)
    assert (one["act"], one["about"]) == ("lists.add", "deny, bad.example, worse.example")
    assert (one["reason"], one["dry"], one["outcome"]) == ("spam of today", False, "done")
    assert one["arguments"] == {"--set": ["paths.policy"]}
    assert one["took"] > 0
    shown = run("audit").stdout
    assert "anna lists.add deny, bad.example, worse.example: done" in shown
    assert "why: spam of today" in shown


def test_whom_the_kernel_saw_is_believed_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = tmp_path / "loginuid"
    monkeypatch.setattr(terminal_person, "LOGIN", login)
    monkeypatch.setenv("SUDO_USER", "eve x\udcff")
    login.write_text("0")
    assert terminal_person.terminal_person().name == "root"
    assert terminal_person.terminal_caller().name == "root", "stores name whom the log names"
    for unset in ("4294967295", "", "not a number"):
        login.write_text(unset)
        person = terminal_person.terminal_person()
        assert person.name == "eve_x\\udcff"
    monkeypatch.delenv("SUDO_USER")
    login.write_text("4000000000")  # nobody's
    assert terminal_person.terminal_person().name == "4000000000"


def test_what_only_reads_has_no_row_and_begins_no_log(run: Run, state: Path) -> None:
    run("list", "show")
    run("signature", "list")
    run("policy", "show")
    run("audit", status=1)
    assert not (state / state_files.AUDIT).exists()


def test_outcomes(run: Run) -> None:
    run("list", "add", "deny", "a.example", "--reason", "r")
    run("list", "remove", "deny", "b.example", status=1)
    run("signature", "add", "--spam", "", "--reason", "r", status=2)
    run("signature", "remove", "s99", status=2)
    run("counters", "forget", "nonsense", status=2, stdin="n\n")
    told = [(one["act"], one["outcome"], one["status"]) for one in acts(run)]
    assert told[0][1] == "refused"
    assert told[-1] == ("lists.add", "done", 0)
    assert told[-2] == ("lists.remove", "partly", 1)
    assert told[-3] == ("signatures.add", "refused", 2)
    assert acts(run, "--act", "signatures.add")[0]["message"]


def test_a_dry_run_says_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("x.example\n")
    run("list", "import", "deny", str(file), "--reason", "r", "--dry-run")
    assert [one["dry"] for one in acts(run)] == [True]
    assert "(dry run)" in run("audit").stdout


def test_a_command_is_an_act_only_with_what_makes_it_one(run: Run, state: Path) -> None:
    run_any(state, "eventlog", "person", "log", "ann@a.example")
    run("audit", status=1)
    run_any(state, "eventlog", "person", "log", "ann@a.example", "--fraud", "--why", "seen")
    assert [(one["act"], one["about"]) for one in acts(run)] == [
        ("eventlog.say", "log, ann@a.example")
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_arguments_are_kept_cut_and_shown_plain(run: Run, state: Path, text: str) -> None:
    run_any(state, "list", "add", "deny", f"n{text}", "--reason", f"r{text}")
    shown = run("audit")
    assert "\x1b" not in shown.stdout
    assert "\u202e" not in shown.stdout
    assert len(shown.stdout) < 20_000
    assert acts(run)
    run("audit", "verify")
    run("audit", "--who", text, "--act", text, "--about", text, status=1)


def run_any(state: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--state", str(state), *words])


def test_values_of_settings_and_logins_are_not_kept(run: Run, state: Path) -> None:
    words = ["--set", "alarm.webhook=https://anna:hunter2@x.example/"]
    CliRunner().invoke(main, ["--state", str(state), *words, "alarm", "test"])
    run("list", "add", "deny", "a.example", "--reason", "of https://bob:hunter2@x.example/")
    with closing(sqlite3.connect(state / state_files.AUDIT)) as db:
        assert "hunter2" not in "".join(db.iterdump())


def test_a_fault_of_ours_is_a_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by ours")

    monkeypatch.setattr("oborona.cli.site_list.command.in_force_line", fail)
    run("list", "add", "deny", "a.example", "--reason", "r", status=1)
    (one,) = acts(run)
    assert (one["outcome"], one["status"]) == ("failed", os.EX_SOFTWARE)
    assert one["message"] == "ZeroDivisionError: by ours"


def test_a_log_that_cannot_be_written_refuses_an_act(run: Run, state: Path, tmp_path: Path) -> None:
    (state / state_files.AUDIT).write_bytes(b"no database" * 1000)
    result = run("list", "add", "deny", "a.example", "--reason", "r", status=os.EX_IOERR)
    assert "nothing was done, as the audit log can't be written" in result.stderr
    assert "is damaged" in result.stderr
    assert not (tmp_path / "policy.d/lists.toml").exists()
    run("audit", "verify", status=os.EX_IOERR)
    # a dry run does nothing, and what frees room goes on, and says so
    (tmp_path / "entries").write_text("x.example\n")
    run("list", "import", "deny", str(tmp_path / "entries"), "--reason", "r", "--dry-run")
    result = run("set-apart", "remove", "nothing", status=1)
    assert "is damaged" in result.stderr


ASK = """
import sys
import tempfile
from oborona.cli import main
try:
    main(sys.argv[1:], prog_name="oborona")
finally:
    assert not {"oborona.audit.store", "oborona.cli.act_rows"} & set(sys.modules)
"""


def test_what_only_reads_loads_nothing_of_it(state: Path) -> None:
    program = [sys.executable, "-c", ASK, "--state", str(state), "list", "show"]
    subprocess.run(program, check=True, timeout=120)


DISK = """
import resource, signal, sys
from pathlib import Path
import oborona.cli, oborona.cli.act_rows
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
sys.argv[0] = "oborona"
oborona.cli.main()
"""


def full(state: Path, size: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that can make no file grow beyond a size."""
    program = [sys.executable, "-B", "-c", DISK, str(size), "--state", str(state), *words]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="a limit of Unix")
def test_a_full_disk_refuses_an_act_and_lets_go_on_what_frees_it(run: Run, state: Path) -> None:
    run("list", "add", "deny", "a.example", "--reason", "r")
    before = (state / state_files.AUDIT).read_bytes()
    ended = full(state, 0, "account", "ban", "joe", "--reason", "r")
    assert ended.returncode != 0
    assert "nothing was done, as the audit log can't be written" in ended.stderr
    assert not (state / state_files.ACCOUNTS).exists()
    ended = full(state, 0, "set-apart", "remove", "nothing")
    assert "no message 'nothing' is known" in ended.stdout
    assert "the audit log has this when there is room" in ended.stderr
    assert (state / state_files.AUDIT).read_bytes() == before
    assert len(acts(run)) == 1
    run("audit", "verify")


def test_without_a_state_folder_there_is_no_log(tmp_path: Path) -> None:
    policy = tmp_path / "policy.d"
    policy.mkdir()
    words = ["--state", str(tmp_path / "none"), "--set", f"paths.policy={policy}"]
    result = CliRunner().invoke(main, [*words, "list", "add", "deny", "a.b", "--reason", "r"])
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "none").exists()


def test_verify_tells_and_ends_with_1(run: Run, state: Path) -> None:
    run("list", "add", "deny", "a.example", "--reason", "r")
    end = run("audit", "verify").stdout.rpartition(" ")[2].strip()
    run("audit", "verify", "--anchor", end)
    for wrong in ("x", "1:zz", "0:" + "00" * 32, "1:00", "-1:" + "00" * 32):
        run("audit", "verify", f"--anchor={wrong}", status=2)
    run("audit", "verify", "--anchor", f"2:{'00' * 32}", status=1)
    with closing(sqlite3.connect(state / state_files.AUDIT)) as db:
        db.execute("UPDATE audit SET about = 'deny, other.example' WHERE number = 1")
        db.commit()
    told = run("audit", "verify", status=1).stdout
    assert told.startswith("row 1 was changed")
    assert "2 rows, not whole" in told
    assert json.loads(run("audit", "verify", "--json", status=1).stdout)["rows"] == 2


def test_doctor_tells_of_the_chain_and_of_acts_without_an_end(run: Run, state: Path) -> None:
    context = CliContext(None, state, ())
    assert not list(audit(context))
    run("list", "add", "deny", "a.example", "--reason", "r")
    assert [report.state for report in audit(context)] == [CheckState.OK]
    with closing(sqlite3.connect(state / state_files.AUDIT)) as db:
        db.execute("DELETE FROM audit WHERE number = 2")
        db.commit()
    assert [report.state for report in audit(context)] == [CheckState.FAIL]


def test_a_restore_has_its_rows_in_what_it_put_back(run: Run, state: Path, tmp_path: Path) -> None:
    run("list", "add", "deny", "a.example", "--reason", "r")
    folder = tmp_path / "backup"
    run("backup", str(folder))
    run("list", "add", "deny", "b.example", "--reason", "r")
    run("restore", "--force", str(folder))
    told = [(one["act"], one["outcome"]) for one in acts(run)]
    assert told == [("site.restore", "done"), ("site.backup", "open"), ("lists.add", "done")]
    run("audit", "verify")
    # and where there is nothing yet
    other = tmp_path / "other"
    CliRunner().invoke(main, ["--state", str(other), "restore", str(folder)])
    shown = CliRunner().invoke(main, ["--state", str(other), "audit", "--json", "--limit", "1"])
    assert json.loads(shown.stdout)["act"] == "site.restore"


def test_the_end_of_the_chain_goes_to_the_systems_log(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr("oborona.cli.act_rows.syslog.syslog", lambda _, line: lines.append(line))
    run("list", "add", "deny", "a.example", "--reason", "r")
    end = run("audit", "verify").stdout.rpartition(" ")[2].strip()
    (line,) = lines
    assert line.startswith(f"audit {end} lists.add done by ")


@pytest.mark.parametrize("query", [["--since", "1h"], ["--who", "nobody-here"], ["--open"]])
def test_queries(run: Run, query: list[str]) -> None:
    run("list", "add", "deny", "a.example", "--reason", "r")
    run("audit", *query, status=int(query[0] != "--since"))
    run("audit", "--since", "yesterday", status=2)
    run("audit", "--limit", "0", status=2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_a_log_that_root_begins_belongs_to_the_daemons_user() -> None:
    with tempfile.TemporaryDirectory() as name:  # others can't get through the folders of pytest
        folder = Path(name)
        os.chown(folder, 65_534, 65_534)
        run_any(folder, "signature", "add", "--spam", "buy these pills", "--reason", "r")
        made = (folder / state_files.AUDIT).stat()
        assert (made.st_uid, made.st_gid) == (65_534, 65_534)
        assert run_any(folder, "audit", "verify").exit_code == 0
    assert os.geteuid() == 0
