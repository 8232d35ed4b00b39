"""A campaign looked at again: what is taken back, and who was right."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.antifraud.belief import is_from_site
from oborona.feedback.antifraud.model import CampaignEvent, PersonOutcome, PersonRecord
from oborona.feedback.antifraud.outcome import campaign_truth, outcomes
from oborona.feedback.antifraud.revision import revise
from oborona.feedback.antifraud.standing import DAY_S, weight_of
from oborona.feedback.events.model import EventChannel, EventKind

NOW = 1_780_000_000.0
OLD = PersonRecord(first=NOW - 400 * DAY_S, complaints=2)
PROVEN = PersonRecord(first=NOW - 400 * DAY_S, complaints=9, right=8, weight=weight_of(8, 0))
NEW = PersonRecord(first=NOW)
LIAR = PersonRecord(first=NOW - 400 * DAY_S, complaints=2, wrong=5, weight=weight_of(0, 5))


def said(
    what: EventKind,
    record: PersonRecord,
    number: int,
    *,
    first: int = 0,
    after: float = 600.0,
    believed: bool = True,
) -> list[CampaignEvent]:
    """Events of as many persons, some minutes apart."""
    return [
        CampaignEvent(id=ident, what=what, way=EventChannel.SIEVE, time=NOW + after * ident, person=f"p{ident}", believed=believed, record=record)
        for ident in range(first, first + number)
    ]  # fmt: skip


def trap(ident: int) -> CampaignEvent:
    return CampaignEvent(
        id=ident, what=EventKind.TRAP, way=EventChannel.TRAP, time=NOW + ident, believed=True
    )


def site(what: EventKind, ident: int) -> CampaignEvent:
    return CampaignEvent(
        id=ident, what=what, way=EventChannel.COMMAND, time=NOW + 1e5 + ident, believed=True
    )


def test_a_trap_takes_all_pardons_back_and_tells_who_was_right() -> None:
    events = (
        said(EventKind.COMPLAINT, OLD, 2)
        + said(EventKind.PARDON, PROVEN, 2, first=2)
        + [trap(1_000_000)]
    )
    assert revise(events) == [2, 3]
    assert outcomes(events) == [
        PersonOutcome(person=f"p{number}", right=right)
        for number, right in enumerate((True, True, False, False))
    ]


def test_who_says_it_after_it_was_known_is_not_right_for_it() -> None:
    assert outcomes([trap(0), *said(EventKind.COMPLAINT, OLD, 2, first=1)]) == []


def test_the_site_has_the_last_word() -> None:
    events = said(EventKind.COMPLAINT, OLD, 3) + said(
        EventKind.PARDON, NEW, 2, first=3, believed=False
    )
    assert revise([*events, site(EventKind.PARDON, 9)]) == [0, 1, 2]
    assert {
        one.person for one in outcomes([*events, site(EventKind.PARDON, 9)]) if not one.right
    } == {
        "p0",
        "p1",
        "p2",
    }
    assert revise([*events, site(EventKind.PARDON, 9), site(EventKind.COMPLAINT, 10)]) == []


def test_pardons_of_a_burst_go_once_people_complain() -> None:
    burst = said(EventKind.PARDON, PROVEN, 12, after=3.0)
    assert revise(burst) == []
    assert revise(burst + said(EventKind.COMPLAINT, OLD, 4, first=20)) == list(range(12))


def test_against_strangers_who_complain_proven_people_win_and_known_people_have_half() -> None:
    strangers = said(EventKind.COMPLAINT, NEW, 10)
    known = said(EventKind.PARDON, OLD, 8, first=10)
    assert revise(strangers + known) == [15, 16, 17]  # five of 0.3 are half of ten of 0.3
    proven = said(EventKind.PARDON, PROVEN, 4, first=20)
    assert revise(strangers + known + proven) == list(range(10))


def test_against_known_people_proven_ones_have_a_tie() -> None:
    complaints = said(EventKind.COMPLAINT, OLD, 10)
    assert revise(complaints + said(EventKind.PARDON, OLD, 2, first=10)) == [10, 11]
    assert revise(complaints + said(EventKind.PARDON, PROVEN, 6, first=20)) == [
        23,
        24,
        25,
    ]  # 3 of 0.77 are below 10 of 0.3
    assert campaign_truth(complaints + said(EventKind.PARDON, PROVEN, 60, first=20)).what is None


def test_of_liars_nothing_stands_but_what_is_true() -> None:
    events = said(EventKind.COMPLAINT, LIAR, 1) + said(EventKind.PARDON, LIAR, 1, first=1)
    assert revise(events) == [0, 1]
    assert revise([*events, trap(9)]) == [1]


def test_nobody_is_their_own_witness_and_strangers_are_nobodys() -> None:
    strangers = said(EventKind.COMPLAINT, OLD, 50)
    assert (campaign_truth(strangers).what, outcomes(strangers)) == (None, [])
    two = said(EventKind.COMPLAINT, PROVEN, 2)
    assert (campaign_truth(two).what, outcomes(two)) == (EventKind.COMPLAINT, [])
    early = said(EventKind.COMPLAINT, OLD, 1) + said(EventKind.COMPLAINT, PROVEN, 3, first=1)
    # of the three witnesses each has two others; the last of them says what those had said
    assert [one.person for one in outcomes(early)] == ["p0", "p1", "p2"]


RECORDS = st.sampled_from([OLD, PROVEN, NEW, LIAR])
TOLD = st.lists(
    st.builds(
        CampaignEvent, id=st.just(0), what=st.sampled_from([EventKind.COMPLAINT, EventKind.PARDON, EventKind.TRAP]), way=st.sampled_from([EventChannel.SIEVE, EventChannel.SIEVE, EventChannel.SIEVE, EventChannel.COMMAND]),
        time=st.floats(NOW, NOW + DAY_S), person=st.sampled_from(["", *(f"p{number}" for number in range(30))]), believed=st.booleans(), record=RECORDS,
    ),
    max_size=60,
).map(lambda events: [msgspec.structs.replace(one, id=number) for number, one in enumerate(events)])  # fmt: skip


@given(TOLD, st.data())
def test_only_what_was_believed_of_people_goes_in_any_order_and_once(
    events: list[CampaignEvent], data: st.DataObject
) -> None:
    gone = revise(events)
    believed = {one.id: one for one in events if one.believed}
    assert set(gone) <= set(believed)
    assert not any(
        is_from_site(believed[one].what, believed[one].way, believed[one].person) for one in gone
    )
    assert gone == sorted(gone)
    assert revise(data.draw(st.permutations(events))) == gone


@given(TOLD)
def test_looking_again_comes_to_an_end(events: list[CampaignEvent]) -> None:
    """Each look takes back what the one before left without support.

    There are no more looks than events.
    """
    for _ in range(len(events) + 1):
        gone = set(revise(events))
        if not gone:
            return
        events = [
            msgspec.structs.replace(one, believed=one.believed and one.id not in gone)
            for one in events
        ]
    raise AssertionError


@given(TOLD)
def test_each_person_has_one_outcome_and_the_site_and_nobody_none(
    events: list[CampaignEvent],
) -> None:
    found = outcomes(events)
    names = [one.person for one in found]
    assert names == sorted(set(names))
    assert "" not in names
    known = campaign_truth(events)
    spoke = {one.person for one in events if one.believed}
    assert all(one.person in spoke for one in found if one.right)
    assert known.what is not None or all(one.person in spoke for one in found)
