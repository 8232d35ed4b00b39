"""Respectable senders: people at home and on their way, newsletters, ticket systems, lists,
machines, and those who write to many for once.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from operator import itemgetter
from random import Random
from typing import Final

from benchmarks.outgoing.letter import (
    DAY_S,
    HOUR_S,
    Letter,
    Origin,
    hour_of_people,
    is_workday,
    poisson,
    some_address,
    stranger,
)
from benchmarks.outgoing.world import DAYS, World

HOME: Final = "DE"
ABROAD: Final = ("FR", "IT", "US", "GB", "TR", "PL", "ES", "CH", "GR", "JP", "AE", "CZ")
BATCH: Final = 50  # recipients of a message to many: what programs and lists put into one


class Places:
    """From where a person sends: home, office, a telephone with another address every few hours;
    on a journey hotels, airports and networks abroad.

    Args:
        rng: of the person.
        office: address of its office.
        journeys: first day, days and countries of each.
        tunnel: part of what is sent on a journey goes by a VPN, each time another country.
    """

    def __init__(
        self,
        rng: Random,
        office: str,
        journeys: tuple[tuple[int, int, tuple[str, ...]], ...] = (),
        *,
        tunnel: bool = False,
    ) -> None:
        self._rng = rng
        self._home, self._office = some_address(rng), office
        self._mobile = f"{rng.randrange(11, 223)}.{rng.randrange(256)}"
        self._journeys = journeys
        self._tunnel = tunnel

    def at(self, when: float) -> Origin:
        """Return the place of a moment, in seconds from the first midnight."""
        rng, day = self._rng, int(when // DAY_S)
        for first, days, countries in self._journeys:
            if first <= day < first + days:
                if self._tunnel and rng.random() < 0.3:
                    return Origin(some_address(rng), rng.choice(ABROAD))
                country = countries[min((day - first) * len(countries) // days, len(countries) - 1)]
                if rng.random() < 0.2:  # on the way from the one to the other
                    country = rng.choice(countries)
                spot = int(when // (4 * HOUR_S))  # another network every few hours
                return Origin(f"{self._mobile}.{spot % 250}.{1 + spot % 3}", country)
        chance = rng.random()
        if chance < 0.6 and is_workday(day):
            return Origin(self._office, HOME)
        if chance < 0.85:
            return Origin(self._home, HOME)
        return Origin(f"{self._mobile}.{int(when // (6 * HOUR_S)) % 250}.7", HOME)


def journeys(rng: Random) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """Return two to four journeys of two to six days, through one to three countries each."""
    found, day = [], rng.randrange(2, 12)
    for _ in range(rng.randrange(2, 5)):
        days = rng.randrange(2, 7)
        found.append((day, days, tuple(rng.sample(ABROAD, rng.randrange(1, 4)))))
        day += days + rng.randrange(2, 10)
    return tuple(found)


def people_mail(
    world: World, rng: Random, login: str, places: Places, first_day: int = 0
) -> Iterator[Letter]:
    """Yield what a person writes."""
    rate = rng.lognormvariate(0, world.day_sigma) * world.day_median
    known = [stranger(rng) for _ in range(rng.randrange(15, 120))]
    for day in range(first_day, DAYS):
        number = poisson(rng, rate * (1.0 if is_workday(day) else world.weekend))
        for second in sorted(hour_of_people(rng) for _ in range(number)):
            chance = rng.random()
            many = (
                1 if chance < world.alone
                else rng.randrange(2, 6) if chance < 1 - world.many
                else rng.randrange(6, 31)
            )  # fmt: skip
            whom = []
            for _ in range(many):
                if rng.random() < world.strangers:
                    known[rng.randrange(len(known))] = stranger(rng)
                whom.append(known[int(len(known) * rng.random() ** 2)])
            at = day * DAY_S + second
            where = places.at(at)
            size = int(rng.lognormvariate(9.5, 1.3))
            caught = rng.random() < world.mistaken
            yield Letter(at, login, login, tuple(dict.fromkeys(whom)), *where, size, caught=caught)


def mailing(
    rng: Random, login: str, at: float, number: int, where: Origin, *, each: bool
) -> Iterator[Letter]:
    """Yield one letter to so many, half of whom had none for long, from one place.

    Args:
        rng: of the sender.
        login: of the sender.
        at: when it begins, seconds from the first midnight.
        number: of recipients.
        where: it is sent from.
        each: one message for each of them; else Bcc in batches.
    """
    text = f"mailing {login} {at:.0f}"
    whom = [stranger(rng) for _ in range(number)]
    step = 1 if each else BATCH
    for place in range(0, number, step):
        yield Letter(at, login, login, tuple(whom[place : place + step]), *where, 60_000, text)
        at += rng.uniform(0.3, 3.0) if each else rng.uniform(20, 180)


def newsletter_mail(world: World, rng: Random, login: str, place: int) -> Iterator[Letter]:
    """Yield a newsletter, a message for each reader.

    Args:
        world: its numbers.
        rng: of the sender.
        login: of the sender.
        place: which of the site's it is: of four one is daily, two are weekly, one monthly.
    """
    readers = min(
        world.readers_most,
        max(30, int(rng.lognormvariate(0, world.readers_sigma) * world.readers_median)),
    )
    every, first = ((1, 0), (7, rng.randrange(5)), (7, rng.randrange(5)), (30, rng.randrange(30)))[
        place % 4
    ]
    hour, where = rng.uniform(7, 16), Origin(some_address(rng), HOME)
    list_id = f"news.{login}" if rng.random() < 0.9 else ""
    known = [stranger(rng) for _ in range(int(readers * world.growth) + 1)]
    for day in range(first, DAYS, every):
        if every == 1 and not is_workday(day):
            continue
        now = min(len(known), int(readers * world.growth ** (max(0, day - 14) / 30)))
        at, whole = day * DAY_S + hour * HOUR_S, rng.random() < world.mistaken / 2
        for reader in known[:now]:
            caught = whole or rng.random() < world.mistaken / 2
            text = f"issue {login} {day}"
            yield Letter(
                at, login, f"bounce@{login}", (reader,), *where, 40_000, text, list_id, caught
            )
            at += rng.uniform(0.1, 0.6)


def ticket_mail(world: World, rng: Random, login: str) -> Iterator[Letter]:
    """Yield what a ticket system sends: acknowledgements of one text, and people's answers."""
    rate = rng.lognormvariate(0, 0.8) * world.ticket_median
    where, known = Origin(some_address(rng), HOME), [stranger(rng) for _ in range(200)]
    busy = rng.randrange(14, DAYS)
    for day in range(DAYS):
        much = (4 if day == busy else 1) * (1.0 if is_workday(day) else 0.4)
        for second in sorted(hour_of_people(rng) for _ in range(poisson(rng, rate * much))):
            whom = stranger(rng) if rng.random() < world.ticket_strangers else rng.choice(known)
            text = f"ticket {login}" if rng.random() < 0.5 else ""
            caught = rng.random() < world.mistaken
            yield Letter(
                day * DAY_S + second, login, login, (whom,), *where, 6_000, text, caught=caught
            )


