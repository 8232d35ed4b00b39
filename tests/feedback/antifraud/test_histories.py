"""Histories as tables: whom a mail administrator would believe, and who is believed."""

import re

import pytest

from oborona.feedback.antifraud.rules import NAMES
from oborona.feedback.events.model import EventKind
from tests.feedback.antifraud.histories import History, histories, ranged, told
from tests.feedback.antifraud.site import Site

HISTORIES = histories()
WHAT = {"complaint": EventKind.COMPLAINT, "pardon": EventKind.PARDON}
TOLD: dict[str, Site] = {}


def site_of(history: History) -> Site:
    """Tell each history once."""
    if history.what not in TOLD:
        TOLD[history.what] = told(history)
    return TOLD[history.what]


def counted(site: Site, campaign: str, what: EventKind) -> int:
    """How many events of a campaign, or of all that begin like it, count."""
    if not campaign.endswith("*"):
        return site.believed(campaign, what)
    return sum(
        one.believed and one.what is what and one.message.campaign.startswith(campaign[:-1])
        for one in site.events
    )


def fired(site: Site, group: str) -> set[str]:
    """The rules that fired for a group."""
    of_group = re.compile(f"{group}[0-9]+@")
    return {rule for one in site.events if of_group.match(one.person) for rule in one.belief.rules}


def weights(site: Site, group: str) -> list[float]:
    """How far each of a group is believed."""
    of_group = re.compile(f"{group}[0-9]+@")
    return [person.weight() for name, person in site.people.items() if of_group.match(name)]


def summed_up(site: Site) -> str:
    """What became of it, for who has to find out what went wrong."""
    campaigns = sorted({one.message.campaign for one in site.events})
    lines = [
        (
            f"{name}: {site.believed(name, EventKind.COMPLAINT)} complaints, "
            f"{site.believed(name, EventKind.PARDON)} pardons"
        )
        for name in campaigns[:10]
    ]
    lines += sorted(
        {f"{one.person.rstrip('0123456789')} {one.belief.rules}" for one in site.events}
    )[:20]
    return "\n".join([*lines, f"{sum(one.taken_back for one in site.events)} taken back"])


def test_there_are_enough_of_them() -> None:
    assert len(HISTORIES) >= 60
    assert len({one.what for _, one in HISTORIES}) == len(HISTORIES)


@pytest.mark.parametrize(
    "history", [one for _, one in HISTORIES], ids=[f"{file}: {one.what}" for file, one in HISTORIES]
)
def test_those_are_believed_whom_an_administrator_would_believe(history: History) -> None:
    site = site_of(history)
    for line in history.believed:
        campaign, _, rest = line.partition(": ")
        for part in rest.split(", "):
            number, _, what = part.partition(" ")
            low, high = ranged(number)
            assert low <= counted(site, campaign, WHAT[what.rstrip("s")]) <= high, summed_up(site)
    low, high = ranged(history.taken_back)
    assert low <= sum(one.taken_back for one in site.events) <= high, summed_up(site)
    for line in (*history.rules, *history.never):
        group, _, rule = line.partition(": ")
        assert rule in NAMES
        assert (rule in fired(site, group)) == (line in history.rules), summed_up(site)
    for line in history.weights:
        group, _, limits = line.partition(": ")
        low, high = ranged(limits)
        assert all(low <= one <= high for one in weights(site, group)), (
            weights(site, group),
            summed_up(site),
        )


def test_every_rule_fires_somewhere() -> None:
    seen = {
        rule
        for _, history in HISTORIES
        for one in site_of(history).events
        for rule in one.belief.rules
    }
    assert seen == NAMES
