"""`oborona find`: what it shows of the journal, what it says of what is not there, and that it
follows.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oborona import state_files
from oborona.ident import to_text
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.search import JournalSearch
from oborona.types import Action, RuleHit
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, WORDS, journal, policy, run
from tests.journal.entries import make_entry


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    folder = policy(tmp_path / "policy", LINKS, WORDS)
    return tmp_path / "state", folder


def append(state: Path, *entries: object) -> None:
    async def fill() -> None:
        state.mkdir(exist_ok=True)
        schema.prepare(state / state_files.JOURNAL)
        async with await JournalWriter.open(state / state_files.JOURNAL) as written:
            for one in entries:
                written.append(one)  # type: ignore[arg-type]

    asyncio.run(fill())


def test_a_message_is_two_lines_what_became_of_it_and_why(site: tuple[Path, Path]) -> None:
    lunch, lottery = journal(*site, [LUNCH, LOTTERY])
    told = run(*site, "find", "from:ann@a.example", "to:bob", "--since", "1h")
    first, second, *rest = told.stdout.splitlines()
    assert lottery in first, "the newest first"
    assert "spam" in first
    assert "110.0 / 100" in first
    assert '<ann@a.example> → <bob@b.example>  "you [31m won"' in first
    assert second.split() == [
        "client",
        "198.51.100.7,",
        "decided",
        "by",
        "LINKS:",
        "LINKS",
        "+60,",
        "WORDS",
        "+50",
        "(it",
        "is",
        "a",
        "lottery)",
    ]
    assert lunch in rest[0]
    assert "\x1b" not in told.stdout
    assert "2 in all since" in told.stderr
    assert (
        "refusals before the content: none, older ones in the log alone: journalctl -u "
        "'oborona*' -g ann@a\\.example"
    ) in told.stderr.replace("'ann@a\\.example'", "ann@a\\.example")


def test_each_way_of_asking_finds_it(site: tuple[Path, Path]) -> None:
    lunch, lottery = journal(*site, [LUNCH, LOTTERY])
    for words in (
        ["rule:WORDS"], ["verdict:spam"], ["decided:LINKS"], [lottery], [lottery.lower()], ["score>100"], ["subject:won"],
        ["client:198.51.100.0/24", "spam"], ["message:2@a.example"], ["from:Ann", "-lunch"],
    ):  # fmt: skip
        arguments = ["find", "--json", "--", *words]
        (line,) = run(*site, *arguments).stdout.splitlines()
        assert json.loads(line)["id"] == lottery, words
    assert json.loads(run(*site, "find", "lunch", "--json").stdout)["id"] == lunch


def test_json_has_these_names(site: tuple[Path, Path]) -> None:
    journal(*site, [LOTTERY])
    found = json.loads(run(*site, "find", "--json").stdout)
    assert found.keys() == {
        "id", "time", "verdict", "score", "line", "decided_by", "queue_id", "message_id", "client", "helo", "sender", "header_from",
        "recipients", "login", "subject", "size", "rules", "reasons", "stage", "told", "head", "network", "times", "last", "door",
    }  # fmt: skip
    assert found["header_from"] == "Ann <ann@a.example>"
    assert [one["name"] for one in found["reasons"]] == ["LINKS", "WORDS"]


def test_nothing_found_says_since_when_and_where_else_to_look(site: tuple[Path, Path]) -> None:
    journal(*site, [LUNCH])
    told = run(*site, "find", "nobody@nowhere.example", status=1)
    assert told.stdout == ""
    assert "nothing since" in told.stderr
    assert "where the journal begins" in told.stderr
    assert "journalctl" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verdict:good"], "none of accept, spam, reject, tempfail"),
        (["--since", "yesterday"], "is no time"),
        (["client:1.2.3.4/77"], "is no network"),
    ],
)
def test_what_cannot_be_asked_is_a_wrong_use(
    site: tuple[Path, Path], arguments: list[str], says: str
) -> None:
    journal(*site, [LUNCH])
    assert says in run(*site, "find", *arguments, status=2).stderr


def test_without_a_journal_it_says_so(site: tuple[Path, Path]) -> None:
    assert "there is no journal" in run(*site, "find", "x", status=os.EX_IOERR).stderr


def test_hostile_entries_and_words_are_shown_without_harm(site: tuple[Path, Path]) -> None:
    state, _ = site
    append(
        state,
        make_entry(
            time=time.time(), sender="\x1b]0;x\x07@evil.example", subject="a\nb\ud800\u202e", header_from="\ud801",
            recipients=tuple(f"r{number}@b.example" for number in range(900)), rules=(RuleHit(name="X", score=1e300, say="\r\n" * 500),),
        ),
        make_entry(time=time.time(), sender="", recipients=(), subject="", rules=(), verdict=Action.TEMPFAIL),
    )  # fmt: skip
    told = run(*site, "find").stdout
    assert len(told.splitlines()) == 4
    assert "\x1b" not in told
    assert "and 898 more" in told
    assert "<> → nobody" in told
    for hostile in (
        "'; DROP TABLE verdict; --",
        '"%_\\',
        "\udcff",
        "*" * 5000,
        "(((((",
        "from:" * 100,
        "rule:*",
    ):
        run(*site, "find", "--", hostile, status=1 if not hostile.startswith("rule") else 0)


def test_it_follows_what_comes(site: tuple[Path, Path]) -> None:
    state, folder = site
    first = make_entry(time=time.time() - 3600, subject="first lunch")
    append(state, first)
    program = Path(sys.executable).with_name("oborona")
    with subprocess.Popen(
        [program, "--state", state, "--set", f"paths.policy={folder}", "find", "subject:lunch", "--follow", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as following:  # fmt: skip
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["subject"] == "first lunch"
        later = make_entry(time=time.time(), subject="second lunch")
        append(state, make_entry(time=time.time(), subject="dinner"), later)
        told = json.loads(following.stdout.readline())
        assert (told["id"], told["subject"]) == (to_text(later.id), "second lunch")
        following.send_signal(signal.SIGINT)
        rest, errors = following.communicate(timeout=10)
    assert (rest, errors, following.returncode) == ("", "", 0), "each once, and an end without ado"


def test_explain_of_what_is_no_id_searches(site: tuple[Path, Path]) -> None:
    lunch, lottery = journal(*site, [LUNCH, LOTTERY])
    told = run(*site, "explain", "ann@a.example", status=1)
    assert lunch in told.stdout
    assert lottery in told.stdout
    assert "2 messages; oborona explain ID explains one" in told.stderr
    told = run(*site, "explain", "subject:won")
    assert "WORDS" in told.stdout
    assert lottery in told.stdout
    assert (
        "no message or refusal in the journal"
        in run(*site, "explain", "nobody@nowhere.example", status=66).stderr
    )


def test_the_next_page_and_a_day_without_its_file_are_told(site: tuple[Path, Path]) -> None:
    state, now = site[0], time.time()
    entries = [make_entry(time=now - 3 * 86_400 + place, subject="soup") for place in range(3)]
    append(state, *entries, make_entry(time=now, subject="soup"))
    told = run(*site, "find", "subject:soup", "--limit", "2", "--json")
    names = [json.loads(line)["id"] for line in told.stdout.splitlines()]
    assert names[1] == to_text(entries[2].id)
    older = run(*site, "find", "subject:soup", "--older", names[1], "--json")
    rest = [json.loads(line)["id"] for line in older.stdout.splitlines()]
    assert rest == [to_text(one.id) for one in reversed(entries[:2])]
    assert f"--older {names[1]}" not in older.stderr
    day = time.strftime("%Y-%m-%d", time.gmtime(now - 3 * 86_400))
    assert f"no sound search file: {day}" in told.stderr


def test_a_search_that_ends_in_time_says_how_it_goes_on(
    site: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    append(site[0], *[make_entry(time=now - place, subject="soup") for place in range(600)])
    clock = iter(range(10**9)).__next__
    monkeypatch.setattr(JournalSearch.__init__, "__kwdefaults__", {"clock": clock})
    told = run(*site, "find", "verdict:reject", "--within", "1s", status=1)
    assert "in 1 s; it goes on with --older " in told.stderr
    assert "is no ID" in run(*site, "find", "--older", "nonsense", status=2).output
