"""Rules one by one, each beside what it just lets pass; and what holds for all of them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.antifraud.belief import believe
from oborona.feedback.antifraud.model import (
    NEWCOMER,
    CampaignRecord,
    DailyThresholds,
    EventCircumstances,
    PersonRecord,
)
from oborona.feedback.antifraud.rules import ANYBODY, NAMES, RULES
from oborona.feedback.antifraud.standing import DAY_S, weight_of
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.types import Action

NOW = 1_780_000_000.0
OLD = PersonRecord(first=NOW - 400 * DAY_S, complaints=2)
PROVEN = PersonRecord(first=NOW - 400 * DAY_S, complaints=9, right=8, weight=weight_of(8, 0))
NEW = PersonRecord()
COMPLAINT = EventCircumstances(
    what=EventKind.COMPLAINT, way=EventChannel.SIEVE, time=NOW, person="a@b.example", signed=True, delivered=NOW - 60,
    verdict=Action.ACCEPT, recipient=True, record=OLD,
)  # fmt: skip
PARDON = msgspec.structs.replace(COMPLAINT, what=EventKind.PARDON, verdict=Action.SPAM)
READ = msgspec.structs.replace(COMPLAINT, what=EventKind.READ)

Change = dict[str, object]


def rules(plain: EventCircumstances, change: Change) -> tuple[str, ...]:
    return believe(msgspec.structs.replace(plain, **change)).rules


@pytest.mark.parametrize("plain", [COMPLAINT, PARDON, READ])
def test_an_ordinary_word_is_believed_with_the_weight_of_its_person(
    plain: EventCircumstances,
) -> None:
    found = believe(plain)
    assert (found.counts, found.weight, found.rules, found.say, found.takes_back) == (
        True,
        NEWCOMER,
        (),
        "",
        False,
    )


@pytest.mark.parametrize(
    ("rule", "plain", "fires", "not_yet"),
    [
        ("DUPLICATE", COMPLAINT, {"earlier": EventKind.COMPLAINT}, {"earlier": EventKind.PARDON}),
        ("DUPLICATE", READ, {"earlier": EventKind.READ}, {"earlier": None}),
        ("UNSIGNED", COMPLAINT, {"signed": False, "recipient": False}, {}),
        ("UNSIGNED", COMPLAINT, {"way": EventChannel.COMMAND, "signed": False}, {"way": EventChannel.COMMAND}),
        ("NOT_RECIPIENT", READ, {"recipient": False}, {}),
        ("NOT_RECIPIENT", COMPLAINT, {"recipient": False}, {"recipient": False, "person": "", "way": EventChannel.REPORT}),
        ("LATE", COMPLAINT, {"delivered": NOW - 15 * DAY_S}, {"delivered": NOW - 13 * DAY_S}),
        ("LATE", COMPLAINT, {"delivered": NOW - 15 * DAY_S}, {"delivered": 0.0}),
        ("WITHDRAWN", PARDON, {"earlier": EventKind.COMPLAINT, "verdict": Action.ACCEPT}, {"earlier": EventKind.COMPLAINT}),
        (
            "ABNORMAL",
            COMPLAINT,
            {"record": msgspec.structs.replace(OLD, complaints_today=20)},
            {"record": msgspec.structs.replace(OLD, complaints_today=19, pardons_today=99)},
        ),
        (
            "ABNORMAL",
            PARDON,
            {"record": msgspec.structs.replace(PROVEN, pardons_today=10)},
            {"record": msgspec.structs.replace(PROVEN, pardons_today=9)},
        ),
        (
            "ABNORMAL",
            COMPLAINT,
            {"record": msgspec.structs.replace(PROVEN, complaints_today=60)},
            {"record": msgspec.structs.replace(PROVEN, complaints_today=59)},
        ),
        (
            "ABNORMAL",
            COMPLAINT,
            {"record": msgspec.structs.replace(OLD, complaints_today=40), "thresholds": DailyThresholds(complaints=40, pardons=10, people=9)},
            {"record": msgspec.structs.replace(OLD, complaints_today=39), "thresholds": DailyThresholds(complaints=40, pardons=10, people=9)},
        ),
        (
            "UNRELIABLE",
            COMPLAINT,
            {"record": msgspec.structs.replace(OLD, wrong=3, weight=weight_of(0, 3))},
            {"record": msgspec.structs.replace(OLD, wrong=2, weight=weight_of(0, 2))},
        ),
        ("NO_PAST", PARDON, {"record": NEW}, {}),
        (
            "NO_PAST",
            PARDON,
            {"record": msgspec.structs.replace(OLD, first=NOW - 13 * DAY_S)},
            {"record": msgspec.structs.replace(OLD, first=NOW - 14 * DAY_S)},
        ),
        (
            "ONLY_PARDONS",
            PARDON,
            {"record": msgspec.structs.replace(OLD, complaints=0, pardons=3)},
            {"record": msgspec.structs.replace(OLD, complaints=0, pardons=2)},
        ),
        (
            "ONLY_PARDONS",
            PARDON,
            {"record": msgspec.structs.replace(OLD, complaints=0, pardons=30)},
            {"record": msgspec.structs.replace(OLD, complaints=0, pardons=30, right=1)},
        ),
        ("REPEATED", COMPLAINT, {"repeated": 1}, {"repeated": 0}),
        (
            "REPEATED",
            COMPLAINT,
            {"repeated": 3, "person": "", "way": EventChannel.REPORT},
            {"repeated": 2, "person": "", "way": EventChannel.REPORT},
        ),
        ("ASKED_FOR", COMPLAINT, {"asked_for": True}, {"asked_for": True, "campaign": CampaignRecord(traps=1)}),
        (
            "ASKED_FOR",
            COMPLAINT,
            {"asked_for": True, "campaign": CampaignRecord(believed_complaint_weight=4 * NEWCOMER)},
            {"asked_for": True, "campaign": CampaignRecord(believed_complaint_weight=5 * NEWCOMER)},
        ),
        (
            "ENOUGH",
            COMPLAINT,
            {"record": NEW, "campaign": CampaignRecord(believed_complaint_weight=20 * NEWCOMER)},
            {"record": NEW, "campaign": CampaignRecord(believed_complaint_weight=19 * NEWCOMER)},
        ),
        (
            "ENOUGH",
            PARDON,
            {"campaign": CampaignRecord(believed_pardon_weight=sum([NEWCOMER] * 30))},
            {"record": PROVEN, "campaign": CampaignRecord(believed_pardon_weight=sum([NEWCOMER] * 30))},
        ),
        ("TRAPPED", PARDON, {"record": PROVEN, "campaign": CampaignRecord(traps=1)}, {"record": PROVEN}),
        (
            "CONTESTED",
            PARDON,
            {"campaign": CampaignRecord(believed_complaint_weight=sum([NEWCOMER] * 3), known_complaint_weight=NEWCOMER)},
            {"campaign": CampaignRecord(believed_complaint_weight=2 * NEWCOMER, known_complaint_weight=NEWCOMER)},
        ),
        (  # of strangers' ten complaints, five pardons are half
            "CONTESTED",
            PARDON,
            {"campaign": CampaignRecord(believed_complaint_weight=3.0, believed_pardon_weight=1.5)},
            {"campaign": CampaignRecord(believed_complaint_weight=3.0, believed_pardon_weight=1.2)},
        ),
        (
            "CONTESTED",
            PARDON,
            {"record": msgspec.structs.replace(OLD, complaints=0), "campaign": CampaignRecord(believed_complaint_weight=3.0)},
            {"campaign": CampaignRecord(believed_complaint_weight=3.0)},
        ),
        (  # against known people not even who is proven goes beyond a tie
            "CONTESTED",
            PARDON,
            {"record": PROVEN, "campaign": CampaignRecord(believed_complaint_weight=3.0, known_complaint_weight=3.0, believed_pardon_weight=2.5, proven_pardon_weight=2.5)},
            {"record": PROVEN, "campaign": CampaignRecord(believed_complaint_weight=3.0, known_complaint_weight=0.3, believed_pardon_weight=9, proven_pardon_weight=9)},
        ),
        (
            "BRIGADE",
            PARDON,
            {"record": PROVEN, "campaign": CampaignRecord(believed_complaint_weight=9.0, pardoners=9, first_pardon=NOW - 500)},
            {"record": PROVEN, "campaign": CampaignRecord(believed_complaint_weight=9.0, pardoners=9, first_pardon=NOW - 600)},
        ),
        (
            "BRIGADE",
            PARDON,
            {"record": PROVEN, "campaign": CampaignRecord(believed_complaint_weight=9.0, pardoners=9, first_pardon=NOW - 500)},
            {"record": PROVEN, "campaign": CampaignRecord(believed_complaint_weight=9.0, pardoners=99, young_pardoners=91, first_pardon=NOW - 500)},
        ),
        (
            "BRIGADE",
            PARDON,
            {"record": msgspec.structs.replace(OLD, complaints=0), "campaign": CampaignRecord(pardoners=10, only_pardoners=8)},
            {"record": msgspec.structs.replace(OLD, complaints=0), "campaign": CampaignRecord(pardoners=10, only_pardoners=7)},
        ),
        (
            "BRIGADE",
            PARDON,
            {"record": msgspec.structs.replace(OLD, complaints=0), "campaign": CampaignRecord(pardoners=10, only_pardoners=10)},
            {"campaign": CampaignRecord(pardoners=10, only_pardoners=10)},
        ),
        (
            "BRIGADE",
            COMPLAINT,
            {"record": NEW, "campaign": CampaignRecord(believed_complaint_weight=1.4, proven_pardon_weight=1.5)},
            {"record": NEW, "campaign": CampaignRecord(believed_complaint_weight=1.6, proven_pardon_weight=1.5)},
        ),
        (
            "BRIGADE",
            COMPLAINT,
            {"record": NEW, "campaign": CampaignRecord(proven_pardon_weight=1.5)},
            {"record": NEW, "campaign": CampaignRecord(proven_pardon_weight=1.5, traps=1)},
        ),
        (
            "BRIGADE",
            COMPLAINT,
            {"record": NEW, "campaign": CampaignRecord(proven_pardon_weight=1.5)},
            {"campaign": CampaignRecord(proven_pardon_weight=1.5)},
        ),
        (
            "BRIGADE",
            COMPLAINT,
            {"record": NEW, "campaign": CampaignRecord(proven_pardon_weight=1.5)},
            {"record": NEW, "campaign": CampaignRecord(proven_pardon_weight=1.5, known_complaint_weight=NEWCOMER)},
        ),
    ],
)  # fmt: skip
def test_a_rule_fires_and_just_does_not(
    rule: str, plain: EventCircumstances, fires: Change, not_yet: Change
) -> None:
    found = believe(msgspec.structs.replace(plain, **fires))
    assert rule in found.rules
    assert found.say
    assert rule not in rules(plain, not_yet)


def test_what_one_says_last_takes_back_what_one_said_before() -> None:
    assert believe(msgspec.structs.replace(PARDON, earlier=EventKind.COMPLAINT)).takes_back
    assert believe(msgspec.structs.replace(COMPLAINT, earlier=EventKind.PARDON)).takes_back
    assert believe(
        msgspec.structs.replace(PARDON, earlier=EventKind.COMPLAINT, signed=False)
    ).takes_back
    assert not believe(msgspec.structs.replace(COMPLAINT, earlier=EventKind.COMPLAINT)).takes_back
    assert not believe(msgspec.structs.replace(READ, earlier=EventKind.READ)).takes_back


AMOUNT = st.integers(0, 300)
WEIGHT = st.floats(0, 100)
RECORDS = st.builds(
    lambda today, ever, right, wrong, age: PersonRecord(
        complaints_today=today, pardons_today=today, complaints=ever, pardons=ever, right=right, wrong=wrong,
        first=0.0 if age is None else NOW - age * DAY_S, weight=weight_of(right, wrong),
    ),
    AMOUNT, AMOUNT, st.floats(0, 50), st.floats(0, 50), st.none() | st.floats(0, 500),
)  # fmt: skip
CAMPAIGNS = st.builds(
    CampaignRecord, complaints=AMOUNT, pardons=AMOUNT, complainers=AMOUNT, pardoners=AMOUNT, young_pardoners=AMOUNT,
    only_pardoners=AMOUNT, traps=st.integers(0, 3), believed_complaint_weight=WEIGHT, known_complaint_weight=WEIGHT,
    believed_pardon_weight=WEIGHT, proven_pardon_weight=WEIGHT, first_pardon=st.floats(NOW - DAY_S, NOW),
)  # fmt: skip
CIRCUMSTANCES = st.builds(
    EventCircumstances, what=st.sampled_from(EventKind), way=st.sampled_from(EventChannel), time=st.just(NOW),
    person=st.sampled_from(["", "a@b.example"]), signed=st.booleans(), recipient=st.booleans(), asked_for=st.booleans(),
    delivered=st.sampled_from([0.0, NOW - 60, NOW - 30 * DAY_S, NOW + 60]), verdict=st.none() | st.sampled_from(Action),
    earlier=st.none() | st.sampled_from(EventKind), repeated=st.integers(0, 5), record=RECORDS, campaign=CAMPAIGNS,
)  # fmt: skip


@given(CIRCUMSTANCES)
def test_a_word_counts_exactly_where_no_rule_fires_and_the_site_always(
    asked: EventCircumstances,
) -> None:
    found = believe(asked)
    assert found == believe(asked)
    assert found.counts is (not found.rules) is (found.weight > 0) is (not found.say)
    assert 0 <= found.weight <= 1
    assert set(found.rules) <= NAMES
    if asked.what is EventKind.TRAP or (asked.way is EventChannel.COMMAND and not asked.person):
        assert found.weight == 1


@given(CIRCUMSTANCES, st.integers(1, 300))
def test_what_strangers_say_that_is_not_believed_silences_nobody_who_has_complained(
    asked: EventCircumstances, many: int
) -> None:
    before = asked.campaign
    crowd = msgspec.structs.replace(
        before,
        complaints=before.complaints + many,
        complainers=before.complainers + many,
        pardons=before.pardons + many,
        pardoners=before.pardoners + many,
        young_pardoners=before.young_pardoners + many,
        only_pardoners=before.only_pardoners + many,
    )
    heard = msgspec.structs.replace(
        asked, record=msgspec.structs.replace(asked.record, complaints=5)
    )
    assert believe(heard) == believe(msgspec.structs.replace(heard, campaign=crowd))


def test_rules_have_names_and_words() -> None:
    assert len(NAMES) == len(RULES)
    assert all(name.isupper() for name in NAMES)
    assert all(rule.about for rule in RULES)
    assert ANYBODY < NAMES
