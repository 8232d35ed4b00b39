"""RepIP: who is refused at connect time, who never is, and how long it lasts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.address import AddressCounts, AddressHistory, judge
from oborona.reputation.flag import ReputationFlag

NOTHING = AddressCounts()


def history(seen: int = 0, spam: int = 0, *, before: AddressCounts = NOTHING, hour: int = 0, senders: int = 0,
            complaints: int = 0, pardons: int = 0, traps: int = 0) -> AddressHistory:  # fmt: skip
    """What today and the days before add up to."""
    day = AddressCounts(seen, spam, complaints, pardons, traps)
    return AddressHistory(
        day=day,
        fortnight=AddressCounts(*(a + b for a, b in zip(day, before, strict=True))),
        hour=hour,
        senders=senders,
    )


def flag(address: AddressHistory, network: AddressHistory | None = None) -> ReputationFlag:
    return judge(address, network or address).flag


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (history(), ReputationFlag.UNKNOWN),
        (history(1, 1), ReputationFlag.UNKNOWN),
        (history(9, 9), ReputationFlag.POOR),
        (history(19, 19), ReputationFlag.POOR),
        (history(20, 20), ReputationFlag.BAD),
        (history(3, 0, traps=3), ReputationFlag.BAD),
        (
            history(22, 3, complaints=3, traps=3),
            ReputationFlag.POOR,
        ),  # three messages, whatever they weigh
        (
            history(2, 0, traps=2),
            ReputationFlag.UNKNOWN,
        ),  # somebody may be trying whose address is a trap
        (history(13, 8, complaints=8, traps=8), ReputationFlag.BAD),
        (history(30, 21), ReputationFlag.BAD),  # what a filter misses speaks for it, too
        (history(80, 42), ReputationFlag.POOR),  # a forwarder: half of what it passes on is spam
        (history(50, 0), ReputationFlag.GOOD),
        (history(5, 0), ReputationFlag.UNKNOWN),
        (history(1000, 0, complaints=3), ReputationFlag.GOOD),
        (history(1000, 0, complaints=4), ReputationFlag.UNKNOWN),
        (history(40, 0, complaints=1), ReputationFlag.UNKNOWN),
        (history(40, 10), ReputationFlag.UNKNOWN),
        (history(10, 8, pardons=8), ReputationFlag.UNKNOWN),
        (
            history(110, 110, before=AddressCounts(seen=100)),
            ReputationFlag.POOR,
        ),  # a good past of a hundred
        (history(160, 160, before=AddressCounts(seen=100)), ReputationFlag.BAD),
    ],
)
def test_what_a_history_makes_of_an_address(
    address: AddressHistory, expected: ReputationFlag
) -> None:
    assert flag(address) is expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (history(1000, 0, complaints=15, traps=5), ReputationFlag.BAD),  # the filter saw nothing
        (history(1000, 0, complaints=9), ReputationFlag.UNKNOWN),
        (history(1000, 0, complaints=10), ReputationFlag.BAD),
        (history(1200, 0, complaints=10), ReputationFlag.UNKNOWN),  # below one in a hundred
        (history(1000, 0, complaints=10, before=AddressCounts(seen=250)), ReputationFlag.BAD),
        (history(1000, 0, complaints=10, before=AddressCounts(seen=400)), ReputationFlag.UNKNOWN),
    ],
)
def test_an_outcry_refuses_what_a_filter_does_not_see(
    address: AddressHistory, expected: ReputationFlag
) -> None:
    assert flag(address) is expected


def test_an_outcry_of_yesterday_is_over() -> None:
    assert (
        flag(history(before=AddressCounts(seen=1000, complaints=15, traps=5)))
        is not ReputationFlag.BAD
    )


def test_an_address_of_many_people_is_not_refused_for_a_handful() -> None:
    nat = AddressCounts(seen=300, spam=3)
    for handful in range(1, 60):
        assert flag(history(handful, handful, before=nat)) not in (
            ReputationFlag.BAD,
            ReputationFlag.POOR,
        )


def test_good_neighbours_speak_for_a_host_that_is_new() -> None:
    stolen = history(40, 40)
    assert flag(stolen) is ReputationFlag.BAD
    assert flag(stolen, history(40, 40, before=AddressCounts(seen=400))) is ReputationFlag.POOR


@pytest.mark.parametrize("amount", [20, 70, 1000, 10**6])
def test_a_clean_day_lets_in_whoever_it_is_and_three_bad_messages_refuse_him_again(
    amount: int,
) -> None:
    before = AddressCounts(seen=amount, spam=amount)
    assert flag(history(amount, amount)) is ReputationFlag.BAD
    assert flag(history(before=before)) is ReputationFlag.POOR
    assert flag(history(2, 2, before=before)) is ReputationFlag.POOR
    assert flag(history(3, 3, before=before)) is (
        ReputationFlag.BAD if amount >= 68 else ReputationFlag.POOR
    )
    assert flag(history()) is ReputationFlag.UNKNOWN


def test_a_bad_network_makes_newcomers_poor_and_nobody_bad_without_a_bad_message_of_his_own() -> (
    None
):
    def with_others(own: AddressHistory) -> AddressHistory:
        fortnight = AddressCounts(
            *(a + b for a, b in zip(own.fortnight, AddressCounts(500, 480), strict=True))
        )
        return AddressHistory(day=own.day, fortnight=fortnight)

    new, once, good = history(), history(1, 1), history(5, 0)
    assert flag(new, with_others(new)) is ReputationFlag.POOR
    assert judge(new, with_others(new)).share > 0.7
    assert flag(once, with_others(once)) is ReputationFlag.BAD
    assert flag(good, with_others(good)) is ReputationFlag.UNKNOWN
    mixed = history(6, 1)  # more good than bad: spoken for
    assert flag(mixed, with_others(mixed)) is ReputationFlag.UNKNOWN
    few = history(3, 1)
    assert flag(few, with_others(few)) is ReputationFlag.POOR


@pytest.mark.parametrize(
    ("others", "bad"),
    [
        (AddressCounts(3, 3), False),
        (AddressCounts(4, 4), True),
        (AddressCounts(3, 3, 1), True),
        (AddressCounts(100, 57), True),
        (AddressCounts(100, 56), False),  # good tenants, too, or a filter that is half blind
        (AddressCounts(2, 2, 2, 0, 2), False),  # few messages, however heavy
    ],
)
def test_what_makes_a_network_bad(others: AddressCounts, bad: bool) -> None:
    assert (flag(history(), AddressHistory(fortnight=others)) is ReputationFlag.POOR) is bad


def test_suddenly_loud_under_many_names_is_poor() -> None:
    loud = history(120, 0, before=AddressCounts(seen=13), hour=120, senders=110)
    assert flag(loud) is ReputationFlag.POOR
    assert flag(loud._replace(senders=1)) is not ReputationFlag.POOR  # a mailing list
    past = history(120, 0, before=AddressCounts(seen=13 * 100), hour=120, senders=110)
    assert flag(past) is ReputationFlag.GOOD
    provider = history(5000, 10)
    assert flag(loud, provider) is not ReputationFlag.POOR  # a new address of a known one


amounts = st.integers(0, 10**6)


@st.composite
def histories(draw: st.DrawFn) -> AddressHistory:
    before = AddressCounts(*(draw(amounts) for _ in AddressCounts._fields))
    seen = draw(amounts)
    return history(
        seen, min(seen, draw(amounts)), before=before, complaints=draw(amounts), pardons=draw(amounts),
        traps=draw(amounts), hour=min(seen, draw(amounts)), senders=min(seen, draw(amounts)),
    )  # fmt: skip


@given(histories(), histories(), st.sampled_from(["spam", "complaints", "traps", "pardons"]))
def test_evidence_moves_the_flag_its_own_way(
    own: AddressHistory, others: AddressHistory, what: str
) -> None:
    """Invariant: one more bad mark never helps, one more pardon never hurts, whatever happened
    before.
    """

    def around(one: AddressHistory) -> AddressHistory:
        return AddressHistory(
            day=AddressCounts(*(a + b for a, b in zip(one.day, others.day, strict=True))),
            fortnight=AddressCounts(
                *(a + b for a, b in zip(one.fortnight, others.fortnight, strict=True))
            ),
            hour=one.hour + others.hour,
        )

    more = {what: 1} if what != "spam" else {"spam": 1, "seen": 1}
    after = own._replace(
        day=own.day._replace(**{k: getattr(own.day, k) + v for k, v in more.items()}),
        fortnight=own.fortnight._replace(
            **{k: getattr(own.fortnight, k) + v for k, v in more.items()}
        ),
    )
    first, then = judge(own, around(own)), judge(after, around(after))
    assert 0 <= first.share <= 1
    assert 0 <= first.confidence < 1
    assert -100 <= first.trust <= 100
    if what == "pardons":
        assert then.flag.order <= first.flag.order
        assert then.trust >= first.trust
    else:
        assert then.flag.order >= first.flag.order
        assert then.trust <= first.trust


def test_it_says_what_it_knows() -> None:
    assert judge(history(), history()).say == ""
    assert judge(history(), history(5, 5)).say == "new here; network: 5 spam of 5"
    said = judge(history(9, 8, complaints=1, traps=2, hour=3), history(9, 8)).say
    assert said == "8 spam of 9, 1 complaints, 2 traps in two weeks, 3 in the last hour"


@given(
    today=st.integers(0, 4000),
    before=st.integers(0, 4000),
    voices=st.integers(0, 60),
    days=st.integers(1, 14),
    traps=st.integers(0, 60),
    authors=st.integers(0, 20),
    author_days=st.integers(0, 280),
    others=st.builds(AddressCounts, *[st.integers(0, 3000)] * 5),
)
def test_what_voices_alone_can_refuse_is_bounded(
    today: int,
    before: int,
    voices: int,
    days: int,
    traps: int,
    authors: int,
    author_days: int,
    others: AddressCounts,
) -> None:
    """Persons and traps, `voices` of them a day, refuse only what fewer than a fifth as many known
    authors use, and what sent little for each of them.
    """
    traps = min(traps, voices)
    day = AddressCounts(today, 0, voices - traps, 0, traps)
    fortnight = AddressCounts(today + before, 0, (voices - traps) * days, 0, traps * days)
    address = AddressHistory(day, fortnight, 0, 0, authors, authors + author_days)
    network = AddressHistory(
        day, AddressCounts(*(a + b for a, b in zip(fortnight, others, strict=True)))
    )
    if judge(address, network).flag is ReputationFlag.BAD:
        assert 5 * max(authors, author_days / 13) < voices
        each = 125 if voices >= 10 else 28
        assert today + before - voices * days <= each * voices


@given(
    seen=st.integers(0, 500), spam=st.integers(0, 500), complaints=st.integers(0, 40), traps=st.integers(0, 40),
    pardons=st.integers(0, 40), authors=st.integers(0, 12), author_days=st.integers(0, 60),
)  # fmt: skip
def test_a_known_author_more_is_never_worse_and_a_complaint_more_never_better(
    seen: int, spam: int, complaints: int, traps: int, pardons: int, authors: int, author_days: int
) -> None:
    day = AddressCounts(seen, min(spam, seen), complaints, pardons, traps)
    given_ = AddressHistory(day, day, 0, 0, authors, authors + author_days)
    more = given_._replace(authors=authors + 1, author_days=authors + author_days + 1)
    louder = given_._replace(
        day=day._replace(complaints=complaints + 1),
        fortnight=day._replace(complaints=complaints + 1),
    )
    order = [ReputationFlag.BAD, ReputationFlag.POOR, ReputationFlag.UNKNOWN, ReputationFlag.GOOD]
    was, vouched, cried = (judge(one, one) for one in (given_, more, louder))
    assert order.index(vouched.flag) >= order.index(was.flag)
    assert order.index(cried.flag) <= order.index(was.flag)


def test_who_is_complained_of_is_judged_by_his_authors_where_others_write_from_there_too() -> None:
    cried = history(1000, 0, complaints=10)
    assert flag(cried) is ReputationFlag.BAD
    assert flag(cried._replace(authors=1)) is ReputationFlag.BAD
    assert flag(cried._replace(authors=2)) is ReputationFlag.UNKNOWN
    assert flag(cried._replace(author_days=26)) is ReputationFlag.UNKNOWN
    assert (
        flag(history(1000, 0, complaints=100, before=NOTHING)._replace(authors=2))
        is ReputationFlag.BAD
    )
    assert (
        flag(history(200, 180, complaints=10)._replace(authors=2)) is ReputationFlag.BAD
    )  # verdicts are evidence as before
