"""What is said becomes what it should: words, counts, people's own lists.

And is taken back exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona.feedback.events.model import EventChannel, EventDecision, EventKind, FeedbackEvent
from oborona.feedback.label import LabelKind, LabelState
from oborona.feedback.label_store import unpack_shingles
from oborona.feedback.processing import campaigns
from oborona.feedback.processing.campaign_review import LOOK_S
from oborona.feedback.processing.decision_effects import LEAST_COUNTED
from oborona.feedback.processing.event_processor import JOURNAL_S
from oborona.types import Action, Amounts, CountedPieces, Shingle
from tests.feedback.processing.scene import DAY, HAM, SPAM, Scene
from tests.feedback.words import letter

ANN, BOB = "ann@b.example", "bob@b.example"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.close()


def test_a_complaint_counts_teaches_and_acts_on_the_persons_own_list(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    event = scene.event(ident)
    assert (event.counts, event.own, event.rules, event.turn, event.done) == (True, True, (), 1, 1)
    word = scene.words.get(event.word)
    assert (word.person, word.journal, word.state) == (ANN, 7, LabelState.QUEUED)
    assert word.weight == pytest.approx(event.weight)
    assert 0 < word.weight < 1
    assert scene.counts(7) == Amounts(seen=1, complaints=1)
    entries = scene.lists.entries[ANN, event.word]
    assert {one.side for one in entries} == {"deny"}
    assert len(event.effects) == 1 + len(entries)


def test_the_same_again_is_a_duplicate_and_changes_nothing(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    first = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    second = scene.say(EventKind.COMPLAINT, ANN, ident=7)
    scene.run()
    assert scene.event(second).rules[0] == "DUPLICATE"
    assert not scene.event(second).own
    assert scene.counts(7) == Amounts(seen=1, complaints=1)
    assert list(scene.lists.entries) == [(ANN, scene.event(first).word)]
    ((number,),) = scene.words.rows("SELECT count(*) FROM word")
    assert number == 1


def test_the_opposite_of_the_same_person_takes_back_what_they_said(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    first = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    second = scene.say(EventKind.PARDON, ANN, ident=7, raw=SPAM)
    scene.run()
    assert scene.event(first).rules == ("OPPOSITE",)
    assert scene.words.get(1).state is LabelState.TAKEN_BACK
    assert scene.counts(7) == Amounts(seen=1)
    assert list(scene.lists.entries) == [(ANN, scene.event(second).word)]
    assert {one.side for one in scene.lists.entries[ANN, 2]} == {"allow"}


@pytest.mark.parametrize(
    ("before", "after"),
    [(EventKind.COMPLAINT, EventKind.PARDON), (EventKind.PARDON, EventKind.COMPLAINT)],
    ids=str,
)
def test_the_opposite_takes_back_the_report_that_counted_and_not_its_duplicate_alone(
    scene: Scene, before: EventKind, after: EventKind
) -> None:
    scene.deliver(7, HAM, ANN, verdict=Action.SPAM)
    scene.known_person(ANN, right=10)
    first, duplicate, last = (
        scene.say(what, ANN, ident=7, raw=HAM) for what in (before, before, after)
    )
    scene.run()
    withdrawn, repeated = scene.event(first), scene.event(duplicate)
    assert (withdrawn.counts, withdrawn.own, withdrawn.rules) == (False, False, ("OPPOSITE",))
    assert (repeated.counts, repeated.own, repeated.rules[0]) == (False, False, "DUPLICATE")
    assert list(scene.lists.entries) == [(ANN, scene.event(last).word)]
    (weight,) = scene.log.rows("SELECT weight FROM campaign_person WHERE what = ?", (before,))[0]
    assert weight == 0
    assert scene.counts(7).spam == int(before is EventKind.PARDON or not scene.event(last).counts)


def test_a_report_that_its_person_withdrew_is_not_accepted_again(scene: Scene) -> None:
    """Whoever decides it again may have read it before it was withdrawn."""
    scene.deliver(7, SPAM, ANN)
    first = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    last = scene.say(EventKind.PARDON, ANN, ident=7, raw=SPAM)
    scene.run()
    again = EventDecision(counts=False, own=True, rules=("TAKEN_BACK",))
    assert scene.log.decide([(first, again)], now=scene.now) == []
    scene.run()
    assert scene.event(first).rules == ("OPPOSITE",)
    assert list(scene.lists.entries) == [(ANN, scene.event(last).word)]


def test_what_nothing_shows_to_have_come_here_acts_on_nothing(scene: Scene) -> None:
    ident = scene.say(EventKind.COMPLAINT, ANN, raw=SPAM)
    scene.run()
    assert scene.event(ident).rules[0] == "UNSIGNED"
    assert scene.words.rows("SELECT count(*) FROM word") == [(0,)]
    assert not scene.lists.entries


def test_our_id_above_another_message_speaks_for_nothing(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    text = SPAM[: SPAM.index(b"\r\n\r\n")] + b"\r\n\r\n" + HAM[HAM.index(b"\r\n\r\n") + 4 :]
    for raw in (HAM, text):
        ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=raw)
        scene.run()
        assert "UNSIGNED" in scene.event(ident).rules
    assert scene.log.said(7) == []
    assert scene.counts(7) == Amounts(seen=1)
    assert not scene.lists.entries
    ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    assert scene.event(ident).counts


def test_who_was_no_recipient_is_not_heard(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    ident = scene.say(EventKind.COMPLAINT, BOB, ident=7, raw=SPAM)
    scene.run()
    assert scene.event(ident).rules == ("NOT_RECIPIENT",)
    assert not scene.lists.entries


def test_an_id_alone_counts_and_teaches_nothing(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, way=EventChannel.HTTP)
    scene.run()
    assert scene.words.get(scene.event(ident).word).state is LabelState.COUNTED
    assert scene.counts(7) == Amounts(seen=1, complaints=1)
    scene.log.decide([(ident, EventDecision(counts=False, own=False, say="test"))], now=scene.now)
    scene.run()
    assert scene.counts(7) == Amounts(seen=1)
    assert not scene.lists.entries


def test_what_is_not_believed_for_all_acts_on_the_persons_own_mail(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    scene.lists.wanted.add(ANN)
    ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    event = scene.event(ident)
    assert (event.counts, event.own, event.rules) == (False, True, ("ASKED_FOR",))
    assert scene.words.get(event.word).weight == 0
    assert scene.counts(7) == Amounts(seen=1)
    assert scene.lists.entries[ANN, event.word]


def test_what_is_taken_back_later_leaves_the_persons_own_list(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    first = scene.event(ident).word
    scene.log.decide(
        [(ident, EventDecision(counts=False, own=True, rules=("REVISED",), say="fraud"))],
        now=scene.now,
    )
    scene.run()
    event = scene.event(ident)
    assert scene.words.get(first).state is LabelState.TAKEN_BACK
    assert scene.words.get(event.word).weight == 0
    assert scene.counts(7) == Amounts(seen=1)
    assert list(scene.lists.entries) == [(ANN, event.word)]
    assert [one.turn for one in scene.log.decisions(ident)] == [1]
    scene.log.decide([(ident, EventDecision(counts=True, own=True, weight=0.5))], now=scene.now)
    scene.run()
    assert scene.counts(7) == Amounts(seen=1, complaints=1)


def test_a_pardon_takes_back_what_the_verdict_counted_once_for_all(scene: Scene) -> None:
    scene.deliver(7, HAM, ANN, BOB, verdict=Action.SPAM)
    assert scene.counts(7) == Amounts(seen=1, spam=1)
    for person in (ANN, BOB):
        scene.known_person(person, right=10)
    first = [scene.say(EventKind.PARDON, person, ident=7, raw=HAM) for person in (ANN, BOB)]
    scene.run()
    assert [scene.event(one).rules for one in first] == [(), ()]
    assert scene.counts(7) == Amounts(seen=1, pardons=2)
    for left, one in zip((1, 0), first, strict=True):
        scene.log.decide([(one, EventDecision(counts=False, own=False))], now=scene.now)
        scene.run()
        assert scene.counts(7) == Amounts(seen=1, spam=int(not left), pardons=left)


def test_what_was_found_after_the_answer_is_forgiven_with_the_rest(scene: Scene) -> None:
    scene.deliver(7, HAM, ANN, verdict=Action.SPAM)
    late = (Shingle(63, 5),)
    scene.counters.add(CountedPieces(shingles=late, pairs=()), Amounts(seen=1, spam=1), scene.now)
    scene.journal.known[8] = msgspec.structs.replace(scene.journal.known[7], id=8, shingles=late)
    scene.journal.known[7] = msgspec.structs.replace(
        scene.journal.known[7], late=late, late_time=scene.now
    )
    scene.known_person(ANN, right=10)
    scene.say(EventKind.PARDON, ANN, ident=7, raw=HAM)
    scene.run()
    assert scene.counts(8) == Amounts(seen=1)


def test_a_trap_counts_as_one_whoever_sends_it_how_often(scene: Scene) -> None:
    for _ in range(2):
        scene.say(EventKind.TRAP, raw=SPAM, way=EventChannel.TRAP)
    scene.run()
    assert [one.counts for one in scene.log.last(2)] == [True, True]
    assert scene.words.rows("SELECT source, weight, count(*) FROM word") == [("trap", 1.0, 1)]


def test_a_trap_hit_that_is_no_more_leaves_the_other_of_the_same_message(scene: Scene) -> None:
    first, second = (scene.say(EventKind.TRAP, raw=SPAM, way=EventChannel.TRAP) for _ in range(2))
    scene.run()
    scene.log.decide([(first, EventDecision(counts=False, own=False))], now=scene.now)
    scene.run()
    assert scene.words.rows("SELECT event, state FROM word ORDER BY id") == [
        (first, "taken-back"),
        (second, "queued"),
    ]
    assert scene.event(second).word == 2


def test_reads_and_deletions_count_once_for_each_person(scene: Scene) -> None:
    scene.deliver(7, HAM, ANN, BOB)
    name = scene.journal.known[7].message_id
    for person in (ANN, ANN, BOB):
        scene.say(EventKind.READ, person, way=EventChannel.MAILBOX, message_id=name)
    scene.say(EventKind.DELETED, ANN, way=EventChannel.MAILBOX, message_id="<unknown@x.example>")
    scene.run()
    assert scene.counts(7) == Amounts(seen=1, reads=2)
    assert [(one.person, one.what, one.believed) for one in scene.log.said(7)] == [
        (ANN, EventKind.READ, True),
        (ANN, EventKind.READ, False),
        (BOB, EventKind.READ, True),
    ]


def test_a_read_of_somebody_whom_nobody_believes_counts_no_more(scene: Scene) -> None:
    scene.deliver(7, HAM, ANN)
    read = scene.say(EventKind.READ, ANN, ident=7, way=EventChannel.MAILBOX)
    scene.run()
    assert scene.counts(7) == Amounts(seen=1, reads=1)
    decided = EventDecision(
        counts=True, own=False, weight=LEAST_COUNTED / 2, say="little is believed of them"
    )
    scene.log.decide([(read, decided)], now=scene.now)
    scene.run()
    assert scene.counts(7) == Amounts(seen=1)


def test_a_campaign_that_several_complain_of_proposes_signatures_once(scene: Scene) -> None:
    people = [f"p{number}@b.example" for number in range(4)]
    scene.deliver(7, SPAM, *people)
    for person in people:
        scene.say(EventKind.COMPLAINT, person, ident=7, raw=SPAM)
    scene.run()
    scene.pass_(60)
    assert scene.proposer.asked == [(4, "4 agree in campaign 1")]


def test_a_trap_hit_takes_pardons_back_and_settles_who_was_right(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN, BOB)
    for person in (ANN, BOB):
        scene.known_person(person, right=10)
    pardon = scene.say(EventKind.PARDON, ANN, ident=7, raw=SPAM)
    complaint = scene.say(EventKind.COMPLAINT, BOB, ident=7, raw=SPAM)
    scene.run()
    assert (scene.event(pardon).counts, scene.event(complaint).counts) == (True, True)
    scene.now += 60
    scene.say(EventKind.TRAP, raw=SPAM.replace(b"spam.1@", b"spam.2@"), way=EventChannel.TRAP)
    scene.pass_(60)
    assert scene.event(pardon).rules == ("REVISED",)
    assert scene.event(pardon).own, "it stays on the person's own list"
    records = scene.log.rows("SELECT person, right, wrong FROM person ORDER BY person")
    assert records == [(ANN, 10, 1), (BOB, 11, 0)]
    assert scene.counts(7) == Amounts(seen=1, complaints=1, traps=1)


def test_a_brigade_of_bought_accounts_changes_nothing(scene: Scene) -> None:
    people = [f"p{number}@b.example" for number in range(10)]
    bought = [f"x{number}@b.example" for number in range(200)]
    scene.deliver(7, SPAM, *people, *bought)
    for person in people:
        scene.say(EventKind.COMPLAINT, person, ident=7)
    for person in bought:
        scene.say(EventKind.PARDON, person, ident=7)
    scene.run()
    scene.pass_(60)
    assert scene.counts(7) == Amounts(seen=1, complaints=10)
    assert {one.rules[0] for one in scene.log.last(200)} == {"NO_PAST"}
    assert len(scene.lists.entries) == 210, "their own mail is theirs"


def test_raw_copies_and_events_are_forgotten_in_time(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    ident = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    read = scene.say(EventKind.READ, ANN, ident=7, way=EventChannel.MAILBOX)
    scene.run()
    assert scene.log.raw(ident) == SPAM
    scene.pass_(8 * DAY)
    assert scene.log.raw(ident) == b""
    assert [one.id for one in scene.log.last(9)] == [ident]
    with pytest.raises(KeyError):
        scene.log.get(read)
    scene.pass_(400 * DAY)
    assert scene.log.last(9) == []


def test_events_that_nothing_can_be_made_of_do_not_stop_those_behind(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    hostile = [
        b"\0" * 100,
        b"\xff\xfe" * 50_000,
        b"Content-Type: multipart/mixed; boundary=a\r\n\r\n" + b"--a\r\n" * 20_000,
        SPAM[:40],
        b"",
    ]
    idents = [scene.say(EventKind.COMPLAINT, ANN, raw=raw) for raw in hostile]
    last = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    assert not any(scene.event(one).counts for one in idents)
    assert scene.event(last).counts


def test_a_flood_that_nobody_believes_hides_nothing_that_is_believed(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    complaint = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    (campaign,) = scene.log.rows("SELECT campaign FROM event WHERE id = ?", (complaint,))[0]
    with scene.log.transaction() as db:
        for number in range(campaigns.MOST_TOLD + 10):
            db.execute(
                "INSERT INTO event (what, way, time, heard, person, message_id, mailbox, source, "
                "campaign, decided, counts, rules)"
                " VALUES ('pardon', 'sieve', ?1, ?1, ?2, '', '', '', ?3, ?1, 0, ?4)",
                (
                    scene.now,
                    f"x{number}",
                    campaign,
                    "BRIGADE" if number % 2 else "NO_PAST UNSIGNED",
                ),
            )
        found = campaigns.events_of(db, campaign, lambda _: 0)
    assert complaint in [one.id for one in found]
    assert len(found) == 1 + (campaigns.MOST_TOLD + 10) // 2, "whoever it was that spoke unsigned"
    assert [one.id for one in found] == sorted(one.id for one in found)


def test_a_word_waits_for_the_entry_of_its_message_and_not_for_ever(scene: Scene) -> None:
    """A trap's word is on the disk before the answer, the journal's entry behind it."""
    ident = scene.say(EventKind.TRAP, ident=7, raw=SPAM, way=EventChannel.TRAP)
    behind = scene.say(EventKind.COMPLAINT, ANN, ident=8)
    scene.run()
    assert scene.event(ident).decided is None
    scene.deliver(7, SPAM)
    network = Shingle(type=15, hash=15)  # of the envelope: the message itself does not say it
    entry = scene.journal.known[7]
    scene.journal.known[7] = msgspec.structs.replace(entry, shingles=(*entry.shingles, network))
    scene.run()
    ((packed_pieces,),) = scene.words.rows("SELECT pieces FROM counted")
    assert network in unpack_shingles(packed_pieces)
    assert scene.event(behind).decided is None
    scene.pass_(JOURNAL_S)
    assert scene.event(behind).rules == ("UNREADABLE",)


def test_what_a_fault_of_ours_makes_of_one_event_stops_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ident in (7, 8):
        scene.deliver(ident, letter(ident, LabelKind.SPAM), ANN)
    idents = [
        scene.say(EventKind.COMPLAINT, ANN, ident=one, raw=letter(one, LabelKind.SPAM))
        for one in (7, 8)
    ]
    say = scene.lists.say

    def fails(person: str, word: int, *rest: Any, **more: Any) -> None:
        if word == 1:
            raise RuntimeError("a fault")
        say(person, word, *rest, **more)

    monkeypatch.setattr(scene.lists, "say", fails)
    scene.run()
    first, second = map(scene.event, idents)
    assert (first.done, second.done) == (1, 1)
    assert "RuntimeError" in first.effects[0]
    assert (ANN, second.word) in scene.lists.entries


def test_a_campaign_that_a_fault_of_ours_meets_stops_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        scene.proposer,
        "propose",
        lambda *_: (_ for _ in ()).throw(RuntimeError("a fault")),
        raising=True,
    )
    scene.deliver(7, SPAM, *(f"{one}@b.example" for one in range(5)))
    idents = [
        scene.say(EventKind.COMPLAINT, f"{one}@b.example", ident=7, raw=SPAM) for one in range(5)
    ]
    scene.run()
    scene.pass_(LOOK_S + 1)
    assert all(scene.event(one).counts for one in idents)
    assert scene.log.rows("SELECT count(*) FROM campaign WHERE changed") == [(0,)]


def test_a_clock_that_was_set_back_holds_no_campaign_up(scene: Scene) -> None:
    scene.deliver(7, SPAM, ANN)
    scene.known_person(ANN)
    scene.now += 400 * DAY
    ident = scene.say(EventKind.COMPLAINT, BOB, raw=SPAM)
    scene.pass_(LOOK_S + 1)
    assert scene.event(ident).campaign
    scene.now -= 400 * DAY
    scene.believer = scene.begun()
    scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.pass_(LOOK_S + 1)
    scene.pass_(LOOK_S + 1)
    assert scene.log.rows("SELECT count(*) FROM campaign WHERE changed") == [(0,)]


@pytest.mark.parametrize("before", [EventKind.COMPLAINT, EventKind.PARDON])
def test_what_another_site_reports_in_a_persons_name_leaves_their_own_word(
    scene: Scene, before: EventKind
) -> None:
    """Whoever got the message, too, can name them in a report."""
    scene.deliver(7, SPAM, ANN, "eve@bad.example")
    ident = (
        scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM) if before is EventKind.PARDON else 0
    )
    scene.run()
    scene.say(before, ANN, ident=7, raw=SPAM, way=EventChannel.REPORT)
    scene.run()
    ident = ident or scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    event = scene.event(ident)
    assert (event.own, event.rules) == (True, ())
    assert (ANN, event.word) in scene.lists.entries


def test_what_was_said_before_and_told_later_does_not_undo_what_was_said_since(
    scene: Scene,
) -> None:
    """A complaint that lay in the spool comes behind the pardon that the socket took."""
    scene.deliver(7, SPAM, ANN)
    scene.known_person(ANN)
    pardon = scene.say(EventKind.PARDON, ANN, ident=7, raw=SPAM)
    told_late = FeedbackEvent(
        what=EventKind.COMPLAINT,
        way=EventChannel.SIEVE,
        time=scene.now - 60,
        person=ANN,
        ident=7,
        raw=SPAM,
    )
    ident = scene.log.add([told_late], now=scene.now)[0].id
    scene.run()
    assert scene.event(ident).rules == ("OPPOSITE",)
    assert list(scene.lists.entries) == [(ANN, scene.event(pardon).word)]
    scene.now -= DAY  # of a clock that was set back, what is said now is the last word
    last = scene.say(EventKind.COMPLAINT, ANN, ident=7, raw=SPAM)
    scene.run()
    assert list(scene.lists.entries) == [(ANN, scene.event(last).word)]
