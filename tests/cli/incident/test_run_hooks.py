"""`oborona incident run-hooks`: a program of root's hears of accounts, once and again, and nobody
else has root run anything.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.accounts.account import AccountBlock, AccountRecord, AccountState
from oborona.accounts.incidents.incident import ActionKind, IncidentAction
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.desk.doctor.hooks import hooks
from oborona.desk.doctor.outgoing import UNTAKEN_S
from oborona.desk.doctor.report import CheckReport, CheckState

NOW = 1_795_170_000.0
ACCOUNTS = ("ann", "bob", "eve")
HEARS = "#!/bin/sh\ncat >>{folder}/heard; echo >>{folder}/heard; printf '%s\\n' \"$*\" >>{folder}/argv\n"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir()
    return made


@pytest.fixture
def store(state: Path) -> Iterator[IncidentStore]:
    with IncidentStore(state / state_files.ACCOUNTS) as opened:
        opened.put(
            [AccountRecord(id=one, logins=(one,), since=NOW) for one in ACCOUNTS], by="x", now=NOW
        )
        yield opened


def ban(store: IncidentStore, account: str) -> None:
    block = AccountBlock(
        account=account, state=AccountState.BANNED, until=0.0, why="stolen", by="x"
    )
    store.block(block, now=NOW)


def program(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hook"
    path.write_text(text.replace("{folder}", str(tmp_path)))
    path.chmod(0o755)
    return path


def options(state: Path, command: str, within_s: float = 10) -> list[str]:
    return [
        f"--state={state}",
        f"--set=inspector.hook_command={command}",
        f"--set=inspector.hook_command_s={within_s}",
    ]


def run(state: Path, command: str, within_s: float = 10) -> Result:
    words = [*options(state, command, within_s), "incident", "run-hooks"]
    return CliRunner().invoke(main, words)


def heard(tmp_path: Path) -> list[dict[str, object]]:
    path = tmp_path / "heard"
    return (
        [json.loads(line) for line in path.read_text().split("\n") if line] if path.exists() else []
    )


def waiting(store: IncidentStore) -> list[IncidentAction]:
    return [action for action in store.wanted() if action.kind is ActionKind.COMMAND]


def test_the_program_hears_of_each_account_once(
    tmp_path: Path, state: Path, store: IncidentStore
) -> None:
    path = program(tmp_path, HEARS)
    ban(store, "ann")
    ban(store, "bob")
    ids = [action.id for action in waiting(store)]
    (state / state_files.HOOK_DUE).touch()
    done = run(state, f"{path} --set $(id) *")
    assert (done.exit_code, done.stderr) == (0, "")
    assert [(one["id"], one["account"], one["state"]) for one in heard(tmp_path)] == [
        (ids[0], "ann", "banned"),
        (ids[1], "bob", "banned"),
    ]
    assert (tmp_path / "argv").read_text() == "--set $(id) *\n" * 2, "no shell reads it"
    assert not (state / state_files.HOOK_DUE).exists()
    assert run(state, str(path)).stdout == ""
    assert len(heard(tmp_path)) == 2


def test_one_that_fails_keeps_none_of_the_others_and_is_told_again_under_its_id(
    tmp_path: Path, state: Path, store: IncidentStore
) -> None:
    path = program(
        tmp_path, '#!/bin/sh\nread told\ncase $told in *bob*) echo "a\nno set" >&2; exit 3; esac\n'
    )
    for account in ACCOUNTS:
        ban(store, account)
    started = time.time()
    done = run(state, str(path))
    assert done.exit_code == os.EX_TEMPFAIL
    assert "bob" in done.stderr
    (action,) = waiting(store)
    assert (action.target, action.attempts) == ("bob", 1)
    assert action.answer == "hook: a; no set"
    assert 60 <= action.retry_at - started < 120
    assert run(state, str(path)).exit_code == 0, "its time has not come"
    assert waiting(store) == [action]
    store.failed(action.id, "", retry_at=0.0)
    program(tmp_path, HEARS)
    assert run(state, str(path)).exit_code == 0
    assert [one["id"] for one in heard(tmp_path)] == [action.id]
    assert waiting(store) == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("#!/bin/sh\nexit 9\n", "hook: exit status 9"),
        ("#!/bin/sh\nkill -TERM $$\n", "hook: ended by signal 15"),
        ("#!/bin/sh\nsleep 60 & sleep 60\n", "hook did not end within 0.5 s"),
        ("#!/nowhere/sh\n", "hook: No such file or directory"),
        ("\x7fELF nonsense", "hook: Exec format error"),
        ("#!/bin/sh\nhead -c 9000000 /dev/zero >&2; exit 1\n", "hook: "),
        ("#!/bin/sh\nprintf '\\033[2Jno\\377' >&2; exit 1\n", "hook: ?[2Jno"),
    ],
)
def test_what_came_of_it_is_noted(
    tmp_path: Path, state: Path, store: IncidentStore, text: str, answer: str
) -> None:
    ban(store, "ann")
    assert run(state, str(program(tmp_path, text)), 0.5).exit_code == os.EX_TEMPFAIL
    (action,) = waiting(store)
    assert action.answer.startswith(answer)
    assert len(action.answer) <= 200
    assert action.answer.isprintable()


def test_what_it_starts_ends_with_it(tmp_path: Path, state: Path, store: IncidentStore) -> None:
    ban(store, "ann")
    path = program(tmp_path, "#!/bin/sh\nsleep 600 & echo $! >{folder}/child; wait\n")
    run(state, str(path), 0.5)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    until = time.monotonic() + 20
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until
        time.sleep(0.05)


def test_one_that_reads_nothing_is_no_failure(
    tmp_path: Path, state: Path, store: IncidentStore
) -> None:
    ban(store, "ann")
    assert run(state, str(program(tmp_path, "#!/bin/sh\nexit 0\n"))).exit_code == 0
    assert waiting(store) == []


def test_a_later_word_replaces_one_that_was_not_told(
    tmp_path: Path, state: Path, store: IncidentStore
) -> None:
    ban(store, "ann")
    store.unblock("ann", by="x", why="a mistake", now=NOW + 1)
    assert run(state, str(program(tmp_path, HEARS))).exit_code == 0
    assert [one["state"] for one in heard(tmp_path)] == ["open"]


def test_its_environment_is_fixed(
    tmp_path: Path, state: Path, store: IncidentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("BASH_ENV", "/tmp/x")
    ban(store, "ann")
    run(state, str(program(tmp_path, "#!/usr/bin/env -S -i true\n")))
    run(
        state,
        str(
            program(
                tmp_path, "#!/bin/sh\nenv | cut -d= -f1 | sort >{folder}/env; pwd >>{folder}/env\n"
            )
        ),
    )
    ban(store, "bob")
    run(state, str(tmp_path / "hook"))
    assert (tmp_path / "env").read_text().split() == ["LANG", "PATH", "PWD", "/"]


@pytest.mark.parametrize("what", ["program", "folder", "owner"])
@pytest.mark.skipif(os.geteuid() != 0, reason="changes an owner")
def test_what_others_can_change_is_not_run(
    tmp_path: Path, state: Path, store: IncidentStore, what: str
) -> None:
    path = program(tmp_path, HEARS)
    if what == "program":
        path.chmod(0o775)
    elif what == "folder":
        tmp_path.chmod(0o777)
    else:
        os.chown(path, 12345, 0)
    ban(store, "ann")
    assert run(state, str(path)).exit_code == os.EX_TEMPFAIL
    assert heard(tmp_path) == []
    (action,) = waiting(store)
    assert "root" in action.answer or "others than its owner" in action.answer
    (report, *_) = said(state, str(path))
    assert report.state is CheckState.FAIL


@pytest.mark.skipif(os.geteuid() != 0, reason="changes an owner")
def test_settings_that_others_can_change_have_root_run_nothing(
    tmp_path: Path, state: Path, store: IncidentStore
) -> None:
    path = program(tmp_path, HEARS)
    settings = tmp_path / "oborona.toml"
    settings.write_text(f'[inspector]\nhook_command = "{path}"\n')
    words = [f"--config={settings}", f"--state={state}", "incident", "run-hooks"]
    ban(store, "ann")
    settings.chmod(0o666)
    assert CliRunner().invoke(main, words).exit_code == os.EX_TEMPFAIL
    assert heard(tmp_path) == []
    settings.chmod(0o644)
    (action,) = waiting(store)
    store.failed(action.id, "", retry_at=0.0)
    assert CliRunner().invoke(main, words).exit_code == 0
    assert len(heard(tmp_path)) == 1


def test_without_a_command_or_accounts_it_takes_the_mark_and_does_nothing(state: Path) -> None:
    for command in ("", "/bin/false"):
        (state / state_files.HOOK_DUE).touch()
        done = run(state, command)
        assert (done.exit_code, done.output) == (0, "")
        assert not (state / state_files.HOOK_DUE).exists()


def test_anybody_else_is_told_to_be_root_and_the_mark_stays(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: state.stat().st_uid + 1000)
    (state / state_files.HOOK_DUE).touch()
    assert run(state, "/bin/true").exit_code == os.EX_NOPERM
    assert (state / state_files.HOOK_DUE).exists()


@pytest.mark.parametrize("command", ["true", "/bin/a  b", "/bin/a ", "/bin/a\tb", "/bin/é"])
def test_a_command_that_none_is_refused_by_the_settings(state: Path, command: str) -> None:
    done = run(state, command)
    assert done.exit_code == os.EX_CONFIG
    assert "an absolute path, then words with single spaces between" in done.output


def said(state: Path, command: str) -> list[CheckReport]:
    words = [option.removeprefix("--set=") for option in options(state, command)[1:]]
    return list(hooks(CliContext(None, state, tuple(words))))


def test_the_doctor_says_what_fails_and_what_nobody_runs(
    tmp_path: Path, state: Path, store: IncidentStore
) -> None:
    path = str(program(tmp_path, HEARS))
    assert said(state, "") == []
    assert [one.state for one in said(state, path)] == [CheckState.OK]
    assert "no program" in said(state, str(tmp_path))[0].words
    assert "no program" in said(state, f"{tmp_path}/none")[0].words
    ban(store, "ann")
    hook, command = store.wanted()
    store.failed(hook.id, "answered 500", retry_at=NOW)
    store.failed(command.id, "no such set", retry_at=NOW)
    failing = said(state, path)
    assert [(one.what, one.state) for one in failing] == [
        ("hook", CheckState.FAIL),
        ("hook command", CheckState.FAIL),
        ("hook command", CheckState.OK),
    ]
    assert "answered 500" in failing[0].words
    mark = state / state_files.HOOK_DUE
    mark.touch()
    assert said(state, path)[-1].state is CheckState.OK, "it may be taken this moment"
    then = time.time() - 2 * UNTAKEN_S
    os.utime(mark, (then, then))
    assert said(state, path)[-1].state is CheckState.FAIL
    assert "oborona-hook.path" in said(state, path)[-1].hint
