"""`messages.explain` and `messages.story`: all that is known of a message, for whom it is."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.desk.asks.messages import ReferenceQuestion, explain_message, tell_message_story
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.messages.story_event import StoryKind
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.ident import to_text
from oborona.journal.entry import CopyDelivery, JournalEntry
from oborona.types import Action, Finding, RuleHit
from tests.cli.journaled import LINKS, LOTTERY, WORDS, journal
from tests.desk.messages_site import (
    DAN,
    EVE,
    JOE,
    TERMINAL,
    entry_of,
    fill,
    late_of,
    make_site,
    move,
    say,
    scoped,
)
from tests.journal.refusals import make_refusal

ABSENT = "0000000000000"


def what(text: str, within: float = 2) -> ReferenceQuestion:
    return ReferenceQuestion(what=text, within=within)


@pytest.fixture
def judged(tmp_path: Path) -> tuple[Site, str]:
    site = make_site(tmp_path, LINKS + WORDS)
    (ident,) = journal(site.state, tmp_path / "policy", [LOTTERY])
    return site, ident


@pytest.fixture
def told(tmp_path: Path) -> tuple[Site, JournalEntry]:
    """A message to two, with all that can follow it."""
    site = make_site(tmp_path)
    entry = entry_of(
        recipients=(JOE, DAN),
        facts={
            "recipient": DAN,
            "recipients": 2,
            "spf_result": "pass",
            "author": "ann@example.org",
        },
        rules=(RuleHit(name="WORDS", score=9, say=f"for {DAN} and {JOE}"),),
        findings=(Finding("names", f"of {DAN.upper()}"),),
    )
    tried = entry_of(ago_s=900, verdict=Action.TEMPFAIL, recipients=(JOE,))
    fill(
        site,
        tried,
        entry,
        late=[late_of(entry)],
        went=[
            CopyDelivery(id=entry.id, recipient=name, spam=name == JOE, time=entry.time + 1)
            for name in (JOE, DAN)
        ],
        refusals=[make_refusal(time=entry.time - 100, recipients=(JOE,))],
    )
    say(site, entry, JOE, DAN)
    move(site, entry, JOE, DAN, undo=True)
    return site, entry


def test_then_and_now_proof_and_names_stand_in_one_answer(judged: tuple[Site, str]) -> None:
    site, ident = judged
    answer = explain_message(site, TERMINAL, what(ident))
    message = answer.message
    assert message is not None
    assert message.then is not None
    assert message.now is not None
    assert (message.then.score, message.now.score) == (110, 110)
    assert answer.proof is not None
    assert [one.method for one in answer.proof.methods] == ["spf", "dkim", "dmarc", "arc", "iprev"]
    named = {(one.kind, one.name) for one in answer.who}
    assert {("sender", "ann@a.example"), ("client", "198.51.100.7")} <= named
    assert {("link", "one.example"), ("link", "two.example")} <= named
    msgspec.json.encode(answer)


@pytest.mark.parametrize("form", ["id", "signed", "queue", "message", "bare", "words"])
def test_whatever_names_it_finds_it(told: tuple[Site, JournalEntry], form: str) -> None:
    site, entry = told
    ident = to_text(entry.id)
    text = {
        "id": ident.lower(),
        "signed": f"{ident}.0123456789ABCDEF",
        "queue": entry.queue_id,
        "message": entry.message_id,
        "bare": entry.message_id.strip("<>"),
        "words": "verdict:spam",
    }[form]
    answer = explain_message(site, TERMINAL, what(f" {text} "))
    if form in ("message", "bare"):  # as was the one that was put off
        assert {hit.id for hit in answer.candidates} >= {ident}
        return
    assert answer.message is not None
    assert answer.message.id == ident
    assert [(one.recipient, one.junk) for one in answer.copies] == [(DAN, False), (JOE, True)] or [
        (one.recipient, one.junk) for one in answer.copies
    ] == [(JOE, True), (DAN, False)]
    assert {one.person for one in answer.message.feedback} == {JOE, DAN}


def test_a_reference_of_a_refusal_is_explained(tmp_path: Path) -> None:
    site, now = make_site(tmp_path), time.time()
    first, second = fill(
        site,
        refusals=[
            make_refusal(time=now - 9, recipients=(DAN,)),
            make_refusal(time=now - 5, recipients=(JOE,), sender="eve@example.org"),
        ],
    )
    answer = explain_message(site, TERMINAL, what(second))
    assert answer.refusal is not None
    assert (answer.refusal.times, answer.refusal.named) == (2, 2)
    mine = explain_message(site, scoped(JOE), what(second)).refusal
    assert mine is not None
    assert (mine.times, mine.named, mine.network, mine.recipients) == (1, 1, "", (JOE,))
    assert mine.first == mine.last == mine.time
    (event,) = tell_message_story(site, scoped(JOE), what(second)).events
    assert (event.kind, event.times) == (StoryKind.REFUSED, 1)
    for ask in (explain_message, tell_message_story):
        with pytest.raises(NotFoundError):
            ask(site, scoped(JOE), what(first))


@pytest.mark.parametrize(
    "text", [ABSENT, "nobody@nowhere.example", "4Xk2mT0gZ9y", "\0", "💌" * 200]
)
def test_what_is_not_there_is_told_so(tmp_path: Path, text: str) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of())
    with pytest.raises(NotFoundError):
        explain_message(site, TERMINAL, what(text))


def test_words_that_cannot_be_asked_and_a_journal_that_is_away_are_told(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    with pytest.raises(StoreError, match="there is no journal"):
        explain_message(site, TERMINAL, what(ABSENT))
    fill(site)
    with pytest.raises(CallError, match="none of accept"):
        explain_message(site, TERMINAL, what("verdict:good"))


def test_what_lies_beyond_a_scope_is_not_there(told: tuple[Site, JournalEntry]) -> None:
    site, entry = told
    for text in (to_text(entry.id), entry.queue_id, entry.message_id):
        for ask in (explain_message, tell_message_story):
            with pytest.raises(NotFoundError, match="no message or refusal has that id"):
                ask(site, scoped(EVE), what(text))


def test_a_scope_sees_its_own_part_alone(told: tuple[Site, JournalEntry]) -> None:
    site, entry = told
    for ask in (explain_message, tell_message_story):
        answer = msgspec.json.encode(ask(site, scoped(JOE), what(to_text(entry.id)))).decode()
        assert DAN not in answer.lower()
        assert JOE in answer
    explanation = explain_message(site, scoped(JOE), what(to_text(entry.id))).message
    assert explanation is not None
    assert explanation.then is not None
    assert explanation.recipients == (JOE,)
    assert explanation.then.facts.keys() >= {"spf.result", "author"}
    assert "recipients" not in explanation.then.facts, "how many they are"
    assert explanation.then.rules[0].say == f"for … and {JOE}"
    assert [one.person for one in explanation.feedback] == [JOE]
    assert {one.recipient for one in explanation.moves} == {JOE}


def test_evidence_that_was_purged_leaves_its_then_alone(told: tuple[Site, JournalEntry]) -> None:
    site, entry = told
    with closing(sqlite3.connect(site.state / state_files.JOURNAL)) as db, db:
        db.execute("DELETE FROM evidence")
    answer = explain_message(site, TERMINAL, what(to_text(entry.id)))
    assert answer.message is not None
    assert answer.message.now is None
    assert answer.message.no_now
    assert answer.message.then is not None
    assert answer.message.then.score == 130.5
    assert tell_message_story(site, TERMINAL, what(to_text(entry.id))).events


@pytest.mark.parametrize(
    "damage",
    [
        "verdict = 'eaten'",
        "score = 'x'",
        "recipients = '[1]'",
        "rules = '['",
        "time = 'noon'",
        "time = 1e300",
    ],
)
def test_a_damaged_row_is_told_and_raises_nothing_else(
    told: tuple[Site, JournalEntry], damage: str
) -> None:
    site, entry = told
    with closing(sqlite3.connect(site.state / state_files.JOURNAL)) as db, db:
        db.execute(f"UPDATE verdict SET {damage} WHERE id = ?", (entry.id,))
    for ask in (explain_message, tell_message_story):
        try:
            msgspec.json.encode(ask(site, TERMINAL, what(to_text(entry.id))))
        except StoreError as error:
            assert "is damaged" in str(error)  # noqa: PT017 - either is right


@pytest.mark.parametrize(
    "damage", ["late SET rules = '{'", "late SET time = 'x'", "went SET time = 'x'"]
)
def test_damage_in_what_followed_is_a_notice(told: tuple[Site, JournalEntry], damage: str) -> None:
    site, entry = told
    with closing(sqlite3.connect(site.state / state_files.JOURNAL)) as db, db:
        db.execute(f"UPDATE {damage}")
    assert explain_message(site, TERMINAL, what(to_text(entry.id))).message is not None
    assert any("what followed" in notice for notice in site.notices)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [state_files.EVENTS, state_files.MOVES])
def test_a_store_beside_it_that_is_damaged_is_a_notice(
    told: tuple[Site, JournalEntry], name: str
) -> None:
    site, entry = told
    for file in site.state.glob(f"{name}*"):
        file.unlink()
    (site.state / name).write_bytes(b"no database at all" * 500)
    assert explain_message(site, TERMINAL, what(to_text(entry.id))).message is not None
    assert tell_message_story(site, TERMINAL, what(to_text(entry.id))).events
    assert any(name in notice for notice in site.notices)  # type: ignore[attr-defined]


def test_hostile_texts_are_told_as_json_can_carry_them(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    entry = entry_of(
        subject="\ud800<script>",
        sender="\udcff@x.example",
        facts={"list_id": "\udfff", "links.domains": ["\ud801.example", "x" * 5000]},
        recipients=(JOE, "\udc80@other.test"),
    )
    fill(site, entry)
    for caller in (TERMINAL, scoped(JOE)):
        for ask in (explain_message, tell_message_story):
            answer = msgspec.json.encode(ask(site, caller, what(to_text(entry.id))))
            assert b"other.test" not in answer or caller is TERMINAL


def test_a_story_goes_from_the_refusals_before_to_the_move_back(
    told: tuple[Site, JournalEntry],
) -> None:
    site, entry = told
    story = tell_message_story(site, TERMINAL, what(to_text(entry.id)))
    assert story.id == to_text(entry.id)
    times = [event.time for event in story.events]
    assert times == sorted(times)
    kinds = [event.kind.value for event in story.events if event.who in ("", JOE, f"{JOE} {DAN}")]
    assert kinds == [
        "refused", "refused", "judged", "delivered", "late", "said", "looked", "moved", "undone",
    ]  # fmt: skip
    first, second, judged = story.events[:3]
    assert (first.verdict, second.verdict, judged.verdict) == ("tempfail", "reject", "spam")
    moved = next(one for one in story.events if one.kind is StoryKind.MOVED and one.who == JOE)
    assert (moved.where, moved.taken_back, moved.can_undo) == ("INBOX", False, True)
    delivered = {one.who: one.where for one in story.events if one.kind is StoryKind.DELIVERED}
    assert delivered == {JOE: "Junk", DAN: "INBOX"}


def test_earlier_tries_are_known_by_their_message_id_however_little_time_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(tmp_path)
    entry = entry_of(recipients=(JOE,), message_id="<one@example.org>")
    same = {"verdict": Action.TEMPFAIL, "recipients": (JOE,), "client_ip": "203.0.113.77"}
    first = entry_of(ago_s=900, message_id="<one@example.org>", **same)
    fill(site, first, entry_of(ago_s=800, message_id="<two@example.org>", **same), entry)

    def told() -> tuple[list[str], float | None]:
        story = tell_message_story(site, TERMINAL, what(to_text(entry.id)))
        refused = [event.ref for event in story.events if event.kind is StoryKind.REFUSED]
        return refused, story.before_since

    assert told() == ([to_text(first.id)], None)  # from another network: for its Message-ID
    monkeypatch.setattr("oborona.desk.messages.story.SEARCH_S", 0.0)
    refused, since = told()
    assert refused == [to_text(first.id)]
    assert since is None or since <= entry.time


def test_several_that_may_be_meant_are_named(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of(), entry_of(ago_s=9), entry_of(ago_s=5, recipients=(DAN,)))
    for ask in (explain_message, tell_message_story):
        assert len(ask(site, TERMINAL, what("MASS_TEXT")).candidates) == 3
        assert len(ask(site, scoped(JOE), what("MASS_TEXT")).candidates) == 2
