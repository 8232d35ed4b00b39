"""Each address of each round is asked about once, evenly, in whatever steps time goes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.accounts.addresses.list_round import ListRound, due, gone_on, next_due
from oborona.accounts.addresses.own_addresses import MOST, OwnAddresses
from oborona.reputation.networks import network

HOUR_S = 3600.0
BEGUN = 1_800_000_000.0


def addresses(*networks: str) -> OwnAddresses:
    return OwnAddresses(map(network, networks))


class Asked:
    """One list's rounds over some addresses, by a clock of its own."""

    def __init__(self, own: OwnAddresses, every_s: float) -> None:
        self.own, self.every_s, self.now = own, every_s, BEGUN
        self.round = ListRound(list="L", begun=BEGUN)
        self.times: list[tuple[float, str]] = []

    def wait(self, seconds: float) -> int:
        """Let time pass and ask what is due; return how many that was."""
        self.now += seconds
        wanted = due(self.round, self.own.total, self.every_s, self.now)
        if not wanted:
            return 0
        some = self.own.after(self.round.last, wanted)
        self.times += [(self.now, one) for one in some]
        self.round = gone_on(self.round, some, wanted, self.every_s, self.now)
        return len(some)


def test_a_thousand_addresses_are_spread_over_the_hours_and_each_is_asked_once() -> None:
    own = addresses("9.1.0.0/22")
    asked = Asked(own, 6 * HOUR_S)
    while not asked.round.finished:
        asked.wait(1.0)
    assert [one for _, one in asked.times] == own.after("", 2000)
    assert len(asked.times) == 1024
    gaps = [
        after - before
        for (before, _), (after, _) in zip(asked.times, asked.times[1:], strict=False)
    ]
    assert max(gaps) - min(gaps) <= 1.0
    assert asked.round.finished - BEGUN == 6 * HOUR_S
    assert asked.wait(1.0) == 1, "the next round begins"


@settings(deadline=None)
@given(
    steps=st.lists(st.floats(0.0, 7200.0), max_size=60),
    bits=st.integers(22, 32),
    every=st.floats(900.0, 86_400.0),
)
def test_no_step_asks_about_more_than_twice_the_pace_and_none_is_passed_over(
    steps: list[float], bits: int, every: float
) -> None:
    own = addresses(f"9.1.0.0/{bits}")
    asked = Asked(own, every)
    for step in steps:
        assert asked.wait(step) <= 2 * own.total / every + 1
        assert next_due(asked.round, own.total, every) <= max(asked.now, BEGUN) + every
    whole = own.after("", own.total)
    said = [one for _, one in asked.times]
    assert said == (whole * (len(said) // len(whole) + 1))[: len(said)]


def test_networks_that_come_and_go_in_the_middle_of_a_round() -> None:
    before = addresses("9.1.0.0/30", "9.1.8.0/30")
    assert before.after("9.1.0.2", 3) == ["9.1.0.3", "9.1.8.0", "9.1.8.1"]
    assert addresses("9.1.4.0/31", "9.1.8.0/31").after("9.1.0.2", 9) == [
        "9.1.4.0", "9.1.4.1", "9.1.8.0", "9.1.8.1",
    ]  # fmt: skip
    assert addresses("9.0.0.0/31").after("9.1.0.2", 9) == []
    assert addresses().after("9.1.0.2", 9) == addresses().after("", 9) == []


def test_what_nobody_sees_or_is_too_much_is_left_out_and_named() -> None:
    own = addresses("10.0.0.0/24", "9.1.0.0/30", "9.1.0.0/31", "9.16.0.0/12", "2a01:4f8::/64")
    assert (own.total, own.left_out) == (4, ["9.16.0.0/12", "2a01:4f8::/64"])
    small = addresses("2a01:4f8::/127", "9.1.0.1/32")
    assert small.after("", 9) == ["9.1.0.1", "2a01:4f8::", "2a01:4f8::1"]
    assert small.after("9.1.0.1", 9) == ["2a01:4f8::", "2a01:4f8::1"]
    assert [small.has(one) for one in ("9.1.0.1", "9.1.0.2", "2a01:4f8::1", "x")] == [
        True, False, True, False,
    ]  # fmt: skip
    assert addresses(*(f"9.{number}.0.0/16" for number in range(9))).total <= 4 * MOST
