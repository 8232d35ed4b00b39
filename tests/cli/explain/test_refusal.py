"""`oborona explain` and `oborona find` of who was refused before the content."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from oborona import state_files
from oborona.ident import to_text
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.refusal import REFERENCES, Refusal, Told
from oborona.session.refusals import TOO_BUSY
from oborona.types import Action, RuleHit
from tests.cli.journaled import LINKS, LUNCH, journal, policy, run
from tests.journal.refusals import make_refusal

NAMES = {
    "id", "time", "refused", "stage", "told", "verdict", "score", "line", "decided_by", "policy", "rules", "queue_id", "client", "helo",
    "sender", "recipients", "login", "shared", "network", "times", "named", "first", "last", "door",
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "state", policy(tmp_path / "policy", LINKS)


def refused(state: Path, *refusals: Refusal) -> list[str]:
    """Journal refusals; return the references that were told."""

    async def fill() -> list[str]:
        state.mkdir(exist_ok=True)
        schema.prepare(state / state_files.JOURNAL)
        async with await JournalWriter.open(state / state_files.JOURNAL) as journal:
            return [to_text(journal.take(one)) for one in refusals]

    return asyncio.run(fill())


def test_a_reference_is_answered_with_who_why_and_how_many(site: tuple[Path, Path]) -> None:
    now = time.time()
    first, second, again = refused(
        site[0],
        make_refusal(time=now - 9),
        make_refusal(time=now - 5, sender="eve@example.org"),
        make_refusal(time=now - 1, sender="eve@example.org"),
    )
    assert second == again != first
    told = run(*site, "explain", second).stdout
    assert second in told
    assert "client     198.51.100.7 helo mail.example.org" in told
    assert "<eve@example.org>" in told
    assert "reject 120.0 / 100  refused at RCPT TO, before its content" in told
    assert "decided by ZEN; policy 3f2a9c1b" in told
    assert "ZEN +120 (127.0.0.2)" in told
    assert "3 times from 198.51.100.0/24 for that reason" in told
    assert "<ann@example.org>" in run(*site, "explain", f"{first}.SIGNATURE").stdout


def test_json_of_a_refusal_has_these_names(site: tuple[Path, Path]) -> None:
    (reference,) = refused(site[0], make_refusal(queue_id="4Xq"))
    found = json.loads(run(*site, "explain", reference, "--json").stdout)
    assert found.keys() == NAMES
    assert (found["id"], found["refused"], found["times"], found["named"]) == (
        reference,
        True,
        1,
        1,
    )
    assert json.loads(run(*site, "explain", "4Xq", "--json").stdout) == found, "by its queue id"


def test_a_shared_reference_says_that_it_is(site: tuple[Path, Path]) -> None:
    told = refused(
        site[0], *(make_refusal(sender=f"s{n}@a.example") for n in range(REFERENCES + 1))
    )
    shown = run(*site, "explain", told[-1]).stdout
    assert "client     198.51.100.0/24 " in shown
    assert "this reference was given to several" in shown
    assert "@a.example" not in shown


def test_who_was_put_off_in_a_rush_hears_that_nobody_looked(site: tuple[Path, Path]) -> None:
    (reference,) = refused(
        site[0],
        make_refusal(
            verdict=Action.TEMPFAIL, decided_by=TOO_BUSY, rules=(), score=0.0, told=Told.SENDER
        ),
    )
    shown = run(*site, "explain", reference).stdout
    assert "tempfail  refused at MAIL FROM" in shown
    assert "decided by busy (too much was to be judged" in shown


def test_a_file_cannot_be_compared_with_a_refusal(site: tuple[Path, Path], tmp_path: Path) -> None:
    (reference,) = refused(site[0], make_refusal())
    (tmp_path / "mail").write_bytes(LUNCH)
    arguments = ["explain", reference, "--message", str(tmp_path / "mail")]
    assert "refused before its content" in run(*site, *arguments, status=2).stderr


def test_hostile_words_are_shown_without_harm(site: tuple[Path, Path]) -> None:
    text = "\x1b]0;x\x07\r\n\ud800\u202e[red]" * 1000
    (reference,) = refused(
        site[0],
        make_refusal(
            client_ip=text, helo=text, sender=text, recipients=(text,) * 9, login=text,
            rules=(RuleHit(name="X", score=1e300, say=text),) * 99,
        ),
    )  # fmt: skip
    for arguments in (
        ["explain", reference],
        ["find"],
        ["find", "--json"],
        ["explain", "decided:ZEN"],
    ):
        shown = run(*site, *arguments).stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown
    json.loads(run(*site, "explain", reference, "--json").stdout)


def test_a_damaged_refusal_is_told_plainly(site: tuple[Path, Path]) -> None:
    (reference,) = refused(site[0], make_refusal())
    with closing(sqlite3.connect(site[0] / state_files.JOURNAL, isolation_level=None)) as db:
        db.execute("UPDATE refusal SET stage = 'x'")
    assert (
        f"the refusal {reference} is damaged" in run(*site, "explain", reference, status=74).stderr
    )


def test_find_shows_refusals_between_messages(site: tuple[Path, Path]) -> None:
    (lunch,) = journal(*site, [LUNCH])
    now = time.time() + 1
    told = refused(
        site[0],
        *(make_refusal(time=now, sender=f"s{n}@a.example") for n in range(4)),
        make_refusal(time=now + 1, told=Told.NEVER, client_ip="192.0.2.1"),
    )
    shown = run(*site, "find")
    lines = shown.stdout.splitlines()
    assert [line.split()[2] for line in lines[::2]] == [told[4], told[3], lunch]
    assert "refused and gone before it was told" in lines[0]
    assert "<s3@a.example> → <joe@example.test>  refused at RCPT TO; 4 times from" in lines[2]
    assert "refusals before the content: since" in shown.stderr
    assert lunch not in run(*site, "find", "verdict:reject").stdout
    (line,) = run(*site, "find", "--json", "from:s1@a.example").stdout.splitlines()
    found = json.loads(line)
    assert (found["id"], found["head"], found["stage"], found["told"], found["times"]) == (
        told[1],
        told[0],
        "connect",
        "recipient",
        4,
    )
    assert "s2@a.example" in run(*site, "explain", "from:s2@a.example").stdout
