"""What people said of which message: by word, by an answer, and by what they left where it lay."""

from __future__ import annotations

from oborona.daemon.final_trainer.labels import (
    ANSWERED_S,
    LEAST_WORDS,
    LOOKED_S,
    SETTLED_S,
    LabelSign,
    PeoplesActions,
    evenly,
    spoken,
)
from oborona.feedback.label import JournaledLabel, LabelKind
from oborona.journal.placements import MessagePlacement

NOW = 1_780_000_000.0
CAME = NOW - 10 * 86_400
ANN, BOB = "ann@site.example", "bob@site.example"
AUTHOR = "carol@far.example"


def said(
    number: int,
    person: str,
    kind: LabelKind = LabelKind.SPAM,
    *,
    weight: float = 1.0,
    at: float = CAME,
) -> JournaledLabel:
    return JournaledLabel(number, kind, person, weight, at)


def placed(*people: str, filed: bool = False, came: float = CAME) -> MessagePlacement:
    return MessagePlacement(99, came, filed, people, "")


def actions(
    *labels: JournaledLabel,
    opened: tuple[tuple[int, str, float], ...] = (),
    contacts: dict[str, dict[str, float]] | None = None,
) -> PeoplesActions:
    return PeoplesActions(labels, opened, contacts or {}, now=NOW)


def test_words_are_weighed_and_a_tie_says_nothing() -> None:
    ham = LabelKind.HAM
    assert spoken([said(1, ANN), said(2, ANN), said(2, BOB, ham), said(3, ANN, weight=0.0)]) == {
        1: True
    }
    assert spoken([said(1, ANN, weight=0.3), said(1, BOB, ham, weight=0.7)]) == {1: False}


def test_what_a_reporter_left_in_the_inbox_is_good() -> None:
    reporter = [said(number, ANN, at=CAME + 3600) for number in range(LEAST_WORDS)]
    label = actions(*reporter).label(placed(ANN, BOB), AUTHOR)
    assert label is not None
    assert (label.spam, label.sign) == (False, LabelSign.LEFT)
    assert actions(*reporter).label(placed(BOB), AUTHOR) is None, "somebody else says nothing"
    assert actions(*reporter[1:]).label(placed(ANN), AUTHOR) is None, "one report is no habit"
    # of what lies in the spam folder a reporter says nothing: that takes pardons
    assert actions(*reporter).label(placed(ANN, filed=True), AUTHOR) is None
    pardons = [said(number, ANN, LabelKind.HAM, at=CAME + 3600) for number in range(LEAST_WORDS)]
    label = actions(*pardons).label(placed(ANN, filed=True), AUTHOR)
    assert label is not None
    assert label.spam
    assert actions(*pardons).label(placed(ANN), AUTHOR) is None


def test_silence_counts_only_of_who_was_there_after_it_came() -> None:
    long_ago = [said(number, ANN, at=CAME - 1) for number in range(LEAST_WORDS)]
    assert actions(*long_ago).label(placed(ANN), AUTHOR) is None
    too_late = [said(number, ANN, at=CAME + LOOKED_S + 1) for number in range(LEAST_WORDS)]
    assert actions(*too_late).label(placed(ANN), AUTHOR) is None
    opening = ((5, ANN, CAME + 60.0),)
    assert actions(*long_ago, opened=opening).label(placed(ANN), AUTHOR) is not None
    fresh = NOW - SETTLED_S + 60
    soon = [said(number, ANN, at=fresh + 10) for number in range(LEAST_WORDS)]
    assert actions(*soon).label(placed(ANN, came=fresh), AUTHOR) is None, "it may yet be reported"


def test_who_wrote_back_to_a_stranger_says_that_the_message_was_good() -> None:
    label = actions(contacts={ANN: {AUTHOR: CAME + 60}}).label(placed(ANN), AUTHOR)
    assert label is not None
    assert (label.spam, label.sign) == (False, LabelSign.ANSWERED)
    for when in (CAME - 60, CAME + ANSWERED_S + 60):
        assert actions(contacts={ANN: {AUTHOR: when}}).label(placed(ANN), AUTHOR) is None
    assert actions(contacts={ANN: {"x@y.example": CAME + 60}}).label(placed(ANN), AUTHOR) is None


def test_some_are_taken_evenly() -> None:
    assert list(evenly(range(10), 3)) == [0, 3, 6]
    assert list(evenly(range(3), 10)) == [0, 1, 2]
    assert list(evenly(range(3), 0)) == []
    assert list(evenly((), 5)) == []
