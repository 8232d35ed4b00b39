"""A campaign looked at again: what is taken back, and who was right."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.antifraud.believe import of_the_site
from oborona.feedback.antifraud.model import Outcome, Record, Told
from oborona.feedback.antifraud.outcome import outcomes, truth
from oborona.feedback.antifraud.revise import revise
from oborona.feedback.antifraud.standing import DAY_S, weight_of
from oborona.feedback.events.model import Way, What

NOW = 1_780_000_000.0
OLD = Record(first=NOW - 400 * DAY_S, complaints=2)
PROVEN = Record(first=NOW - 400 * DAY_S, complaints=9, right=8, weight=weight_of(8, 0))
NEW = Record(first=NOW)
LIAR = Record(first=NOW - 400 * DAY_S, complaints=2, wrong=5, weight=weight_of(0, 5))


def said(
    what: What,
    record: Record,
    number: int,
    *,
    first: int = 0,
    after: float = 600.0,
    believed: bool = True,
) -> list[Told]:
    """Events of as many persons, some minutes apart."""
    return [
        Told(id=ident, what=what, way=Way.SIEVE, time=NOW + after * ident, person=f"p{ident}", believed=believed, record=record)
        for ident in range(first, first + number)
    ]  # fmt: skip


def trap(ident: int) -> Told:
    return Told(id=ident, what=What.TRAP, way=Way.TRAP, time=NOW + ident, believed=True)


def site(what: What, ident: int) -> Told:
    return Told(id=ident, what=what, way=Way.COMMAND, time=NOW + 1e5 + ident, believed=True)


def test_a_trap_takes_all_pardons_back_and_tells_who_was_right() -> None:
    events = (
        said(What.COMPLAINT, OLD, 2) + said(What.PARDON, PROVEN, 2, first=2) + [trap(1_000_000)]
    )
    assert revise(events) == [2, 3]
    assert outcomes(events) == [
        Outcome(person=f"p{number}", right=right)
        for number, right in enumerate((True, True, False, False))
    ]


def test_who_says_it_after_it_was_known_is_not_right_for_it() -> None:
    assert outcomes([trap(0), *said(What.COMPLAINT, OLD, 2, first=1)]) == []


def test_the_site_has_the_last_word() -> None:
    events = said(What.COMPLAINT, OLD, 3) + said(What.PARDON, NEW, 2, first=3, believed=False)
    assert revise([*events, site(What.PARDON, 9)]) == [0, 1, 2]
    assert {one.person for one in outcomes([*events, site(What.PARDON, 9)]) if not one.right} == {
        "p0",
        "p1",
        "p2",
    }
    assert revise([*events, site(What.PARDON, 9), site(What.COMPLAINT, 10)]) == []


def test_pardons_of_a_burst_go_once_people_complain() -> None:
    burst = said(What.PARDON, PROVEN, 12, after=3.0)
    assert revise(burst) == []
    assert revise(burst + said(What.COMPLAINT, OLD, 4, first=20)) == list(range(12))


def test_against_strangers_who_complain_proven_people_win_and_known_people_have_half() -> None:
    strangers = said(What.COMPLAINT, NEW, 10)
    known = said(What.PARDON, OLD, 8, first=10)
    assert revise(strangers + known) == [15, 16, 17]  # five of 0.3 are half of ten of 0.3
    proven = said(What.PARDON, PROVEN, 4, first=20)
    assert revise(strangers + known + proven) == list(range(10))


def test_against_known_people_proven_ones_have_a_tie() -> None:
    complaints = said(What.COMPLAINT, OLD, 10)
    assert revise(complaints + said(What.PARDON, OLD, 2, first=10)) == [10, 11]
    assert revise(complaints + said(What.PARDON, PROVEN, 6, first=20)) == [
        23,
        24,
        25,
    ]  # 3 of 0.77 are below 10 of 0.3
    assert truth(complaints + said(What.PARDON, PROVEN, 60, first=20)).what is None


def test_of_liars_nothing_stands_but_what_is_true() -> None:
    events = said(What.COMPLAINT, LIAR, 1) + said(What.PARDON, LIAR, 1, first=1)
    assert revise(events) == [0, 1]
    assert revise([*events, trap(9)]) == [1]


def test_nobody_is_their_own_witness_and_strangers_are_nobodys() -> None:
    strangers = said(What.COMPLAINT, OLD, 50)
    assert (truth(strangers).what, outcomes(strangers)) == (None, [])
    two = said(What.COMPLAINT, PROVEN, 2)
    assert (truth(two).what, outcomes(two)) == (What.COMPLAINT, [])
    early = said(What.COMPLAINT, OLD, 1) + said(What.COMPLAINT, PROVEN, 3, first=1)
    # of the three witnesses each has two others; the last of them says what those had said
    assert [one.person for one in outcomes(early)] == ["p0", "p1", "p2"]


RECORDS = st.sampled_from([OLD, PROVEN, NEW, LIAR])
TOLD = st.lists(
    st.builds(
        Told, id=st.just(0), what=st.sampled_from([What.COMPLAINT, What.PARDON, What.TRAP]), way=st.sampled_from([Way.SIEVE, Way.SIEVE, Way.SIEVE, Way.COMMAND]),
        time=st.floats(NOW, NOW + DAY_S), person=st.sampled_from(["", *(f"p{number}" for number in range(30))]), believed=st.booleans(), record=RECORDS,
    ),
    max_size=60,
).map(lambda events: [msgspec.structs.replace(one, id=number) for number, one in enumerate(events)])  # fmt: skip


@given(TOLD, st.data())
def test_only_what_was_believed_of_people_goes_in_any_order_and_once(
    events: list[Told], data: st.DataObject
) -> None:
    gone = revise(events)
    believed = {one.id: one for one in events if one.believed}
    assert set(gone) <= set(believed)
    assert not any(
        of_the_site(believed[one].what, believed[one].way, believed[one].person) for one in gone
    )
    assert gone == sorted(gone)
    assert revise(data.draw(st.permutations(events))) == gone


@given(TOLD)
def test_looking_again_comes_to_an_end(events: list[Told]) -> None:
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
def test_each_person_has_one_outcome_and_the_site_and_nobody_none(events: list[Told]) -> None:
    found = outcomes(events)
    names = [one.person for one in found]
    assert names == sorted(set(names))
    assert "" not in names
    known = truth(events)
    spoke = {one.person for one in events if one.believed}
    assert all(one.person in spoke for one in found if one.right)
    assert known.what is not None or all(one.person in spoke for one in found)
