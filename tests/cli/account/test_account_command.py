"""`oborona account`: import, list and show; trust, limit, ban and back; forget."""

from __future__ import annotations

import getpass
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.accounts.import_lines import LINE_OCTETS
from oborona.cli import main

LINES = (
    {"account": "joe", "logins": ["joe@example.com"], "registration": {"country": "US"}},
    {"account": "ann", "customer": {"id": "c17"}},
)


def run(state: Path, *words: str, status: int = 0, given: bytes | None = None) -> Result:
    done = CliRunner().invoke(main, ["--state", str(state), "account", *words], input=given)
    assert done.exit_code == status, done.output
    return done


@pytest.fixture
def state(tmp_path: Path) -> Path:
    told = "\n".join(map(json.dumps, LINES)).encode()
    run(tmp_path, "import", "-", given=told)
    return tmp_path


def shown(state: Path, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(state, "show", name, "--json").stdout)
    return found


def test_what_is_imported_is_listed_and_shown(state: Path) -> None:
    rows = [json.loads(row) for row in run(state, "list", "--json").stdout.splitlines()]
    assert [(row["id"], row["state"], row["rating"]) for row in rows] == [
        ("ann", "open", 100),
        ("joe", "open", 100),
    ]
    assert shown(state, "JOE@example.com")["logins"] == ["joe@example.com"]
    assert "registration country: US" in run(state, "show", "joe").stdout
    assert "joe@example.com" in run(state, "list").stdout
    assert json.loads(run(state, "list", "--customer", "c17", "--json").stdout)["id"] == "ann"
    assert "no account 'bob'" in run(state, "show", "bob", status=1).stderr


def test_wrong_lines_are_named_and_the_others_are_imported(state: Path) -> None:
    lines = [
        b'{"account": "new"}',
        b"nonsense",
        b'{"account": "thief", "logins": ["joe@example.com"]}',
        b'{"account": "big", "name": "' + b"x" * (3 * LINE_OCTETS) + b'"}',
        b'{"account": "last"}',
    ]
    done = run(state, "import", "-", "--json", given=b"\n".join(lines), status=1)
    assert json.loads(done.stdout) == {"imported": 2, "new": 2, "wrong": 3}
    assert "line 2: " in done.stderr
    assert "line 3: login 'joe@example.com' of 'thief' is of 'joe'" in done.stderr
    assert "line 4: is longer than" in done.stderr
    run(state, "show", "last")


@pytest.mark.parametrize("made", [True, False], ids=["with accounts", "without any"])
def test_a_login_that_is_no_account_yet_is_banned_at_once(tmp_path: Path, made: bool) -> None:
    if made:
        run(tmp_path, "import", "-", given=b'{"account": "joe"}')
    done = run(tmp_path, "ban", "Eve@Example.com", "--reason", "stolen")
    assert done.stdout == "eve@example.com is banned\n"
    assert "was no account yet, and is one now: check how it is spelt" in done.stderr
    assert shown(tmp_path, "eve@example.com")["state"] == "banned"
    again = run(tmp_path, "ban", "eve@example.com", "--reason", "stolen")
    assert "no account yet" not in again.stderr


@pytest.mark.parametrize("name", ["", " eve", "e\nve", "e\u202eve", "x" * 1_000])
def test_what_can_not_be_a_login_is_not_banned(state: Path, name: str) -> None:
    assert "Error: " in run(state, "ban", name, "--reason", "stolen", status=2).stderr
    assert len(run(state, "list", "--json").stdout.splitlines()) == len(LINES)


def test_a_ban_is_shown_with_who_and_why_and_taken_back(state: Path) -> None:
    done = run(state, "ban", "joe@example.com", "--reason", "stolen", "--for", "2h", "--json")
    block = json.loads(done.stdout)["block"]
    assert (block["state"], block["why"], block["by"]) == ("banned", "stolen", getpass.getuser())
    assert block["until"] > 0
    assert "banned by" in run(state, "show", "joe").stdout
    assert json.loads(run(state, "list", "--state", "banned", "--json").stdout)["id"] == "joe"
    run(state, "unban", "joe", "--reason", "changed")
    run(state, "unban", "joe", "--reason", "changed", status=1)
    run(state, "limit", "joe", "--reason", "slowly", "--for", "1h")
    assert shown(state, "joe")["state"] == "limited"
    deeds = shown(state, "joe")["deeds"]
    assert isinstance(deeds, list)
    assert [deed["what"] for deed in deeds] == ["import", "ban", "unban", "limit"]


def test_trust_is_a_persons_word(state: Path) -> None:
    run(state, "untrust", "joe", "--reason", "x", status=1)
    run(state, "trust", "joe", "--reason", "we talked", "--for", "90d")
    assert shown(state, "joe")["trusted"] is True
    assert "trusted by" in run(state, "show", "joe").stdout
    run(state, "untrust", "joe", "--reason", "stolen")
    assert shown(state, "joe")["trusted"] is False


def test_forgetting_asks_twice_and_a_ban_is_not_escaped_so(state: Path) -> None:
    run(state, "forget", "joe", status=2)
    run(state, "ban", "joe", "--reason", "stolen")
    assert "unban it" in run(state, "forget", "joe", "--yes", status=74).stderr
    run(state, "unban", "joe", "--reason", "changed")
    run(state, "forget", "joe", "--yes")
    run(state, "show", "joe", status=1)


@pytest.mark.parametrize(
    "words",
    [
        ("ban", "joe", "--reason", "a\nb"),
        ("ban", "joe", "--reason", " "),
        ("ban", "joe", "--reason", "x" * 201),
        ("ban", "joe", "--reason", "x", "--for", "0s"),
        ("ban", "joe", "--reason", "x", "--for", "99999999999d"),
        ("limit", "joe", "--reason", "x"),
    ],
)
def test_what_can_not_be_kept_or_told_is_refused(state: Path, words: tuple[str, ...]) -> None:
    run(state, *words, status=2)
    assert shown(state, "joe")["state"] == "open"


def test_without_a_file_there_is_no_account(tmp_path: Path) -> None:
    assert "no account was imported yet" in run(tmp_path, "list", status=74).stderr


def test_a_rating_is_explained(state: Path) -> None:
    told = {"account": "bad", "registration": {"country": "US", "phone": "+49 30 901820"}}
    run(state, "import", "-", given=json.dumps(told).encode())
    assert shown(state, "bad")["rating"] == 85
    explained = json.loads(run(state, "explain", "bad", "--json").stdout)
    assert explained["rating"] == explained["stored"] == 85
    assert explained["facts"]["registration.phone_country"] == "DE"
    assert [one["after"] for one in explained["changes"]] == [85]
    text = run(state, "explain", "bad").stdout
    assert "-15 PHONE_ELSEWHERE: the telephone is of DE, the address of US" in text
    assert "nothing speaks against it" in run(state, "explain", "joe").stdout
