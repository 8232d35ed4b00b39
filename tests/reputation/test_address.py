"""RepIP: who is refused at connect time, who never is, and how long it lasts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.address import Counts, Flag, History, judge

ORDER = [Flag.GOOD, Flag.UNKNOWN, Flag.POOR, Flag.BAD]


NOTHING = Counts()


def history(seen: int = 0, spam: int = 0, *, before: Counts = NOTHING, hour: int = 0, senders: int = 0,
            complaints: int = 0, pardons: int = 0, traps: int = 0) -> History:  # fmt: skip
    """What today and the days before add up to."""
    day = Counts(seen, spam, complaints, pardons, traps)
    return History(
        day=day,
        fortnight=Counts(*(a + b for a, b in zip(day, before, strict=True))),
        hour=hour,
        senders=senders,
    )


def flag(address: History, network: History | None = None) -> Flag:
    return judge(address, network or address).flag


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (history(), Flag.UNKNOWN),
        (history(1, 1), Flag.UNKNOWN),
        (history(9, 9), Flag.POOR),
        (history(40, 40), Flag.BAD),
        (history(3, 0, traps=3), Flag.BAD),
        (history(22, 2, complaints=2, traps=2), Flag.POOR),  # two messages, whatever they weigh
        (history(13, 8, complaints=8, traps=8), Flag.BAD),
        (history(50, 0), Flag.GOOD),
        (history(5, 0), Flag.UNKNOWN),
        (history(40, 0, complaints=1), Flag.UNKNOWN),
        (history(40, 10), Flag.UNKNOWN),
        (history(10, 8, pardons=8), Flag.UNKNOWN),
        (history(200, 200, before=Counts(seen=100)), Flag.POOR),  # a good past of a hundred
        (history(500, 500, before=Counts(seen=100)), Flag.BAD),
    ],
)
def test_what_a_history_makes_of_an_address(address: History, expected: Flag) -> None:
    assert flag(address) is expected


def test_an_address_of_many_people_is_not_refused_for_a_handful() -> None:
    nat = Counts(seen=300, spam=3)
    for handful in range(1, 60):
        assert flag(history(handful, handful, before=nat)) not in (Flag.BAD, Flag.POOR)


def test_bad_evidence_is_a_quarter_after_a_day_and_nothing_after_two_weeks() -> None:
    today = Counts(seen=39, spam=39)
    assert flag(history(39, 39)) is Flag.BAD
    assert flag(history(before=today)) is Flag.POOR  # 39 / 4 is less than 10
    assert flag(history(before=Counts(seen=400, spam=400))) is Flag.BAD
    assert flag(history()) is Flag.UNKNOWN


def test_a_network_makes_newcomers_poor_and_nobody_bad() -> None:
    network = history(500, 500)
    assert flag(history(), network) is Flag.POOR
    assert judge(history(), network).share > 0.7
    assert flag(history(30, 0), network._replace(day=Counts(530, 500), fortnight=Counts(530, 500))) in (
        Flag.GOOD,
        Flag.UNKNOWN,
    )


def test_suddenly_loud_under_many_names_is_poor() -> None:
    loud = history(120, 0, before=Counts(seen=13), hour=120, senders=110)
    assert flag(loud) is Flag.POOR
    assert flag(loud._replace(senders=1)) is not Flag.POOR  # a mailing list
    past = history(120, 0, before=Counts(seen=13 * 100), hour=120, senders=110)
    assert flag(past) is Flag.GOOD
    provider = history(5000, 10)
    assert flag(loud, provider) is not Flag.POOR  # a new address of a known one


amounts = st.integers(0, 10**6)


@st.composite
def histories(draw: st.DrawFn) -> History:
    before = Counts(*(draw(amounts) for _ in Counts._fields))
    seen = draw(amounts)
    return history(
        seen, min(seen, draw(amounts)), before=before, complaints=draw(amounts), pardons=draw(amounts),
        traps=draw(amounts), hour=min(seen, draw(amounts)), senders=min(seen, draw(amounts)),
    )  # fmt: skip


@given(histories(), histories(), st.sampled_from(["spam", "complaints", "traps", "pardons"]))
def test_evidence_moves_the_flag_its_own_way(own: History, others: History, what: str) -> None:
    """Invariant: one more bad mark never helps, one more pardon never hurts, whatever happened before."""

    def around(one: History) -> History:
        return History(
            day=Counts(*(a + b for a, b in zip(one.day, others.day, strict=True))),
            fortnight=Counts(*(a + b for a, b in zip(one.fortnight, others.fortnight, strict=True))),
            hour=one.hour + others.hour,
        )

    more = {what: 1} if what != "spam" else {"spam": 1, "seen": 1}
    after = own._replace(
        day=own.day._replace(**{k: getattr(own.day, k) + v for k, v in more.items()}),
        fortnight=own.fortnight._replace(**{k: getattr(own.fortnight, k) + v for k, v in more.items()}),
    )
    first, then = judge(own, around(own)), judge(after, around(after))
    assert 0 <= first.share <= 1
    assert 0 <= first.confidence < 1
    if what == "pardons":
        assert ORDER.index(then.flag) <= ORDER.index(first.flag)
    else:
        assert ORDER.index(then.flag) >= ORDER.index(first.flag)


def test_it_says_what_it_knows() -> None:
    assert judge(history(), history()).say == ""
    assert judge(history(), history(5, 5)).say == "new here; network: 5 spam of 5"
    said = judge(history(9, 8, complaints=1, traps=2, hour=3), history(9, 8)).say
    assert said == "8 spam of 9, 1 complaints, 2 traps in two weeks, 3 in the last hour"
