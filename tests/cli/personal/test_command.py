"""`oborona personal`, and what people's words write there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.daemon.state import prepare_state
from oborona.desk.doctor.personal import personal
from oborona.desk.doctor.report import CheckState
from oborona.ident import from_text, sign
from tests.cli.journaled import LUNCH, journal, policy

JOE, ANN = "joe@b.example", "ann@a.example"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "state").mkdir()

    def call(*words: str, status: int = 0, stdin: bytes = b"") -> Result:
        settings = ["--state", str(tmp_path / "state"), "--set", "site.name=mx.test"]
        result = CliRunner().invoke(main, [*settings, *words], input=stdin, catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return call


def shown(run: Run, person: str = JOE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        run("personal", "show", person, "--json", "--contacts").stdout
    )
    return found


def entries(run: Run, person: str = JOE) -> list[str]:
    return [f"{one['side']} {one['kind']} {one['value']}" for one in shown(run, person)["entries"]]


def test_what_is_said_is_shown_and_removed(run: Run) -> None:
    assert (
        run("personal", "allow", "Joe@B.example", "Ann@a.example").stdout
        == f"{JOE}: allow address {ANN}\n"
    )
    run(
        "personal",
        "deny",
        JOE,
        "@shop.example",
        "s.example",
        "--domain",
        "--expires",
        "30",
        "--note",
        "no\x1b",
    )
    run("personal", "allow", JOE, "<Chess.a.example>", "--list")
    run("personal", "deny", JOE, "b@s.example", "--sender")
    assert entries(run) == [
        f"allow address {ANN}",
        "deny domain s.example",
        "deny domain shop.example",
        "allow list chess.a.example",
        "deny sender b@s.example",
    ]
    one = shown(run)["entries"][2]
    assert (one["note"], one["expires"] > one["time"]) == ("no", True)
    assert "a.example" in run("personal", "show", JOE).stdout
    run("personal", "deny", JOE, ANN)
    assert f"deny address {ANN}" in entries(run), "the last word counts"
    assert f"allow address {ANN}" not in entries(run)
    assert run("personal", "remove", JOE, ANN).stdout == f"{JOE}: 1 removed\n"
    run("personal", "remove", JOE, "b@s.example", status=1)
    run("personal", "remove", JOE, "b@s.example", "--sender")
    run("personal", "remove", JOE, "@Shop.example", "--domain")
    run("personal", "remove", JOE, "--everything")
    assert entries(run) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("allow", "joe", ANN), "is no mail address"),
        (("allow", JOE, "ann"), "is not a mail address"),
        (("deny", JOE, "mail.a.example", "--domain"), "is not a domain that somebody registered"),
        (("allow", JOE, ANN, "--from", "a.example"), "--from goes with --list"),
        (("deny", JOE, ANN, "--expires", "yesterday"), "neither a number of days"),
        (("strict", JOE, "3"), "no number from 0.5 to 2"),
        (("strict", JOE, "nan"), "no number from 0.5 to 2"),
        (("remove", JOE), "name WHAT"),
    ],
)
def test_what_makes_no_sense_says_why_and_changes_nothing(
    run: Run, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    assert why in run("personal", *words, status=2).stderr
    if (tmp_path / "state" / state_files.PERSONS).exists():
        assert shown(run) == {"person": JOE, "strictness": 1.0, "contacts": 0, "entries": []}


def test_strictness(run: Run) -> None:
    run("personal", "strict", JOE, "0.5")
    assert shown(run)["strictness"] == 0.5
    run("personal", "strict", JOE, "default")
    assert shown(run)["strictness"] == 1.0


BOOK = b"Name,E-mail Address\nA,ann@a.example\nB,nobody\nJ,joe@b.example\n"


def test_an_address_book_is_tried_and_taken(run: Run, tmp_path: Path) -> None:
    found = run("personal", "import", JOE, "-", "--dry-run", stdin=BOOK)
    assert found.stdout == f"{JOE}: 1 would be taken; 1 are no mail address\n"
    assert "-: line 3: 'nobody' is no mail address" in found.stderr
    assert not (tmp_path / "state" / state_files.PERSONS).exists()
    told = json.loads(run("personal", "import", JOE, "-", "--json", stdin=BOOK).stdout)
    assert (told["format"], told["taken"], told["new"], told["passed_over"]) == ("csv", 1, 1, 1)
    assert run("personal", "import", JOE, "-", stdin=BOOK).stdout.startswith(
        f"{JOE}: 1 taken, 0 of them"
    )
    assert entries(run) == [f"contact address {ANN}"], "nobody is a contact of their own"


def test_what_is_exported_is_taken_again(run: Run, tmp_path: Path) -> None:
    run("personal", "allow", JOE, "chess.a.example", "--list", "--from", "x.example")
    run("personal", "import", JOE, "-", stdin=BOOK)
    run("personal", "strict", JOE, "0.7")
    file = tmp_path / "joe.json"
    file.write_text(run("personal", "export", JOE).stdout)
    run("personal", "import", "kim@b.example", str(file))
    before, after = shown(run), shown(run, "kim@b.example")
    assert after == before | {"person": "kim@b.example"}


@pytest.mark.parametrize(
    "octets",
    [
        b"{",
        b"{}",
        b'{"format":"oborona-personal-9","person":"x@b.example"}',
        b'{"format":"oborona-personal-1","person":"x@b.example","strictness":9}',
        b'{"format":"oborona-personal-1","person":"x@b.example","more":1}',
        b'{"format":"oborona-personal-1","person":"x@b.example","entries":[{"side":"allow","kind":"list","value":"l.a.example"}]}',
        b'{"format":"oborona-personal-1","person":"x@b.example","entries":[{"side":"allow","kind":"address","value":"\\u0000"}]}',
        b'{"format":"oborona-personal-1","person":"\xff"}',
        b"[" * 100_000,
        b'{"format":' + b"[" * 100_000,
        b"nothing like a book",
        b"\x00",
    ],
)
def test_a_file_that_is_none_is_refused_as_a_whole(run: Run, tmp_path: Path, octets: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(octets)
    assert run("personal", "import", JOE, str(file), status=os.EX_DATAERR).stderr.startswith(
        f"oborona: {file}: "
    )
    assert not (tmp_path / "state" / state_files.PERSONS).exists()
    run("personal", "import", JOE, str(tmp_path / "none"), status=66)


LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: joe@b.example\r\nList-Id: <chess.a.example>\r\nSubject: "
    b"x\r\n"
    b"Message-ID: <1@a.example>\r\n\r\nAt noon?\r\n"
)


def test_a_word_writes_entries_the_opposite_replaces_them_and_taking_back_removes_them(
    run: Run,
) -> None:
    run("personal", "deny", JOE, "eve@e.example")
    run("learn", "spam", "-", "--person", "Joe@b.example", stdin=LETTER)
    mine = "deny address eve@e.example"
    spam = [mine, f"deny claimed {ANN}", "deny list chess.a.example"]
    assert entries(run) == spam
    run("learn", "spam", "-", "--person", JOE, stdin=LETTER)
    assert entries(run) == spam, "the same, said again"
    run("learn", "ham", "-", "--person", JOE, stdin=LETTER)
    assert entries(run) == [
        mine,
        f"lift address {ANN}",
        f"lift claimed {ANN}",
        "lift list chess.a.example",
    ]
    run("learn", "spam", "-", stdin=LETTER)
    run("model", "unlearn", "--person", JOE)
    assert entries(run) == [mine]


def test_an_id_above_the_message_that_is_not_signed_by_us_proves_nothing(run: Run) -> None:
    said = (
        b"X-Mras-Id: 0000000000000.0000000000000000\r\nAuthentication-Results: mx.test; "
        b"dmarc=pass header.from=a.example\r\n"
    )
    run("learn", "ham", "-", "--person", JOE, stdin=said + LETTER)
    assert not [one for one in entries(run) if one.startswith("allow")]


def test_an_id_of_another_message_proves_nothing_whatever_stands_beside_it(
    run: Run, tmp_path: Path
) -> None:
    """Whoever has had one answer of ours has an id that we signed."""
    folder = tmp_path / "state"
    prepare_state(folder)
    (known,) = journal(folder, policy(tmp_path / "policy"), [LUNCH])
    number = from_text(known)
    assert number is not None
    signed = sign(number, CliContext(None, folder, ()).keys().signature).encode()
    said = (
        b"X-Mras-Id: %b\r\nAuthentication-Results: mx.test; dmarc=pass header.from=a.example\r\n"
    ) % signed
    run("learn", "ham", "-", "--person", JOE, stdin=said + LETTER.replace(b"<1@", b"<9@"))
    assert not [one for one in entries(run) if one.startswith("allow")]
    run("learn", "ham", "-", "--person", JOE, stdin=said + LETTER)
    assert f"allow address {ANN}" not in entries(run), "the journal knows that nobody was proved"


def test_a_check_for_a_recipient_asks_their_lists(run: Run) -> None:
    run("personal", "deny", JOE, ANN)
    for recipient, decided_by in (
        (JOE, "PERSONAL"),
        ("joe+x@b.example", "PERSONAL"),
        ("kim@b.example", ""),
    ):
        told = json.loads(run("check", "-", "--rcpt", recipient, "--json", stdin=LETTER).stdout)
        assert (told["decided_by"] == "PERSONAL") is bool(decided_by), told


def test_the_doctor_counts_and_says_what_is_wrong(run: Run, tmp_path: Path) -> None:
    asked = CliContext(None, tmp_path / "state", ())
    assert [one.state for one in personal(asked)] == [CheckState.OK]
    run("personal", "allow", JOE, ANN)
    run("personal", "import", JOE, "-", stdin=b"E-mail\nbob@b.example\n")
    (fine,) = personal(asked)
    assert fine.words.endswith("1 persons, 1 entries, 1 contacts")
    (tmp_path / "state" / state_files.PERSONS).write_bytes(
        b"not SQLite at all, but long enough to be looked at" * 100
    )
    (wrong,) = personal(asked)
    assert wrong.state is CheckState.FAIL
    assert "is damaged" in run("personal", "show", JOE, status=74).stderr
    assert (
        "judged without lists of recipients"
        in run("check", "-", "--rcpt", JOE, stdin=LETTER).stderr
    )
