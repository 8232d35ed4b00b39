"""`messages.find`: rows and pages of a journal, and nothing of those beyond a scope."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.desk.asks.messages import MessageQuestion, find_messages
from oborona.desk.asks.newer_messages import NewerQuestion, count_newer
from oborona.desk.call import CALLS, CallError
from oborona.ident import to_text
from oborona.journal.refusal import Told
from oborona.people.caller import Caller
from oborona.types import Action, RuleHit, Stage
from tests.desk.messages_site import (
    DAN,
    EVE,
    JOE,
    TERMINAL,
    entry_of,
    fill,
    make_site,
    move,
    say,
    scoped,
)
from tests.journal.refusals import make_refusal


def ask(text: str = "", **more: object) -> MessageQuestion:
    return msgspec.convert({"query": text, **more}, MessageQuestion)


def test_the_asks_are_declared() -> None:
    import_module("oborona.desk.calls")
    assert {"messages.find", "messages.explain", "messages.story", "messages.mine"} <= CALLS.keys()
    assert all(CALLS[f"messages.{name}"].scoped for name in ("find", "explain", "story", "mine"))
    assert CALLS["messages.find"].person == ("person",)


def test_a_row_has_all_that_a_page_shows(tmp_path: Path) -> None:
    site, entry, now = make_site(tmp_path), entry_of(), time.time()
    first, _ = fill(
        site,
        entry,
        refusals=[
            make_refusal(time=now - 60),
            make_refusal(time=now - 30, client_ip="198.51.100.9"),
        ],
    )
    say(site, entry, JOE)
    move(site, entry, JOE)
    refused, message = find_messages(site, TERMINAL, ask()).hits
    assert (message.id, message.verdict, message.score) == (to_text(entry.id), "spam", 130.5)
    assert not message.refused
    assert [hit.name for hit in message.reasons] == ["MASS_TEXT"]
    assert message.recipients == (JOE, EVE)
    assert [(one.person, one.what, one.believed) for one in message.said] == [(JOE, "pardon", None)]
    assert [(one.recipient, one.target, one.state) for one in message.moves] == [
        (JOE, "INBOX", "done")
    ]
    assert refused.refused
    assert (refused.head, refused.times, refused.network) == (first, 2, "198.51.100.0/24")
    assert (refused.stage, refused.told) == (Stage.CONNECT, Told.RECIPIENT)
    assert refused.last == pytest.approx(now - 30)


def test_pages_follow_each_other_without_gap_or_repetition(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    entries = [entry_of(ago_s=1000 - number, subject=f"n{number}") for number in range(7)]
    fill(site, *entries)
    seen, older = list[str](), ""
    for _ in range(9):
        page = find_messages(site, TERMINAL, ask(limit=3, older=older))
        seen += [hit.id for hit in page.hits]
        older = page.older
        if not older:
            break
    assert seen == [to_text(entry.id) for entry in reversed(entries)]
    assert page.since == pytest.approx(entries[0].time)
    assert page.refusals_since is None


def test_a_search_whose_time_is_over_says_where_to_go_on(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, *(entry_of(ago_s=1000 - number / 10) for number in range(2000)))
    found, reached, pages = set[str](), "", 0
    while pages < 50:
        answer = find_messages(
            site, TERMINAL, ask("subject:nothing size>1", within=0.05, older=reached)
        )
        found |= {hit.id for hit in answer.hits}
        pages, reached = pages + 1, answer.reached
        assert answer.older == reached
        if not reached:
            break
    assert not reached
    assert not found


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"query": "verdict:good"}, "none of accept"),
        ({"since": "yesterday"}, "is no time"),
        ({"older": "x"}, "is no ID"),
        ({"query": "a " * 40}, "more than 30 words"),
    ],
)
def test_what_cannot_be_asked_is_told(tmp_path: Path, asked: dict[str, object], says: str) -> None:
    site = make_site(tmp_path)
    fill(site)
    with pytest.raises(CallError, match=says):
        find_messages(site, TERMINAL, msgspec.convert(asked, MessageQuestion))


@pytest.mark.parametrize(
    "asked", [{"limit": 501}, {"limit": 0}, {"within": 0}, {"query": "x" * 3000}, {"more": 1}]
)
def test_limits_are_of_the_question_itself(asked: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(asked, MessageQuestion)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        (f"to:{JOE} -lunch", JOE),
        (JOE, JOE),
        ("domain:x@y", "x@y"),
        ("rule:MASS_TEXT from:a@b.example", ""),
        ("score>", ""),
        ("verdict:none", ""),
    ],
)
def test_whose_mail_is_searched_is_named_for_the_audit_log(query: str, named: str) -> None:
    assert ask(query, person="somebody else").person == named


def test_damaged_rows_are_passed_over_and_hostile_texts_are_told(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    hostile = entry_of(subject="a\ud800\x1b[2J\u202e<script>", sender="\udcff@x.example")
    damaged = [entry_of(ago_s=500 + number) for number in range(3)]
    fill(site, hostile, *damaged)
    with closing(sqlite3.connect(site.state / state_files.JOURNAL)) as db, db:
        db.execute("UPDATE verdict SET recipients = 'no JSON' WHERE id = ?", (damaged[0].id,))
        db.execute("UPDATE verdict SET verdict = 'eaten' WHERE id = ?", (damaged[1].id,))
        db.execute("UPDATE verdict SET rules = '{}' WHERE id = ?", (damaged[2].id,))
    for caller in (TERMINAL, scoped(JOE)):
        answer = find_messages(site, caller, ask())
        (hit,) = answer.hits
        assert hit.id == to_text(hostile.id)
        assert "<script>" in hit.subject
        msgspec.json.encode(answer)


def test_a_scope_shows_its_recipients_alone(tmp_path: Path) -> None:
    site, now = make_site(tmp_path), time.time()
    shared = entry_of(
        recipients=(JOE, DAN),
        rules=(RuleHit(name="WORDS", score=1, say=f"{DAN} wrote <ann@example.org>, not {JOE}"),),
    )
    fill(
        site,
        shared,
        entry_of(recipients=(DAN,)),
        refusals=[
            make_refusal(time=now - 9, recipients=(DAN,)),
            make_refusal(time=now - 8, recipients=(JOE,), stage=Stage.RECIPIENT),
            make_refusal(time=now - 7, recipients=()),
            *(
                make_refusal(time=now - 6, recipients=(DAN,), stage=Stage.RECIPIENT)
                for _ in range(3)
            ),
        ],
    )
    say(site, shared, JOE, DAN)
    move(site, shared, JOE, DAN)
    for caller in (scoped(JOE), scoped(domains=["example.test"]), scoped(JOE, EVE)):
        answer = find_messages(site, caller, ask())
        refused, message = answer.hits
        assert message.recipients == refused.recipients == (JOE,)
        assert message.reasons[0].say == f"… wrote <ann@example.org>, not {JOE}"
        assert [one.person for one in message.said] == [JOE]
        assert [one.recipient for one in message.moves] == [JOE]
        assert (refused.times, refused.network, refused.head) == (1, "", refused.id)
        assert DAN not in msgspec.json.encode(answer).decode()
    assert len(find_messages(site, TERMINAL, ask()).hits) == 4


def test_a_scope_learns_nothing_by_asking_for_others(tmp_path: Path) -> None:
    """That a message had another recipient is not told by its being found."""
    site = make_site(tmp_path)
    fill(site, entry_of(recipients=(JOE, DAN)))
    joe = scoped(JOE)
    for query in (f"to:{DAN}", "dan", "domain:other.test", f"-to:{DAN} to:dan*"):
        assert find_messages(site, joe, ask(query)).hits == (), query
    assert len(find_messages(site, joe, ask(f"-to:{DAN}")).hits) == 1
    assert len(find_messages(site, joe, ask("to:joe")).hits) == 1


def test_others_messages_do_not_fill_a_scopes_page(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    mine = [entry_of(ago_s=5000 + number, recipients=(JOE,)) for number in range(3)]
    fill(site, *mine, *(entry_of(ago_s=number, recipients=(DAN,)) for number in range(700)))
    for caller in (scoped(JOE), scoped(JOE, EVE)):
        answer = find_messages(site, caller, ask(limit=3, within=20))
        assert [hit.id for hit in answer.hits] == [to_text(entry.id) for entry in mine]


def test_a_scope_of_nobody_finds_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of(), refusals=[make_refusal(time=time.time())])
    assert find_messages(site, scoped(), ask()).hits == ()


def test_days_that_are_read_whole_are_told(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of(ago_s=3 * 86_400), entry_of(ago_s=60))
    answer = find_messages(site, TERMINAL, ask("subject:nothing"))
    assert len(answer.read_whole) == 1
    assert answer.hits == ()


def test_verdicts_are_words_of_json(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of(verdict=Action.TEMPFAIL))
    answer = msgspec.json.decode(msgspec.json.encode(find_messages(site, TERMINAL, ask())))
    assert answer["hits"][0]["verdict"] == "tempfail"


def test_a_search_among_moved_mail_finds_what_was_moved_and_moved_back(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    entries = [entry_of(ago_s=1000 - number, subject=f"n{number}") for number in range(6)]
    fill(site, *entries, refusals=[make_refusal(time=time.time() - 60)])
    assert find_messages(site, TERMINAL, ask(moved=True)).hits == ()
    move(site, entries[1], JOE)
    move(site, entries[3], JOE, EVE)
    move(site, entries[4], EVE, undo=True)
    found = find_messages(site, TERMINAL, ask(moved=True))
    assert [hit.subject for hit in found.hits] == ["n4", "n3", "n1"]
    assert (found.older, found.reached) == ("", "")
    assert [hit.subject for hit in find_messages(site, scoped(JOE), ask(moved=True)).hits] == [
        "n3",
        "n1",
    ]
    assert [hit.subject for hit in find_messages(site, TERMINAL, ask("n3", moved=True)).hits] == [
        "n3"
    ]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
def test_moved_mail_is_found_whole_however_few_moves_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("oborona.desk.messages.search.MOST_MOVED", most)
    site = make_site(tmp_path)
    entries = [entry_of(ago_s=1000 - number, subject=f"n{number}") for number in range(4)]
    fill(site, *entries)
    for entry in entries:
        move(site, entry, JOE, EVE)
    seen, older = list[str](), ""
    for _ in range(20):
        page = find_messages(site, TERMINAL, ask(moved=True, older=older))
        seen += [hit.subject for hit in page.hits]
        older = page.older
        if not older:
            break
    assert seen == ["n3", "n2", "n1", "n0"]


def test_what_is_newer_than_a_message_is_counted_within_the_scope(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    old, newer, other = (
        entry_of(600, recipients=(JOE,)),
        entry_of(300, recipients=(JOE,)),
        entry_of(200, recipients=(DAN,)),
    )
    fill(site, old, newer, other, refusals=[make_refusal(time=time.time() - 100)])
    last = to_text(old.id)

    def number(who: Caller = TERMINAL, **more: str) -> int:
        asked = {"newer": last, **more}
        return count_newer(site, who, msgspec.convert(asked, NewerQuestion)).number

    assert number() == 3
    assert number(query="verdict:refused") == 1
    assert number(newer=to_text(other.id)) == 1
    assert number(scoped(DAN)) == 1
    with pytest.raises(CallError, match="is no ID"):
        number(newer="<b>")
    with pytest.raises(CallError, match="score"):
        number(query="score>x")
    found = find_messages(site, TERMINAL, ask(newer=last)).hits
    assert [hit.id for hit in found][1:] == [to_text(other.id), to_text(newer.id)]
