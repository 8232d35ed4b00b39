"""`oborona people`: from the first admin to the last key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import secret, state_files
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.desk.doctor.people import people
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.people.key_book import KeyBook
from oborona.people.link_book import PATH, LinkBook
from oborona.people.passkey_book import PasskeyBook
from oborona.people.store import PeopleStore

Run = Callable[..., Result]
DAY_S = 86_400.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    secret.make(folder)
    return folder


@pytest.fixture
def run(state: Path) -> Run:
    def call(*words: str, status: int = 0) -> Result:
        result = CliRunner().invoke(main, ["--state", str(state), *words])
        assert result.exit_code == status, (result.output, result.exception)
        return result

    return call


def use_link(state: Path, path: str, password: str) -> None:
    with PeopleStore(state / state_files.PEOPLE) as store:
        assert LinkBook(store).use(path.removeprefix(PATH), password, time.time()) is not None


def reports(state: Path, *assignments: str) -> list[CheckReport]:
    return list(people(CliContext(None, state, assignments)))


def test_the_first_admin_is_added_and_sets_a_password(run: Run, state: Path) -> None:
    shown = run("people", "add", "Anna", "--role", "admin").stdout.splitlines()
    assert shown[0] == "anna: admin; the whole site; no password yet"
    assert shown[1].startswith("until ")
    use_link(state, shown[1].split()[-1], "a password of anna")
    assert run("people", "show", "anna").stdout.startswith("anna: admin; the whole site\n")


def test_people_are_listed_changed_turned_off_and_forgotten(run: Run) -> None:
    run("people", "add", "anna", "--role", "admin")
    run("people", "add", "sue", "--role", "support", "--domain", "Example.org")
    lines = run("people", "list", "--json").stdout.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["anna", "sue"]
    assert json.loads(lines[1])["domains"] == ["example.org"]
    assert "sue" in run("people", "list", "--role", "support").stdout
    run("people", "list", "--role", "duty", status=1)
    assert "the whole site" in run("people", "roles", "sue", "--whole-site").stdout
    assert (
        "sue: analyst, duty;"
        in run("people", "roles", "sue", "--role", "duty", "--role", "analyst").stdout
    )
    assert "; off" in run("people", "off", "sue").stdout
    assert "; off" not in run("people", "on", "sue").stdout
    assert run("people", "forget", "sue").stdout == "sue is forgotten\n"
    assert "nobody called 'sue'" in run("people", "show", "sue", status=65).stderr


def test_a_link_is_made_anew(run: Run, state: Path) -> None:
    first = json.loads(run("people", "add", "anna", "--role", "admin", "--json").stdout)
    again = json.loads(run("people", "link", "anna", "--json").stdout)
    use_link(state, again["path"], "a password of anna")
    with PeopleStore(state / state_files.PEOPLE) as store:
        token = first["path"].removeprefix(PATH)
        assert LinkBook(store).person_of(token, time.time()) is None


def test_the_last_admin_is_kept(run: Run, state: Path) -> None:
    made = json.loads(run("people", "add", "anna", "--role", "admin", "--json").stdout)
    use_link(state, made["path"], "a password of anna")
    for words in (("off", "anna"), ("forget", "anna"), ("roles", "anna", "--role", "duty")):
        assert "last admin" in run("people", *words, status=65).stderr


def test_sessions_are_shown_and_ended(run: Run, state: Path) -> None:
    run("people", "add", "anna", "--role", "admin")
    run("people", "sessions", "anna", status=1)
    run("people", "sessions", "anna", "--end", "all")
    run("people", "sessions", "anna", "--end", "0123456789", status=65)


def test_keys_are_made_listed_and_removed(run: Run, state: Path) -> None:
    run("people", "add", "anna", "--role", "admin")
    words = ("people", "key", "add", "anna", "nightly", "--right", "track", "--for", "90d")
    made = json.loads(run(*words, "--json").stdout)
    with PeopleStore(state / state_files.PEOPLE) as store:
        assert KeyBook(store).caller_of(made["key"], "192.0.2.7", time.time()) is not None
    assert "anna/nightly: track; until " in run("people", "key", "list").stdout
    run(*words, status=65)
    run("people", "key", "add", "anna", "own", "--right", "own", "--for", "1d", status=65)
    run("people", "key", "remove", "anna", "nightly")
    run("people", "key", "list", "anna", status=1)


def test_passkeys_are_listed_and_removed(run: Run, state: Path) -> None:
    run("people", "add", "anna", "--role", "admin")
    run("people", "passkey", "list", "anna", status=1)
    with PeopleStore(state / state_files.PEOPLE) as store:
        for name, credential in (("telephone", b"1"), ("key", b"2"), ("third", b"3")):
            book, anna = PasskeyBook(store), store.named("anna")
            book.add(anna, name, credential, b"h", b"k", 0, time.time())
    assert "telephone: made" in run("people", "passkey", "list", "anna").stdout
    told = run("people", "passkey", "list", "anna", "--json").stdout
    ident = json.loads(told.splitlines()[0])["ident"]
    assert f"passkey {ident}" in run("people", "show", "anna").stdout
    removed = run("people", "passkey", "remove", "anna", ident).stdout
    assert removed.startswith(f"removed: passkey {ident}")
    run("people", "passkey", "remove", "anna", ident, status=65)
    run("people", "passkey", "remove", "nobody", "all", status=65)
    assert run("people", "passkey", "remove", "anna", "all").stdout.count("removed") == 2
    assert run("people", "passkey", "remove", "anna", "all").stdout == "anna has no passkey\n"


def test_no_secret_is_in_the_audit_log(run: Run, state: Path) -> None:
    made = json.loads(run("people", "add", "anna", "--role", "admin", "--json").stdout)
    words = ("people", "key", "add", "anna", "nightly", "--right", "track", "--for", "90d")
    key = json.loads(run(*words, "--json").stdout)["key"]
    octets = b"".join(path.read_bytes() for path in state.glob("audit.db*"))
    assert b"people.add" in octets
    assert b"keys.add" in octets
    assert key.encode() not in octets
    assert made["path"].removeprefix(PATH).encode() not in octets


@pytest.mark.parametrize(
    "words",
    [
        ("add", "a b", "--role", "admin"),
        ("add", "anna\x1b[2J", "--role", "admin"),
        ("add", "x" * 10_000, "--role", "admin"),
        ("add", "anna", "--role", "admin", "--domain", "no domain"),
        ("add", "anna", "--role", "reader", "--address", "nothing"),
    ],
)
def test_what_can_t_be_is_told_in_one_line(run: Run, words: tuple[str, ...]) -> None:
    told = run("people", *words, status=65).stderr
    assert told.count("\n") == 1
    assert len(told) < 300
    assert "\x1b" not in told


def test_wrong_usage_is_told(run: Run) -> None:
    run("people", "add", "anna", status=2)
    run("people", "add", "anna", "--role", "emperor", status=2)
    run("people", "add", "anna", "--role", "reader")
    run("people", "roles", "anna", status=2)
    run("people", "roles", "anna", "--domain", "example.org", "--whole-site", status=2)


def test_a_damaged_store_is_told(run: Run, state: Path) -> None:
    (state / state_files.PEOPLE).write_bytes(b"damaged" * 1000)
    assert "is damaged" in run("people", "list", status=74).stderr
    assert [(one.state, "damaged" in one.words) for one in reports(state)] == [
        (CheckState.FAIL, True)
    ]


def test_the_doctor_tells_of_admins_who_is_away_and_keys_that_end(run: Run, state: Path) -> None:
    assert reports(state) == []
    (closed,) = reports(state, "console.enabled=true")
    assert closed.state is CheckState.WARN
    made = json.loads(run("people", "add", "anna", "--role", "admin", "--json").stdout)
    (no_admin,) = reports(state)
    assert "no admin" in no_admin.words
    use_link(state, made["path"], "a password of anna")
    (fine,) = reports(state)
    assert fine.state is CheckState.OK
    run("people", "add", "bob", "--role", "reader")
    run("people", "key", "add", "anna", "soon", "--right", "track", "--for", "3d")
    with PeopleStore(state / state_files.PEOPLE) as store, store.transaction() as db:
        db.execute("UPDATE person SET made = ? WHERE name = 'bob'", (time.time() - 200 * DAY_S,))
    words = [one.words for one in reports(state)]
    assert len(words) == 2
    assert words[0].endswith("180 days: bob")
    assert words[1].endswith("14 days: anna/soon")
    run("people", "off", "bob")
    run("people", "key", "remove", "anna", "soon")
    assert [one.state for one in reports(state)] == [CheckState.OK]
