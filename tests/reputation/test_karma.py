"""Karma: bounds, order, and who gains what by what."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.entity import EntityStanding
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.karma import Karma, KarmaInputs, karma

NAMES = ("account", "author", "sender", "domain", "address", "network", "system", "entities")
TRUST = st.floats(-100, 100)


def of(*, has_author: bool = False, **trust: float) -> KarmaInputs:
    values: dict[str, Any] = {
        name: EntityStanding(ReputationFlag.UNKNOWN, points, 0.5, "x")
        for name, points in trust.items()
    }
    return KarmaInputs(has_author=has_author, **values)


everybody = st.builds(of, has_author=st.booleans(), **dict.fromkeys(NAMES, TRUST))


def test_nothing_known_is_nothing() -> None:
    assert karma(KarmaInputs()) == Karma(value=0, parts=())


@given(everybody)
def test_bounds(standings: KarmaInputs) -> None:
    found = karma(standings)
    assert -100 <= found.value <= 100
    assert (
        abs(max(-100.0, min(100.0, sum(part.points for part in found.parts))) - found.value) < 4.5
    ), "the parts add up"
    weights = [abs(part.points) for part in found.parts]
    assert weights == sorted(weights, reverse=True)


@given(everybody, st.sampled_from(NAMES), TRUST)
def test_more_trust_in_anything_never_lowers_it(
    standings: KarmaInputs, name: str, trust: float
) -> None:
    had = getattr(standings, name)
    other = msgspec.structs.replace(standings, **{name: had._replace(trust=trust)})
    low, high = sorted([(had.trust, karma(standings).value), (trust, karma(other).value)])
    assert low[1] <= high[1]


@given(everybody)
def test_what_is_around_him_speaks_for_nobody_more_than_he_does(standings: KarmaInputs) -> None:
    own = sum(
        part.points
        for part in karma(standings).parts
        if part.name in ("account", "author", "sender") and part.points > 0
    )
    around = sum(
        part.points
        for part in karma(standings).parts
        if part.name in ("domain", "address", "network", "system") and part.points > 0
    )
    assert around <= own + 2


def test_a_stranger_at_a_good_address_of_a_good_domain_is_unknown() -> None:
    assert karma(of(has_author=True, domain=95, address=95, network=95, system=95)).value == 0


def test_a_good_past_is_worth_most_where_everything_agrees() -> None:
    alone = karma(of(has_author=True, author=90))
    assert alone.value == 45
    together = karma(
        of(has_author=True, author=90, sender=80, domain=90, address=80, network=60, system=40)
    )
    assert together.value > 85


def test_entities_never_help() -> None:
    assert karma(of(entities=100)).value == 0
    assert karma(of(entities=-100)).value == -50


def test_a_good_envelope_sender_speaks_only_where_nobody_else_is_proved() -> None:
    assert karma(of(sender=80)).value == 40
    assert karma(of(has_author=True, sender=80)).value == 0
    assert karma(of(has_author=True, sender=-80)).value == -20


def test_its_words_have_every_part() -> None:
    found = karma(of(has_author=True, author=80, address=-40, entities=-90))
    assert found.say == "entities -45 (x), author +40 (x), address -10 (x)"


@pytest.mark.parametrize("name", NAMES)
def test_bad_alone_is_felt(name: str) -> None:
    standings = msgspec.structs.replace(KarmaInputs(), **{name: EntityStanding(trust=-100.0)})
    assert karma(standings).value < 0
