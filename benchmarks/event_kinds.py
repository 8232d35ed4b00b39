"""A made-up day of a news service: readers, and fraud of several kinds beside them.

Each row knows its kind, which no table is told. Readers have one to six sessions a day: a list of
articles is shown, some are opened after a while, few are shared; one in twenty reads on the train,
from four addresses. Fraud, by kind:

    robots       ten, bursts of clicks every second or faster, nothing shown
    farm         sixty people at two addresses, one session of fifteen clicks each, nothing shown
    drip         fifteen: an article shown and opened every ten minutes, day and night
    replay       rows of the morning of twelve readers come again in the afternoon, with new times
    hijacked     eight readers whose accounts click from a dozen places for ten minutes
    test group   one person makes 600 clicks in one group of an experiment, as fast as people do

Written after the rules, which were not changed for them:

    disorder     every event of a dozen readers comes twice, and the copy with the later time
                 an hour before the other
    clock lies   twelve robots of bursts, whose events happened in 1970, in 2100, at no time, or
                 all at one second; half of them show what they click

Where the farm is known as one it is by its people, each for himself: no rule counts over persons.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

DAY_S: Final = 86_400
AGENTS: Final = tuple(f"browser {number}" for number in range(20))
READERS: Final = 2000
PAGES: Final = 4000
OWN_ROWS: Final = "hijacked: the victim's own"


class MadeEvent(NamedTuple):
    """One row, and who is behind it."""

    kind: str  # of fraud; empty = a reader
    told: float  # when the service heard of it, seconds of the day
    at: float | None  # when it says that it happened
    action: str
    user: str
    view: int  # number that the page gave itself when it was shown or opened
    page: str
    agent: str
    client: str
    group: str


def made_day(seed: int, readers: int = READERS) -> list[MadeEvent]:
    """Return the events of a day in the order in which they were heard.

    Args:
        seed: of chance.
        readers: that are no fraud.
    """
    chance = random.Random(seed)  # noqa: S311 - a made-up day, no secret
    honest = [row for number in range(readers) for row in _reader(chance, f"reader {number}")]
    rows = [
        *honest,
        *_robots(chance),
        *_farm(chance),
        *_drip(chance),
        *_replayed(chance, honest),
        *_hijacked(chance),
        *_test_group(chance),
        *_disorder(chance),
        *_clock_lies(chance),
    ]
    return sorted((row for row in rows if row.told < DAY_S), key=lambda row: row.told)


class _Person:
    """Who does things, from somewhere."""

    def __init__(
        self, chance: random.Random, kind: str, user: str, *, client: str = "", agent: str = ""
    ) -> None:
        self.chance, self.kind, self.user = chance, kind, user
        self.client = client or user
        self.agent = agent or chance.choice(AGENTS)
        self.group = chance.choice("ab")

    def does(self, action: str, at: float, page: int | str = "") -> MadeEvent:
        """Return one event.

        Args:
            action: show, click, share.
            at: seconds of the day.
            page: empty = any.
        """
        page = page if page != "" else self.chance.randrange(PAGES)
        return MadeEvent(
            kind=self.kind,
            told=at + 1.0,
            at=at,
            action=action,
            user=self.user,
            view=self.chance.getrandbits(48),
            page=f"page {page}",
            agent=self.agent,
            client=self.client,
            group=self.group,
        )


def _reader(chance: random.Random, user: str, kind: str = "") -> Iterator[MadeEvent]:
    places = 4 if chance.random() < 0.05 else chance.choice((1, 1, 2))
    reader = _Person(chance, kind, user)
    for _ in range(chance.randint(1, 6)):
        at = chance.uniform(0, DAY_S - 3600)
        reader.client = f"{user} at {chance.randrange(places)}"
        for _ in range(chance.randint(5, 20)):
            page = chance.randrange(PAGES)
            at += chance.uniform(0.2, 4.0)  # scrolled
            yield reader.does("show", at, page)
            if chance.random() < 0.3:
                at += chance.uniform(1.0, 8.0)
                yield reader.does("click", at, page)
                at += chance.expovariate(1 / 40)  # read
                if chance.random() < 0.03:
                    yield reader.does("share", at, page)


def _robots(chance: random.Random) -> Iterator[MadeEvent]:
    for number in range(10):
        robot = _Person(chance, "robots", f"robot {number}")
        for _ in range(chance.randint(4, 12)):
            at = chance.uniform(0, DAY_S - 1000)
            for _ in range(chance.randint(80, 160)):
                at += chance.uniform(0.2, 1.2)
                yield robot.does("click", at)


def _farm(chance: random.Random) -> Iterator[MadeEvent]:
    for number in range(60):
        client, agent = f"farm {number % 2}", chance.choice(AGENTS[:3])
        worker = _Person(chance, "farm", f"worker {number}", client=client, agent=agent)
        at = chance.uniform(9 * 3600, 18 * 3600)
        for _ in range(15):
            at += chance.uniform(2.0, 6.0)
            yield worker.does("click", at, f"of author {chance.randrange(30)}")


def _drip(chance: random.Random) -> Iterator[MadeEvent]:
    for number in range(15):
        dripper, at = _Person(chance, "drip", f"dripper {number}"), chance.uniform(0, 600)
        while at < DAY_S:
            page = chance.randrange(PAGES)
            yield dripper.does("show", at, page)
            yield dripper.does("click", at + chance.uniform(1, 8), page)
            at += chance.uniform(540, 660)


def _replayed(chance: random.Random, honest: list[MadeEvent]) -> Iterator[MadeEvent]:
    early = [row for row in honest if row.told < 11 * 3600]
    users = sorted({row.user for row in early})
    for user in chance.sample(users, min(12, len(users))):
        later = chance.uniform(2, 5) * 3600
        for row in early:
            if row.user == user:
                yield row._replace(kind="replay", at=(row.at or 0) + later, told=row.told + later)


def _hijacked(chance: random.Random) -> Iterator[MadeEvent]:
    for number in range(8):
        user = f"victim {number}"
        yield from _reader(chance, user, OWN_ROWS)
        thief, at = _Person(chance, "hijacked", user), chance.uniform(18, 23) * 3600
        for _ in range(120):
            at += chance.expovariate(1 / 5)
            thief.client, thief.agent = f"thief {chance.randrange(12)}", chance.choice(AGENTS)
            page = chance.randrange(PAGES)
            yield thief.does("show", at, page)
            yield thief.does("click", at, page)


def _test_group(chance: random.Random) -> Iterator[MadeEvent]:
    tester, at = _Person(chance, "test group", "tester"), 8 * 3600.0
    tester.group = "b"
    for _ in range(600):
        at += chance.uniform(20, 80)
        page = chance.randrange(PAGES)
        yield tester.does("show", at, page)
        yield tester.does("click", at + 4, page)


def _disorder(chance: random.Random) -> Iterator[MadeEvent]:
    for number in range(12):
        for row in _reader(chance, f"twice {number}", "disorder"):
            yield row._replace(at=(row.at or 0) + 30)
            yield row._replace(told=row.told + 3600)


def _clock_lies(chance: random.Random) -> Iterator[MadeEvent]:
    lies = (lambda at: at - 1.7e9, lambda at: at + 2.5e9, lambda _: None, lambda _: 43_200.0)
    for number in range(12):
        robot, lie = _Person(chance, "clock lies", f"liar {number}"), lies[number % len(lies)]
        for _ in range(chance.randint(1, 5)):
            at = chance.uniform(0, DAY_S - 1000)
            for _ in range(chance.randint(10, 40)):
                at += chance.uniform(0.2, 1.2)
                page = chance.randrange(PAGES)
                for action in ("show", "click") if number % 2 else ("click",):
                    yield robot.does(action, at, page)._replace(at=lie(at))