def list_mail(rng: Random, login: str) -> Iterator[Letter]:
    """Yield what a discussion list sends on, in batches."""
    where, list_id = Origin(some_address(rng), HOME), f"list.{login}"
    readers = [stranger(rng) for _ in range(rng.randrange(60, 800))]
    rate = rng.uniform(1, 15)
    for day in range(DAYS):
        number = poisson(rng, rate * (1.0 if is_workday(day) else 0.3))
        for post, second in enumerate(sorted(hour_of_people(rng) for _ in range(number))):
            at, text = day * DAY_S + second, f"post {login} {day} {post}"
            for place in range(0, len(readers), BATCH):
                some = tuple(readers[place : place + BATCH])
                yield Letter(at, login, f"bounce@{login}", some, *where, 9_000, text, list_id)
                at += 0.5


def monitor_mail(rng: Random, login: str) -> Iterator[Letter]:
    """Yield what a machine tells three people: some mails a day, and hundreds when all fails."""
    where, whom = Origin(some_address(rng), HOME), tuple(stranger(rng) for _ in range(3))
    bad = {rng.randrange(DAYS): rng.randrange(300, 1500) for _ in range(3)}
    for day in range(DAYS):
        begin = rng.uniform(0, DAY_S - HOUR_S)
        seconds = [rng.uniform(0, DAY_S) for _ in range(poisson(rng, 30))]
        seconds += [begin + rng.uniform(0, HOUR_S) for _ in range(bad.get(day, 0))]
        for second in sorted(seconds):
            text = f"alarm {login} {rng.randrange(5)}"
            yield Letter(day * DAY_S + second, login, login, whom[:1], *where, 2_000, text)


def together(*streams: Iterator[Letter]) -> Iterator[Letter]:
    """Return several streams as one, in the order of time."""
    return merge(*streams, key=itemgetter(0))


def mailings(
    rng: Random, login: str, places: Places, days: range, sizes: range, number: int
) -> list[Iterator[Letter]]:
    """Return so many mailings on days of a range, to as many people as a range has."""
    found = []
    for _ in range(number):
        at = rng.choice(days) * DAY_S + rng.uniform(8, 20) * HOUR_S
        each = rng.random() < 0.5
        found.append(mailing(rng, login, at, rng.choice(sizes), places.at(at), each=each))
    return found
