"""Base records and what they say: of one entity, and of the many of a message."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from oborona.message.hashing import ShingleType
from oborona.reputation.entity import (
    ALL,
    CLEAR,
    MAX_ENTITIES,
    SHARED_SENDERS,
    TOLD,
    EntityGroup,
    EntityStanding,
    RepEntity,
    Row,
    is_shared,
    is_sudden,
    standing,
)
from oborona.reputation.entity import judge as judge_all
from oborona.reputation.flag import ReputationFlag
from oborona.types import Metric, Window


def counted(
    fortnight: Sequence[int] = (), day: Sequence[int] = (), recent: Sequence[int] = ()
) -> list[list[int]]:
    """Return a base record: seen, spam, complaints, pardons, reads, traps of two weeks, the last
    day, and the last hour and ten minutes.
    """
    whole, today, now = ([*some, *[0] * 6][:6] for some in (fortnight, day, recent))
    return [now, now, today, whole]


def sort(*rows: Row, linked: bool = False, senders: Sequence[Row] = ()) -> EntityGroup:
    return EntityGroup(ShingleType.LINK_DOMAIN, "link domain", rows, linked, senders)


def judge(sorts: Sequence[EntityGroup], *, shared: bool = False) -> RepEntity:
    return judge_all(sorts, lambda _kind, place: f"d{place}.example", lambda _kind, _place: shared)


COUNTS = st.lists(st.integers(0, 10_000), min_size=6, max_size=6)


@st.composite
def records(draw: st.DrawFn) -> list[list[int]]:
    """A record as stores give it: no window counts less than a smaller one."""
    parts = [draw(COUNTS) for _ in Window]
    return [[sum(some) for some in zip(*parts[: at + 1], strict=True)] for at in range(len(parts))]


@given(
    records(),
    st.sampled_from([Metric.SPAM, Metric.COMPLAINTS, Metric.TRAPS]),
    st.integers(0, 3),
    st.integers(1, 50),
)
def test_what_speaks_against_it_never_helps_and_a_pardon_never_harms(
    row: list[list[int]], metric: Metric, window: int, more: int
) -> None:
    before = standing(row).trust
    worse = [list(counts) for counts in row]
    better = [list(counts) for counts in row]
    for at in range(window, len(Window)):
        worse[at][metric] += more
        worse[at][Metric.SEEN] += more if metric is Metric.SPAM else 0
        better[at][Metric.PARDONS] += more
    assert standing(worse).trust <= before
    assert standing(better).trust >= before
    assert -100 <= standing(worse).trust <= standing(better).trust <= 100


@given(records())
def test_a_flag_and_the_trust_beside_it_say_the_same(row: list[list[int]]) -> None:
    found = standing(row)
    assert 0 <= found.share <= 1
    if found.flag in (ReputationFlag.BAD, ReputationFlag.POOR):
        assert found.share > 0.4
    if found.flag is ReputationFlag.BAD:
        assert found.trust < 0
    if found.flag is ReputationFlag.GOOD:
        assert found.trust > 0


def test_nothing_known_is_nothing_said() -> None:
    assert standing(counted()) == EntityStanding(ReputationFlag.UNKNOWN, 0.0, 0.5)
    assert standing(counted()).say == ""


def test_who_is_new_is_unknown_and_not_good() -> None:
    few = standing(counted([5]))
    assert few.flag is ReputationFlag.UNKNOWN
    assert 0 < few.trust < 15
    assert standing(counted([5], [5])).trust == 0, "of today alone"


def test_good_mail_of_one_day_makes_nobody_known() -> None:
    """A fresh name is warmed up in an hour: what came within the last day speaks for nobody."""
    assert standing(counted([19], [5])).trust == standing(counted([14])).trust > 0
    assert standing(counted([4000], [4000])).flag is ReputationFlag.UNKNOWN
    assert standing(counted([4000], [4000])).trust == 0


@given(records(), st.integers(1, 500))
def test_more_mail_of_the_senders_own_never_helps_within_the_day(
    row: list[list[int]], more: int
) -> None:
    assume(row[Window.DAY][Metric.SPAM] <= row[Window.DAY][Metric.SEEN])
    later = [list(counts) for counts in row]
    for window in (Window.DAY, Window.FORTNIGHT):
        later[window][Metric.SEEN] += more
    before = standing(row, ALL)
    assert standing(later, ALL).trust <= before.trust
    today = row[Window.DAY]
    passed = max(0, today[Metric.SEEN] - today[Metric.SPAM])
    assert standing(later, passed + more).trust <= standing(row, passed).trust


@given(records(), st.integers(1, 50))
def test_a_good_message_never_harms_and_never_as_it_grows_older(
    row: list[list[int]], more: int
) -> None:
    before = standing(row).trust
    today = [list(counts) for counts in row]
    older = [list(counts) for counts in row]
    for window in Window:
        today[window][Metric.SEEN] += more
    older[Window.FORTNIGHT][Metric.SEEN] += more
    assert before <= standing(today).trust <= standing(older).trust


def test_a_long_good_past_is_good_and_bad_mail_spoils_it() -> None:
    good = standing(counted([300, 1, 0, 0, 200], [20]))
    assert good.flag is ReputationFlag.GOOD
    assert good.trust > 80
    spoiled = standing(counted([700, 401, 20], [420, 400, 20]))
    assert spoiled.flag in (ReputationFlag.POOR, ReputationFlag.UNKNOWN)
    assert spoiled.trust < 0


def test_bad_evidence_is_worth_a_quarter_a_day_later() -> None:
    today, before = standing(counted([40, 20], [40, 20])), standing(counted([40, 20]))
    assert before.trust > today.trust
    assert before.say == today.say == "20 spam of 40"


def test_a_complaint_about_mail_that_is_older_than_the_window_counts() -> None:
    assert standing(counted([0, 0, 2])).trust < 0


def test_the_worst_entity_speaks_and_good_ones_do_not_help() -> None:
    good, bad = counted([900, 1], [90]), counted([400, 390], [400, 390])
    alone, among = judge([sort(bad)]), judge([sort(*[good] * 50, bad)])
    assert among.worst == alone.worst < -90
    assert (among.flag, among.bad) == (ReputationFlag.BAD, 1)
    assert alone.say == "link domain d0.example: 390 spam of 400"
    assert judge([sort(good, good)]) == CLEAR


def test_of_many_bad_ones_the_worst_are_told() -> None:
    rows = [counted([100 + n, 90 + n], [100 + n, 90 + n]) for n in range(10)]
    found = judge([sort(*rows)])
    assert found.bad == 10
    assert found.say.count("link domain") == TOLD
    assert found.say.startswith("link domain d9.example:")


def test_no_more_than_a_hundred_are_looked_at() -> None:
    nothing, bad = counted(), counted([50, 50], [50, 50])
    assert judge([sort(*[nothing] * MAX_ENTITIES), sort(bad)]) == CLEAR
    assert judge([sort(*[nothing] * (MAX_ENTITIES - 1)), sort(bad)]).bad == 1


def test_what_many_share_is_never_judged_by_itself() -> None:
    assert judge([sort(counted([400, 390], [400, 390]))], shared=True) == CLEAR


def test_a_shortener_is_shared_and_a_campaign_is_not() -> None:
    shortener, its_senders = counted([2000, 900], [200, 90]), counted([400], [40])
    assert is_shared(shortener, its_senders)
    campaign, senders = counted([400, 380], [400, 380]), counted([90], [90])
    assert not is_shared(campaign, senders), "today's senders say nothing"
    unnoticed = counted([400, 0], [400, 0])
    assert not is_shared(unnoticed, senders), "nor does good mail of today"
    hated = counted([2000, 0, 300], [200])
    assert not is_shared(hated, its_senders), (
        "borrowed names make no domain everybody's that people complain of"
    )
    trapped = counted([2000, 0, 0, 0, 0, 160], [200])
    assert not is_shared(trapped, its_senders)
    newsletter = counted([4000, 2], [400])
    assert not is_shared(newsletter, counted([14], [1]))
    assert not is_shared(shortener, counted([SHARED_SENDERS - 1 + 40], [40]))
    three_days = counted([900, 860], [300, 290])
    assert not is_shared(three_days, counted([150], [60])), "a campaign of days has no good past"


def test_a_domain_out_of_nothing_is_sudden() -> None:
    row, senders = counted([400, 10], [400, 10]), counted([90], [90])
    assert is_sudden(row, senders)
    found = judge([sort(row, linked=True, senders=[senders])])
    assert (found.sudden, found.fresh) == (1, 1)
    assert found.say == "link domain d0.example: 400 today from 90 authors, 0 in two weeks before"


def test_what_is_not_sudden() -> None:
    assert not is_sudden(counted([5600], [400]), counted([1200], [90])), "every day is like that"
    assert not is_sudden(counted([400], [400]), counted([1], [1])), "a newsletter has one author"
    assert not is_sudden(counted([40], [40]), counted([40], [40])), "few"


def test_a_domain_that_was_there_last_week_is_not_fresh() -> None:
    assert judge([sort(counted([3], [1]), counted([1], [1]), counted(), linked=True)]).fresh == 2


def test_a_pin_stands_in_the_place_of_the_counts() -> None:
    bad, good = counted([400, 390], [400, 390]), counted([900], [90])
    pinned = {
        0: EntityStanding(ReputationFlag.GOOD, 100.0, 0.0, "pinned good"),
        1: EntityStanding(ReputationFlag.BAD, -100.0, 1.0, "set to bad by ann: x"),
    }
    found = judge([sort(bad, good)._replace(pinned=pinned)])
    assert (found.worst, found.bad, found.say) == (
        -100.0,
        1,
        "link domain d1.example: set to bad by ann: x",
    )


@given(st.lists(records(), max_size=8), st.lists(records(), max_size=8))
def test_any_counts_are_judged(rows: list[list[list[int]]], senders: list[list[list[int]]]) -> None:
    found = judge([sort(*rows, linked=True, senders=senders)])
    assert -100 <= found.worst <= 0
    assert 0 <= found.bad <= len(rows) >= found.fresh >= 0
    assert found.sudden <= len(rows)


@given(records())
def test_what_is_told_of_an_entity_is_what_its_record_says(row: list[list[int]]) -> None:
    assert judge([sort(row)]).worst == min(0.0, standing(row).trust)
